"""What one answer says about a host holds for every source of that host (R26)."""

from datetime import timedelta
from itertools import pairwise

import pytest

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import wait_until
from collection_pipeline_tests.scenario.conftest import OpenStack

SHORT_SECONDS = 3
LONG_SECONDS = 1_000
RATE_LIMITED = ("FAILED", "RATE_LIMITED")


@pytest.mark.parametrize("retry_after", [str(SHORT_SECONDS), f"date+{SHORT_SECONDS + 1}"])
def test_a_retry_after_keeps_other_sources_of_the_host_waiting(
    open_stack: OpenStack, retry_after: str
) -> None:
    """R26: seconds or a date; sources of another host are not concerned."""
    stack = open_stack(
        source("saramin", "refused", 50),
        source("saramin", "patient", 220),
        separate_ports=True,
    )
    refused, patient = stack.add("saramin", "refused"), stack.add("saramin", "patient")
    stack.simulator.add_fault({"name": "http_429", "key": "refused", "retry_after": retry_after})

    one_slice = stack.open_pipeline(TICK_CLAIM_LIMIT=1)
    assert stack.tick(drain=False, pipeline=one_slice).ended["FAILED"] == 1
    elsewhere = stack.add("greenhouse", "acme-3")
    stack.tick()

    assert stack.end_of(refused) == RATE_LIMITED
    assert stack.end_of(patient) == stack.end_of(elsewhere) == ("SUCCESS", None)
    (asked,) = stack.requests(refused)
    first = stack.requests(patient)[0]
    assert first["at_us"] - asked["at_us"] >= (SHORT_SECONDS - 0.01) * 1_000_000
    (other,) = stack.requests(elsewhere)
    assert other["at_us"] < first["at_us"]
    assert [row["rate_limited_count"] for row in stack.slices(refused)] == [1]
    assert_invariants(stack)


@pytest.mark.parametrize("nonsense", ["soon", "-5", "", "1e9"])
def test_a_nonsense_retry_after_moves_the_host_no_further_than_usual(
    open_stack: OpenStack, nonsense: str
) -> None:
    """R26: it is ignored, not obeyed and not fatal."""
    stack = open_stack(source("saramin", "refused", 50), source("saramin", "patient", 50))
    refused, patient = stack.add("saramin", "refused"), stack.add("saramin", "patient")
    stack.simulator.add_fault({"name": "http_429", "key": "refused", "retry_after": nonsense})

    stack.tick()

    assert stack.end_of(refused) == RATE_LIMITED
    assert stack.end_of(patient) == ("SUCCESS", None)
    assert not stack.is_waiting_for_slot(5)
    assert_invariants(stack)


def test_a_retry_after_is_capped(open_stack: OpenStack) -> None:
    """R26, RETRY_AFTER_CAP_SECONDS: a host cannot switch itself off for a year."""
    stack = open_stack(source("saramin", "refused", 50))
    stack.add("saramin", "refused")
    stack.simulator.add_fault({"name": "http_503", "retry_after": str(10**8)})

    stack.tick()

    assert stack.is_waiting_for_slot(3_590)
    assert not stack.is_waiting_for_slot(3_605)
    assert_invariants(stack)


def test_a_pause_beyond_the_slices_time_ends_it_and_nobody_claims_the_host_before(
    open_stack: OpenStack,
) -> None:
    """R26, R6: nothing is reserved, the slice ends PENDING until the host's own time."""
    stack = open_stack(
        source("saramin", "reading", 400), source("saramin", "refused", 50), TICK_CLAIM_LIMIT=2
    )
    reading = stack.add("saramin", "reading")
    refused = stack.add("saramin", "refused")
    waiting = stack.add("saramin", "later-20")
    # Both ask before either is answered, however slowly a thread starts.
    stack.simulator.add_fault({"name": "delay", "key": "reading", "page": 0, "seconds": 1.5})
    stack.simulator.add_fault({"name": "delay", "key": "refused", "seconds": 1})
    stack.simulator.add_fault(
        {"name": "http_429", "key": "refused", "retry_after": str(LONG_SECONDS)}
    )

    with stack.ticking() as drain:
        wait_until("both have asked", lambda: len(stack.requests()) == 2)
        summary = drain.result()

    assert (summary.continued, summary.ended["FAILED"]) == (1, 1)
    assert stack.end_of(refused) == RATE_LIMITED
    cycle = stack.cycle(reading)
    assert (cycle["cycle_status"], cycle["fetched_count"]) == ("PENDING", 110)
    free_at = stack.value("SELECT next_allowed_at FROM external_request_host_limits")
    assert abs(cycle["next_eligible_at"] - free_at) < timedelta(milliseconds=1)
    assert free_at > stack.now() + timedelta(seconds=LONG_SECONDS - 60)
    assert stack.tick().claimed == 0
    assert not stack.pipeline.dispatch.has_work()
    assert stack.end_of(waiting)[0] == "PENDING"
    assert len(stack.requests()) == 2
    assert_invariants(stack)

    stack.move_clock_to(free_at)
    stack.simulator.clear_faults()
    stack.tick()
    assert stack.end_of(reading) == stack.end_of(waiting) == ("SUCCESS", None)
    assert stack.pages(reading) == [0, 1, 2, 3]
    assert_invariants(stack)


def test_the_larger_of_host_and_source_delay_counts(open_stack: OpenStack) -> None:
    """R26: a source may be slower than its host, never faster."""
    stack = open_stack(source("saramin", "slow", 440), HOST_MIN_DELAY_MS=40)
    slow = stack.add("saramin", "slow", min_delay_ms=150)
    stack.add("lever", "fast-220", min_delay_ms=1)

    stack.tick()

    assert stack.end_of(slow) == ("SUCCESS", None)
    assert_invariants(stack)
    arrivals = [record["at_us"] for record in stack.requests(slow)]
    gaps = [later - sooner for sooner, later in pairwise(arrivals)]
    assert min(gaps) >= 145_000

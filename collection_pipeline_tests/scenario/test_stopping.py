"""Asked to stop, a slice ends after the request in flight and nothing is lost (R18)."""

import json
import signal
import time

import pytest

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import wait_until
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

IN_FLIGHT_SECONDS = 1.0
LONG_SECONDS = 100
AT_ONCE_SECONDS = 15.0
TICK_SECONDS = 2.5
SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize(
    ("number", "arguments"),
    [(signal.SIGTERM, ("tick", "--drain", "--json")), (signal.SIGINT, ("tick", "--json"))],
)
def test_a_stopped_slice_stores_what_it_fetched_and_the_next_goes_on_behind_it(
    open_stack: OpenStack, number: signal.Signals, arguments: tuple[str, ...]
) -> None:
    """R18: exit 0, the page in flight is stored, the lease is free, no page is read twice."""
    stack = open_stack(source("saramin", "backend", 600))
    source_id = stack.add("saramin", "backend")
    stack.simulator.add_fault({"name": "delay", "page": 2, "seconds": IN_FLIGHT_SECONDS})

    with WorkerProcess(stack.environment, arguments) as worker:
        wait_until("page 2 is asked for", lambda: 2 in stack.pages(source_id))
        worker.send(number)
        assert worker.wait() == 0, worker.output
        told = json.loads(worker.printed)

    assert (told["slices"], told["continued"], told["lost"]) == (1, 1, 0)
    assert stack.pages(source_id) == [0, 1, 2]
    assert stack.end_of(source_id) == ("PENDING", None)
    assert stack.cycle(source_id)["lease_token"] is None
    assert stack.cycle(source_id)["fetched_count"] == 330
    assert_invariants(stack)

    stack.simulator.clear_faults()
    assert stack.tick().recovered == 0
    assert stack.end_of(source_id) == ("SUCCESS", None)
    assert stack.pages(source_id) == list(range(6))
    assert_invariants(stack)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_throttle_wait_ends_at_once(open_stack: OpenStack, number: signal.Signals) -> None:
    """R18, R26: nobody waits out a slot that lies a hundred seconds ahead."""
    stack = open_stack(source("saramin", "backend", 300))
    source_id = stack.add("saramin", "backend")
    stack.simulator.add_fault({"name": "delay", "page": 0, "seconds": IN_FLIGHT_SECONDS})

    with WorkerProcess(stack.environment) as worker:
        wait_until("page 0 is asked for", lambda: stack.pages(source_id) == [0])
        stack.hold_next_request(source_id, LONG_SECONDS)
        began = time.monotonic()
        worker.send(number)
        assert worker.wait() == 0, worker.output
        took = time.monotonic() - began

    assert took < AT_ONCE_SECONDS
    assert stack.pages(source_id) == [0]
    assert stack.end_of(source_id) == ("PENDING", None)
    assert stack.cycle(source_id)["fetched_count"] == 110
    assert_invariants(stack)


def test_details_stop_as_well_and_none_is_tried_twice(open_stack: OpenStack) -> None:
    """R18, R22: a stop between details keeps those that were read."""
    stack = open_stack(source("jumpit", "1", 14))
    source_id = stack.add("jumpit", "1")
    stack.simulator.add_fault(
        {"name": "delay", "kind": "detail", "from": 4, "count": 1, "seconds": IN_FLIGHT_SECONDS}
    )

    with WorkerProcess(stack.environment) as worker:
        wait_until("detail 4 is asked for", lambda: len(stack.requests(kind="detail")) == 4)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0, worker.output

    assert stack.cycle(source_id)["detail_request_count"] == 4
    stack.tick()
    assert stack.end_of(source_id) == ("SUCCESS", None)
    asked = [record["item_id"] for record in stack.requests(source_id, kind="detail")]
    assert len(asked) == len(set(asked)) == 14
    assert_invariants(stack)


def test_the_time_of_a_tick_ends_a_slice_without_loss(open_stack: OpenStack) -> None:
    """R18: ``--max-seconds`` allows no further claim or request; the next tick goes on."""
    stack = open_stack(source("saramin", "backend", 400))
    source_id = stack.add("saramin", "backend")
    stack.simulator.add_fault({"name": "delay", "page": 1, "seconds": TICK_SECONDS + 0.5})

    summary = stack.tick(max_seconds=TICK_SECONDS)

    assert (summary.slices, summary.continued) == (1, 1)
    cycle = stack.cycle(source_id)
    assert (cycle["cycle_status"], cycle["fetched_count"]) == ("PENDING", 220)
    stack.tick()
    assert stack.pages(source_id) == [0, 1, 2, 3]
    assert_invariants(stack)

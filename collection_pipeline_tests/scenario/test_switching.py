"""A source or a flag that is switched off sends nothing more, and goes on where it stood."""

import pytest

from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, wait_until
from collection_pipeline_tests.scenario.conftest import OpenStack

IN_FLIGHT_SECONDS = 1.0
WAIT_SECONDS = 2.5


def switch_off(stack: Stack, what: str, source_id: int) -> None:
    """Switch ``what`` off, as an operator would while a slice waits."""
    if what == "source":
        stack.switch(source_id, active=False)
    else:
        stack.set_flags(what, enabled=False)


@pytest.mark.parametrize("what", ["source", AGGREGATOR_FLAG, DISPATCH_FLAG])
def test_a_slice_that_waits_for_its_slot_sends_nothing_once_switched_off(
    open_stack: OpenStack, what: str
) -> None:
    """R27, R6a, R3: what was fetched is kept; the same cycle goes on when switched on again."""
    stack = open_stack(source("saramin", "backend", 300, changes={"2": {"remove": 5}}))
    source_id = stack.add("saramin", "backend")
    other = stack.add("greenhouse", "acme-3")
    stack.simulator.add_fault({"name": "delay", "page": 0, "seconds": IN_FLIGHT_SECONDS})

    with stack.ticking() as waiting:
        wait_until("page 0 is asked for", lambda: stack.pages(source_id) == [0])
        stack.hold_next_request(source_id, WAIT_SECONDS)
        switch_off(stack, what, source_id)
        summary = waiting.result()

    assert summary.continued >= 1
    assert (summary.lost, summary.ended["FAILED"]) == (0, 0)
    assert stack.pages(source_id) == [0]
    cycle = stack.cycle(source_id)
    assert (cycle["cycle_status"], cycle["lease_token"]) == ("PENDING", None)
    assert cycle["fetched_count"] == 110
    assert stack.tick(drain=False).claimed == 0
    assert stack.cycle(source_id) == cycle, "R3: a source that is not runnable was touched"
    assert_invariants(stack)

    stack.switch(source_id, active=True)
    stack.set_flags()
    stack.tick()
    assert stack.cycle(source_id)["id"] == cycle["id"]
    assert stack.end_of(source_id) == ("SUCCESS", None)
    assert stack.pages(source_id) == [0, 1, 2]
    assert stack.end_of(other) == ("SUCCESS", None)
    assert_invariants(stack)


def test_a_day_spent_switched_off_judges_nothing(open_stack: OpenStack) -> None:
    """R3, I4: no cycle for a disabled source, and the day after is not the second missed one."""
    stack = open_stack(source("greenhouse", "acme", 30, changes={"2": {"remove": 4}}))
    source_id = stack.add("greenhouse", "acme")
    stack.tick()
    before = judged(stack, source_id)
    stack.switch(source_id, active=False)
    stack.set_clock(2)
    stack.tick()
    assert_nothing_was_judged(before, judged(stack, source_id))
    assert len(stack.requests()) == 1
    stack.switch(source_id, active=True)
    stack.set_clock(3)
    stack.tick()
    assert stack.cycle(source_id, 3)["missed_count"] == 4
    assert stack.cycle(source_id, 3)["closed_count"] == 0
    assert_invariants(stack)


def test_with_the_main_flag_off_nothing_is_made_but_recovery_goes_on(
    open_stack: OpenStack,
) -> None:
    """R35, R44: headers are made, cycles are not; an expired lease is still ended."""
    stack = open_stack(source("greenhouse", "acme", 30))
    source_id = stack.add("greenhouse", "acme")
    stack.tick()
    stack.set_flags(DISPATCH_FLAG, enabled=False)
    stack.set_clock(2)
    stack.tick()
    assert not stack.rows(
        "SELECT * FROM job_posting_collection_cycles WHERE run_date = :day", day=stack.day(2)
    )
    headers = {
        row["snapshot_date"]
        for row in stack.rows("SELECT snapshot_date FROM job_posting_collection_sla_snapshots")
    }
    assert {stack.day(2), stack.day(3)} <= headers
    stack.set_flags(DISPATCH_FLAG)
    stack.pipeline.dispatch.make_ready()
    stack.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING', lease_token = 'dead',"
        " lease_owner = 'dead', lease_until = UTC_TIMESTAMP(6) WHERE run_date = :day",
        day=stack.day(2),
    )
    stack.set_flags(DISPATCH_FLAG, enabled=False)
    assert stack.tick().recovered == 1
    assert stack.end_of(source_id, 2) == ("FAILED", "LEASE_EXPIRED")
    assert_invariants(stack)

"""A slice that is held over midnight belongs to its own day only (R5, R16, R17, R24)."""

from datetime import time

from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import wait_until
from collection_pipeline_tests.scenario.conftest import OpenStack

HELD_SECONDS = 3.0


def test_a_slice_over_midnight_stores_what_it_has_and_is_never_claimed_again(
    open_stack: OpenStack,
) -> None:
    """R17: nothing new is sent. R16: it stays PENDING of its date. R24: page 0 on the new day."""
    changes = {"2": {"remove": 9}, "3": {"remove": 4}}
    stack = open_stack(source("saramin", "backend", 400, changes=changes))
    source_id = stack.add("saramin", "backend")
    stack.tick()
    before = judged(stack, source_id)
    stack.set_clock(2, time(23, 59))
    stack.simulator.add_fault({"name": "delay", "page": 1, "seconds": HELD_SECONDS})

    with stack.ticking() as held:
        wait_until("page 1 is asked for", lambda: 1 in stack.pages(source_id, 2))
        stack.set_clock(3, time(0, 1))
        # R5: beside a live lease of yesterday nothing of this source is claimed.
        assert stack.tick(pipeline=stack.open_pipeline(), drain=False).claimed == 0
        summary = held.result()

    assert (summary.lost, summary.ended["SUCCESS"]) == (0, 1)
    assert stack.pages(source_id, 2) == [0, 1]
    yesterday = stack.cycle(source_id, 2)
    assert (yesterday["cycle_status"], yesterday["lease_token"]) == ("PENDING", None)
    assert yesterday["fetched_count"] == 220
    # The same drain went on with the new day, from its first page.
    assert stack.pages(source_id, 3) == [0, 1, 2, 3]
    assert stack.end_of(source_id, 3) == ("SUCCESS", None)
    assert stack.cycle(source_id, 3)["missed_count"] == 13
    assert_invariants(stack)

    assert stack.tick().claimed == 0
    assert stack.cycle(source_id, 2) == yesterday
    assert set(before) == set(stack.postings(source_id))
    assert stack.pipeline.cleanup.clean_up().deleted_rows == 220
    assert_invariants(stack)


def test_a_slice_over_midnight_closes_nothing(open_stack: OpenStack) -> None:
    """R17, I4: an unfinished day judges no posting."""
    stack = open_stack(source("saramin", "backend", 300, changes={"2": {"remove": 9}}))
    source_id = stack.add("saramin", "backend")
    stack.tick()
    before = judged(stack, source_id)
    stack.set_clock(2, time(23, 59))
    stack.simulator.add_fault({"name": "delay", "page": 1, "seconds": HELD_SECONDS})

    with stack.ticking(drain=False) as held:
        wait_until("page 1 is asked for", lambda: 1 in stack.pages(source_id, 2))
        stack.set_clock(3, time(0, 1))
        assert held.result().continued == 1

    assert_nothing_was_judged(before, judged(stack, source_id))
    assert_invariants(stack)


def test_a_last_page_that_arrives_after_midnight_ends_its_own_day(open_stack: OpenStack) -> None:
    """R17: the held slice may complete its cycle; its delta counts for that day."""
    stack = open_stack(source("saramin", "backend", 200, changes={"2": {"remove": 9}}))
    source_id = stack.add("saramin", "backend")
    stack.tick()
    stack.set_clock(2, time(23, 59))
    stack.simulator.add_fault({"name": "delay", "page": 1, "seconds": HELD_SECONDS, "count": 1})

    with stack.ticking(drain=False) as held:
        wait_until("page 1 is asked for", lambda: 1 in stack.pages(source_id, 2))
        stack.set_clock(3, time(0, 1))
        held.result()

    assert stack.end_of(source_id, 2) == ("SUCCESS", None)
    assert stack.cycle(source_id, 2)["missed_count"] == 9
    sighted = {row["last_seen_run_date"] for row in stack.postings(source_id).values()}
    assert sighted == {stack.day(1), stack.day(2)}
    stack.tick()
    assert stack.cycle(source_id, 3)["closed_count"] == 9
    assert_invariants(stack)

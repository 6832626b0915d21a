"""Whole days with fewer calls of a key than its sources want (R9, R20, R21, R40)."""

from datetime import time, timedelta

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.scenario.conftest import OpenStack

QUOTA = 7
EXHAUSTED = ("BUDGET_EXHAUSTED", "KEY_QUOTA")
SUCCESS = ("SUCCESS", None)
ROWS = 330
"""Three pages."""


def counted(stack: Stack, number: int) -> int:
    """Calls that the database has counted for day ``number``; 0 without a row."""
    rows = stack.rows(
        "SELECT used_count FROM platform_key_quotas WHERE quota_date = :day", day=stack.day(number)
    )
    return sum(row["used_count"] for row in rows)


def calls(stack: Stack, number: int) -> int:
    """Saramin requests of day ``number`` in the platform's own log."""
    records = stack.requests(number=number)
    return sum(record["platform"] == "saramin" for record in records)


def test_two_processes_with_one_key_keep_to_its_day_and_the_next_day_is_whole(
    open_stack: OpenStack,
) -> None:
    """R9, R20, I4, I8: calls <= quota by the platform's log; nothing is closed; others go on."""
    changes = {"2": {"remove": 5}}
    searches = [source("saramin", key, ROWS, changes=changes) for key in ("a", "b", "c")]
    stack = open_stack(
        *searches, source("greenhouse", "acme", 9, changes=changes), SLICE_MAX_LIST_PAGES=2
    )
    saramin = [stack.add("saramin", key) for key in ("a", "b", "c")]
    board = stack.add("greenhouse", "acme")
    stack.tick()
    assert [stack.end_of(one) for one in (*saramin, board)] == [SUCCESS] * 4
    assert (counted(stack, 1), calls(stack, 1)) == (9, 9)

    stack.set_clock(2)
    before = {one: judged(stack, one) for one in saramin}
    first, second = (stack.open_pipeline(SARAMIN_DAILY_CALLS=QUOTA) for _ in range(2))
    with stack.ticking(first) as one, stack.ticking(second) as two:
        worked = one.result(60).slices + two.result(60).slices
    assert worked >= len(saramin)

    ends = [stack.end_of(one, 2) for one in saramin]
    assert set(ends) <= {SUCCESS, EXHAUSTED}
    assert EXHAUSTED in ends
    assert calls(stack, 2) == QUOTA == counted(stack, 2)
    assert sum(stack.cycle(one, 2)["list_page_count"] for one in saramin) == QUOTA
    assert stack.end_of(board, 2) == SUCCESS
    for source_id, end in zip(saramin, ends, strict=True):
        cycle = stack.cycle(source_id, 2)
        if end == EXHAUSTED:
            assert_nothing_was_judged(before[source_id], judged(stack, source_id))
            assert (cycle["missed_count"], cycle["continuation_cursor"] is None) == (0, False)
        else:
            assert cycle["missed_count"] == 5
    assert not stack.tick(pipeline=first).slices

    stack.set_clock(3)
    stack.tick()
    assert [stack.end_of(one, 3) for one in saramin] == [SUCCESS] * 3
    assert counted(stack, 3) == calls(stack, 3) == 9
    assert_invariants(stack)


def test_a_source_that_finds_no_call_left_ends_without_a_request_and_the_morning_names_it(
    open_stack: OpenStack,
) -> None:
    """R9, R21, R40: the first ends exactly at the limit with SUCCESS, the second sent nothing."""
    stack = open_stack(
        source("saramin", "first", ROWS), source("saramin", "late", ROWS), SARAMIN_DAILY_CALLS=3
    )
    stack.set_clock(1, time(8))
    first = stack.add("saramin", "first")
    stack.tick()
    late = stack.add("saramin", "late")
    stack.tick()
    assert (stack.end_of(first), stack.end_of(late)) == (SUCCESS, EXHAUSTED)
    cycle = stack.cycle(late)
    assert (cycle["attempt_count"], cycle["list_page_count"], cycle["fetched_count"]) == (0, 0, 0)
    assert stack.requests(late) == []

    stack.move_clock_to(utc_of_kst(stack.day(1), time(9)) + timedelta(seconds=1))
    stack.pipeline.snapshots.capture_at_nine(worker="here")
    stack.tick()
    body = stack.value("SELECT payload FROM notification_outbox WHERE kind = 'MORNING_REPORT'")
    assert "saramin late" in str(body)
    assert "the access key's requests used up" in str(body)
    assert "KEY_QUOTA" in str(body)
    assert_invariants(stack, secrets=[stack.simulator.access_key])


def test_another_key_of_the_same_platform_has_a_day_of_its_own(open_stack: OpenStack) -> None:
    """R20: what counts is the key, not the platform or its host."""
    stack = open_stack(source("saramin", "first", 5), SARAMIN_DAILY_CALLS=1)
    first = stack.add("saramin", "first")
    stack.tick()
    assert stack.end_of(first) == SUCCESS
    second = stack.add("saramin", "second")
    other = stack.open_pipeline(SARAMIN_ACCESS_KEY="another-key-of-the-team")
    stack.tick(pipeline=other)
    # The platform does not know that key, and says so: the call was sent, and counted as its own.
    assert stack.end_of(second) == ("FAILED", "CONFIG")
    assert len(stack.requests(second)) == 1
    used = stack.rows("SELECT used_count FROM platform_key_quotas")
    assert [row["used_count"] for row in used] == [1, 1]

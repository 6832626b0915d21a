"""What a failed list request leaves behind (R10, R19, R20, R28)."""

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.slices import Failed
from collection_pipeline.platforms.contract import BadResponse, ListPage
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedExecutor,
    ScriptedPlatform,
    at,
    failed,
    pages_of,
    rows_of,
)

THREE_PAGES = pages_of("a b c", "d e f", "g")
REQUEST_REASONS = [
    Reason.FORBIDDEN,
    Reason.RATE_LIMITED,
    Reason.HTTP_3XX,
    Reason.HTTP_4XX,
    Reason.HTTP_5XX,
    Reason.TIMEOUT,
    Reason.CONNECTION,
    Reason.BAD_RESPONSE,
    Reason.QUOTA,
]


@pytest.mark.parametrize("reason", REQUEST_REASONS)
def test_a_failed_list_request_keeps_the_earlier_pages(reason: Reason) -> None:
    """R19: their postings and counters are stored with FAILED; the failed request counts (R20)."""
    cycle = ScriptedCycle(
        ScriptedPlatform(THREE_PAGES), ScriptedExecutor({"page 2": failed(reason)})
    )
    outcome = cycle.run_slice()
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is reason
    assert sorted(cycle.store.seen) == ["a", "b", "c", "d", "e", "f"]
    assert cycle.cycle.status is CycleStatus.FAILED
    assert (cycle.cycle.list_page_count, cycle.cycle.fetched_count) == (3, 6)
    assert not cycle.cycle.is_safe_to_apply_missed_delta


def test_nothing_is_sent_after_a_failed_list_request() -> None:
    """R10: no further HTTP, no details either."""
    executor = ScriptedExecutor({"page 1": failed(Reason.HTTP_5XX, status=500)})
    cycle = ScriptedCycle(ScriptedPlatform(THREE_PAGES), executor)
    cycle.run_slice()
    assert executor.sent == ["page 0", "page 1"]
    assert executor.refused == []


def test_a_body_that_is_no_list_keeps_the_earlier_pages() -> None:
    """R19: also when the request went well and its body is not the platform's answer."""
    cycle = ScriptedCycle(ScriptedPlatform([ListPage(rows_of("abc"), at(1)), BadResponse("HTML")]))
    outcome = cycle.run_slice()
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.BAD_RESPONSE
    assert (cycle.cycle.list_page_count, cycle.cycle.fetched_count) == (2, 3)


def test_a_first_request_that_fails_leaves_counters_and_no_posting() -> None:
    """R10, R20: an attempt with one request."""
    executor = ScriptedExecutor({"page 0": failed(Reason.TIMEOUT)})
    cycle = ScriptedCycle(ScriptedPlatform(THREE_PAGES), executor)
    cycle.run_slice()
    ended = cycle.cycle
    assert (ended.status, ended.failure_reason) == (CycleStatus.FAILED, Reason.TIMEOUT)
    assert (ended.attempt_count, ended.list_page_count, ended.fetched_count) == (1, 1, 0)


def test_a_request_that_the_policy_refused_is_not_counted_as_sent() -> None:
    """R20, R28: counts are requests sent."""
    executor = ScriptedExecutor({"page 0": failed(Reason.POLICY, sent=False)})
    cycle = ScriptedCycle(ScriptedPlatform(THREE_PAGES), executor)
    cycle.run_slice()
    ended = cycle.cycle
    assert (ended.status, ended.failure_reason) == (CycleStatus.FAILED, Reason.POLICY)
    assert (ended.attempt_count, ended.list_page_count) == (0, 0)


def test_a_refused_next_link_fails_with_its_page_kept() -> None:
    """R20, R28: every row of the page that carried the link is kept; nothing is sent."""
    page = ListPage(rows_of("cd"), None, refused_link="another host")
    platform = ScriptedPlatform([ListPage(rows_of("ab"), at(1)), page])
    cycle = ScriptedCycle(platform)
    outcome = cycle.run_slice()
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.detail) == (Reason.POLICY, "another host")
    assert sorted(cycle.store.seen) == ["a", "b", "c", "d"]
    assert cycle.executor.sent == ["page 0", "page 1"]


def test_a_next_position_too_long_for_a_cursor_fails_with_its_page_kept() -> None:
    """R20, spec section 2: a cursor has at most 1,024 bytes."""
    page = ListPage(rows_of("ab"), {"next": "x" * 2_000})
    cycle = ScriptedCycle(ScriptedPlatform([page]))
    cycle.run_slice()
    assert cycle.cycle.failure_reason is Reason.BAD_RESPONSE
    assert sorted(cycle.store.seen) == ["a", "b"]


def test_a_failure_in_a_later_slice_keeps_what_earlier_slices_stored() -> None:
    """R19 over slices: the cycle's counters are the sum of its slices."""
    executor = ScriptedExecutor(most_requests=2)
    cycle = ScriptedCycle(ScriptedPlatform(THREE_PAGES), executor)
    cycle.run_slice()
    executor.most_requests = None
    executor.answers["page 2"] = failed(Reason.CONNECTION)
    cycle.run_slice()
    ended = cycle.cycle
    assert (ended.status, ended.failure_reason) == (CycleStatus.FAILED, Reason.CONNECTION)
    assert (ended.attempt_count, ended.list_page_count, ended.fetched_count) == (2, 3, 6)

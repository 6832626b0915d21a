"""Details are a backlog: newest first, within their budgets, each tried once a cycle (R22)."""

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit as Limit
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.posting import DetailState, GonePosting
from collection_pipeline.domain.slices import Fetched
from collection_pipeline.domain.source import DetailMode
from collection_pipeline.platforms.contract import BadResponse, ListPage, RequestFailed
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedExecutor,
    ScriptedPlatform,
    at,
    failed,
    listed,
    pages_of,
    rows_of,
)

SUCCESS, EXHAUSTED = CycleStatus.SUCCESS, CycleStatus.BUDGET_EXHAUSTED
PAGES = pages_of("a b c", "d e f")


def test_the_list_comes_first_and_details_follow_newest_first() -> None:
    """R22: not a loop inside a page."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.sent == [
        "page 0",
        "page 1",
        *(f"detail {job_id}" for job_id in "abcdef"),
    ]
    assert {stored.detail_state for stored in cycle.store.postings.values()} == {DetailState.DONE}


def test_details_go_on_in_slices_of_their_own_after_the_list_has_ended() -> None:
    """R22: no page is read twice, no detail is asked twice."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), slice_budget=CollectionBudget(5, 100, 2))
    first = cycle.run_slice()
    assert isinstance(first, Fetched)
    assert first.next_cursor is not None
    assert first.next_cursor.list_ended
    assert cycle.cycle.status is CycleStatus.PENDING
    assert cycle.run_to_end() is SUCCESS
    assert cycle.slices == 3
    assert cycle.executor.pages == [0, 1]
    assert cycle.executor.details == list("abcdef")


def test_waiting_rows_of_earlier_slices_and_new_rows_are_taken_in_list_order() -> None:
    """R22: newest first over slices, not slice by slice."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), slice_budget=CollectionBudget(1, 100, 1))
    cycle.run_to_end()
    assert cycle.executor.sent[:4] == ["page 0", "detail a", "page 1", "detail b"]
    assert cycle.executor.details == list("abcdef")


def test_the_list_goes_on_while_details_are_left_over() -> None:
    """R22: a used-up slice detail budget does not hold the list back."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), slice_budget=CollectionBudget(1, 100, 1))
    cycle.run_slice()
    cycle.run_slice()
    assert cycle.executor.pages == [0, 1]


def test_the_list_goes_on_when_the_days_details_are_used_up() -> None:
    """R22: "The list goes on while details are left over or used up"."""
    cycle = ScriptedCycle(
        ScriptedPlatform(pages_of("a b c", "d e f", "g h i")),
        slice_budget=CollectionBudget(1, 100, 5),
        daily_budget=CollectionBudget(50, 100, 2),
    )
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.executor.pages == [0, 1, 2]
    assert cycle.executor.details == ["a", "b"]
    assert cycle.cycle.budget_exhausted_reason is Limit.DETAIL_REQUESTS


@pytest.mark.parametrize(("slice_details", "daily_details"), [(1, 4), (3, 4), (99, 4), (4, 99)])
def test_details_keep_to_the_slices_and_the_days_budget(
    slice_details: int, daily_details: int
) -> None:
    """R20: not one request more."""
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES),
        slice_budget=CollectionBudget(5, 100, slice_details),
        daily_budget=CollectionBudget(50, 100, daily_details),
    )
    outcome = cycle.run_slice()
    assert outcome.work.detail_request_count == min(slice_details, daily_details)
    if not cycle.cycle.status.is_terminal:
        cycle.run_to_end()
    assert len(cycle.executor.details) == min(6, daily_details)


def test_details_that_end_exactly_at_the_daily_limit_are_complete() -> None:
    """R21."""
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES),
        slice_budget=CollectionBudget(5, 100, 2),
        daily_budget=CollectionBudget(50, 100, 6),
    )
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.is_complete


@pytest.mark.parametrize(
    ("mode", "status", "details"),
    [
        (DetailMode.REQUIRED, EXHAUSTED, 4),
        (DetailMode.BEST_EFFORT, SUCCESS, 4),
        (DetailMode.OFF, SUCCESS, 0),
    ],
)
def test_details_left_over_count_as_the_sources_mode_says(
    mode: DetailMode, status: CycleStatus, details: int
) -> None:
    """R22, R9: required, best_effort, off."""
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES),
        slice_budget=CollectionBudget(5, 100, 3),
        daily_budget=CollectionBudget(50, 100, 4),
        detail_mode=mode,
    )
    assert cycle.run_to_end() is status
    assert len(cycle.executor.details) == details
    assert cycle.cycle.is_complete is (status is SUCCESS)


@pytest.mark.parametrize("mode", [DetailMode.REQUIRED, DetailMode.BEST_EFFORT])
def test_details_left_over_are_asked_for_on_the_next_day(mode: DetailMode) -> None:
    """R22: they wait in the posting and count on later days too."""
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES), daily_budget=CollectionBudget(50, 100, 4), detail_mode=mode
    )
    cycle.run_to_end()
    cycle.next_day()
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.details == list("abcdef")


def test_a_known_unchanged_posting_costs_no_detail_and_a_changed_one_does() -> None:
    """R22: rows that are new or whose list signature changed."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES))
    cycle.run_to_end()
    cycle.executor.sent.clear()
    changed = [listed("a"), listed("b", title="Senior Engineer"), *rows_of("cdefg")]
    cycle.platform.pages = [ListPage(changed, None)]
    cycle.next_day()
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.details == ["b", "g"]
    assert (cycle.cycle.new_count, cycle.cycle.updated_count) == (1, 1)


def test_a_new_version_of_the_signature_asks_for_no_detail_again() -> None:
    """R22a: else a release would ask for the whole catalogue's details in one day."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES))
    cycle.run_to_end()
    cycle.executor.sent.clear()
    cycle.platform.pages = [ListPage([listed(job_id, version=2) for job_id in "abcdef"], None)]
    cycle.next_day()
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.details == []
    assert cycle.cycle.updated_count == 0


@pytest.mark.parametrize(
    "reason", [Reason.HTTP_5XX, Reason.HTTP_4XX, Reason.TIMEOUT, Reason.CONNECTION]
)
def test_a_failed_detail_is_counted_fails_nothing_and_is_not_tried_again(reason: Reason) -> None:
    """R20, R22: the others go on, the cycle completes, the posting waits for another day."""
    executor = ScriptedExecutor({"detail b": failed(reason, status=500)})
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES), executor, slice_budget=CollectionBudget(1, 100, 2)
    )
    assert cycle.run_to_end() is SUCCESS
    assert executor.details == list("abcdef")
    assert (cycle.cycle.detail_request_count, cycle.cycle.detail_failure_count) == (6, 1)
    assert cycle.store.postings["b"].detail_state is DetailState.PENDING
    executor.answers.clear()
    executor.sent.clear()
    cycle.next_day()
    assert cycle.run_to_end() is SUCCESS
    assert executor.details == ["b"]


def test_a_detail_body_that_is_no_detail_is_a_failed_detail() -> None:
    """R22: BAD_RESPONSE of a detail does not fail the slice."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES, {"c": BadResponse("HTML")}))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.detail_failure_count == 1


def test_a_failed_detail_is_not_tried_again_when_its_row_is_sighted_again() -> None:
    """R22: also when the page shifts and shows the row in a later slice, even changed."""
    pages = [
        ListPage(rows_of("ab"), at(1)),
        ListPage([listed("b", title="Senior Engineer"), listed("c")], None),
    ]
    executor = ScriptedExecutor({"detail b": failed(Reason.HTTP_5XX, status=503)})
    cycle = ScriptedCycle(
        ScriptedPlatform(pages), executor, slice_budget=CollectionBudget(1, 100, 5)
    )
    assert cycle.run_to_end() is SUCCESS
    assert executor.details == ["a", "b", "c"]


def test_a_posting_that_is_gone_is_no_failure_and_not_asked_again() -> None:
    """R22: it stays until it is missed."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES, {"d": GonePosting()}))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.detail_failure_count == 0
    assert cycle.store.postings["d"].detail_state is DetailState.GONE
    cycle.executor.sent.clear()
    cycle.next_day()
    cycle.run_to_end()
    assert cycle.executor.details == []


@pytest.mark.parametrize(
    ("reason", "status"), [(Reason.FORBIDDEN, 403), (Reason.RATE_LIMITED, 429)]
)
@pytest.mark.parametrize("mode", [DetailMode.REQUIRED, DetailMode.BEST_EFFORT])
def test_a_refused_detail_ends_the_details_of_the_cycle_and_the_list_goes_on(
    reason: Reason, status: int, mode: DetailMode
) -> None:
    """R22: 403 and 429; also in the slices that follow."""
    executor = ScriptedExecutor({"detail b": failed(reason, status=status)})
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES),
        executor,
        slice_budget=CollectionBudget(1, 100, 2),
        detail_mode=mode,
    )
    assert cycle.run_to_end() is SUCCESS
    assert executor.sent == ["page 0", "detail a", "detail b", "page 1"]
    assert cycle.cycle.detail_failure_count == 1
    assert cycle.cycle.is_complete
    executor.answers.clear()
    cycle.next_day()
    cycle.run_to_end()
    assert executor.details[2:] == list("bcdef")


def test_a_refusal_that_the_adapter_reads_itself_ends_details_too() -> None:
    """R22: the status decides, wherever the failure was found."""
    refusal = RequestFailed(Reason.FORBIDDEN, "HTTP 403", status=403)
    cycle = ScriptedCycle(ScriptedPlatform(PAGES, {"a": refusal}))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.details == ["a"]


def test_a_platform_without_details_completes_with_its_list() -> None:
    """R22: detail state NONE."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES, has_details=False))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.details == []
    assert cycle.store.postings["a"].detail_state is DetailState.NONE


def test_a_used_up_list_budget_still_leaves_details_their_part_of_the_slice() -> None:
    """R9, R22: details of the rows that were read are asked for in the last slice."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), daily_budget=CollectionBudget(1, 100, 100))
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.LIST_PAGES
    assert cycle.executor.details == list("abc")

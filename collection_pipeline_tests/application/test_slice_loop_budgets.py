"""No request beyond a budget, and completion exactly at a limit (R9, R20, R21)."""

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit as Limit,
)
from collection_pipeline.domain.failure import (
    CollectionFailureReason as Reason,
)
from collection_pipeline.domain.slices import Fetched
from collection_pipeline.platforms.contract import ListPage
from collection_pipeline_tests.kit.scripted_cycle import WIDE, ScriptedCycle, ScriptedStore
from collection_pipeline_tests.kit.scripted_platform import (
    CataloguePlatform,
    ScriptedPlatform,
    at,
    pages_of,
    rows_of,
)

SUCCESS, EXHAUSTED = CycleStatus.SUCCESS, CycleStatus.BUDGET_EXHAUSTED


def catalogue(rows: int, size: int = 10, **given: bool) -> CataloguePlatform:
    """A list of ``rows`` postings without details, ``size`` a page."""
    platform = CataloguePlatform(
        catalogue=rows_of(f"id{number:03}" for number in range(rows)), size=size, has_details=False
    )
    for name, value in given.items():
        setattr(platform, name, value)
    return platform


def test_a_slice_reads_its_pages_and_the_next_goes_on_where_it_ended() -> None:
    """R6, R20: no page is read twice."""
    cycle = ScriptedCycle(catalogue(65), slice_budget=CollectionBudget(2, 1_000, 1))
    outcome = cycle.run_slice()
    assert cycle.executor.pages == [0, 10]
    assert isinstance(outcome, Fetched)
    assert outcome.next_cursor == Cursor({"page": 20, "rows": 10})
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.pages == [0, 10, 20, 30, 40, 50, 60]
    assert (cycle.cycle.attempt_count, cycle.cycle.fetched_count) == (4, 65)


@pytest.mark.parametrize(("postings", "pages_a_slice"), [(10, 1), (19, 1), (20, 2), (29, 2)])
def test_a_page_is_requested_only_when_its_full_size_fits_the_slice(
    postings: int, pages_a_slice: int
) -> None:
    """R20: nothing is exceeded and no row is thrown away."""
    cycle = ScriptedCycle(catalogue(100), slice_budget=CollectionBudget(50, postings, 1))
    outcome = cycle.run_slice()
    assert outcome.work.list_page_count == pages_a_slice
    assert len(outcome.work.postings) == 10 * pages_a_slice <= postings


@pytest.mark.parametrize(("postings", "fetched"), [(10, 10), (39, 30), (40, 40), (41, 40)])
def test_a_page_is_requested_only_when_its_full_size_fits_the_day(
    postings: int, fetched: int
) -> None:
    """R9, R20: reason POSTINGS, the cursor is kept."""
    cycle = ScriptedCycle(
        catalogue(100, size_is_fixed=True), daily_budget=CollectionBudget(50, postings, 1)
    )
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.POSTINGS
    assert cycle.cycle.fetched_count == fetched
    assert cycle.cycle.cursor == Cursor({"page": fetched, "rows": 10}).encoded()


def test_what_the_stated_total_leaves_fits_although_a_full_page_would_not() -> None:
    """R20, R21: 35 postings of a budget of 35, the last page has five rows."""
    platform = catalogue(35, states_total=True, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(50, 35, 1))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.fetched_count == 35


def test_without_a_stated_total_the_last_page_must_fit_whole() -> None:
    """R20: nobody can know that the last page is short."""
    platform = catalogue(35, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(50, 35, 1))
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.fetched_count == 30


def test_a_total_helps_only_where_rows_before_the_page_are_known() -> None:
    """R20."""
    pages = pages_of("a b c", "d e f", "g", stated_total=7)
    cycle = ScriptedCycle(
        ScriptedPlatform(pages, tells_rows_before=False, has_details=False),
        daily_budget=CollectionBudget(50, 7, 1),
    )
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.fetched_count == 6


def test_the_stated_total_of_an_earlier_slice_still_counts() -> None:
    """R20, R23a: the total is stored on the cycle."""
    platform = catalogue(35, states_total=True, size_is_fixed=True)
    cycle = ScriptedCycle(
        platform,
        slice_budget=CollectionBudget(1, 1_000, 1),
        daily_budget=CollectionBudget(50, 35, 1),
    )
    assert cycle.run_to_end() is SUCCESS
    assert cycle.slices == 4


def test_the_page_size_never_exceeds_what_a_slice_or_a_day_may_keep() -> None:
    """R20: where the size can be chosen, it is."""
    for limits in (CollectionBudget(5, 4, 1), WIDE):
        other = WIDE if limits is not WIDE else CollectionBudget(50, 4, 1)
        cycle = ScriptedCycle(catalogue(9), slice_budget=limits, daily_budget=other)
        outcome = cycle.run_slice()
        assert len(outcome.work.postings) == 4


def test_a_slice_too_small_for_one_page_is_a_configuration_failure() -> None:
    """R2, R20: it would wait for ever otherwise; nothing is sent."""
    platform = catalogue(20, size_is_fixed=True)
    cycle = ScriptedCycle(platform, slice_budget=CollectionBudget(5, 9, 1))
    cycle.run_slice()
    assert cycle.cycle.failure_reason is Reason.CONFIG
    assert "SLICE_MAX_POSTINGS" in (cycle.cycle.failure_detail or "")
    assert cycle.executor.sent == []


def test_a_day_too_small_for_one_page_sends_nothing_and_is_exhausted() -> None:
    """R9, R20."""
    platform = catalogue(20, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(5, 9, 1))
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.POSTINGS
    assert (cycle.executor.sent, cycle.cycle.attempt_count) == ([], 0)


def test_the_day_ends_at_its_list_pages() -> None:
    """R9, R20: reason LIST_PAGES, over slices, not one page more."""
    cycle = ScriptedCycle(
        catalogue(100),
        slice_budget=CollectionBudget(2, 1_000, 1),
        daily_budget=CollectionBudget(5, 1_000, 1),
    )
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.LIST_PAGES
    assert cycle.executor.pages == [0, 10, 20, 30, 40]
    assert cycle.cycle.cursor == Cursor({"page": 50, "rows": 10}).encoded()


def test_the_first_of_two_used_up_limits_is_named() -> None:
    """R20: LIST_PAGES before POSTINGS."""
    cycle = ScriptedCycle(catalogue(100), daily_budget=CollectionBudget(3, 30, 1))
    assert cycle.run_to_end() is EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.LIST_PAGES


@pytest.mark.parametrize(
    "daily",
    [CollectionBudget(3, 1_000, 1), CollectionBudget(99, 30, 1), CollectionBudget(3, 30, 1)],
)
def test_a_list_that_ends_exactly_at_a_daily_limit_is_complete(daily: CollectionBudget) -> None:
    """R21: not BUDGET_EXHAUSTED."""
    cycle = ScriptedCycle(catalogue(30), daily_budget=daily)
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.is_complete
    assert cycle.cycle.consumed.list_pages == 3


@pytest.mark.parametrize(("rows", "status"), [(30, SUCCESS), (31, EXHAUSTED)])
def test_a_covered_total_ends_the_list_when_no_page_is_left_to_see_its_end(
    rows: int, status: CycleStatus
) -> None:
    """R21, platforms.md (Jumpit): the end sign, an empty page, would be a fourth request."""
    platform = catalogue(rows, ends_empty=True, states_total=True, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(3, 1_000, 1))
    assert cycle.run_to_end() is status
    assert cycle.executor.pages == [0, 10, 20]


def test_a_covered_total_is_no_end_while_a_page_is_left() -> None:
    """R21, R23: the platform's own sign is read where the budget allows it."""
    platform = catalogue(30, ends_empty=True, states_total=True, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(4, 30, 1))
    assert cycle.run_to_end() is SUCCESS
    assert cycle.executor.pages == [0, 10, 20, 30]


@pytest.mark.parametrize("postings", [1, 4, 119])
def test_a_whole_board_is_exempt_from_the_slices_posting_limit(postings: int) -> None:
    """R20: one response of 120 rows, whatever a slice may keep and a page would hold."""
    platform = catalogue(120, whole_board=True, size_is_fixed=True)
    cycle = ScriptedCycle(platform, slice_budget=CollectionBudget(1, postings, 1))
    assert cycle.run_to_end() is SUCCESS
    assert (cycle.cycle.fetched_count, cycle.slices) == (120, 1)


@pytest.mark.parametrize(
    ("rows", "status", "kept"), [(49, SUCCESS, 49), (50, SUCCESS, 50), (51, EXHAUSTED, 50)]
)
def test_a_whole_board_is_cut_at_the_daily_limit(rows: int, status: CycleStatus, kept: int) -> None:
    """R20, R21: cut at the 51st posting, complete at the 50th."""
    platform = catalogue(rows, whole_board=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(5, 50, 1))
    assert cycle.run_to_end() is status
    assert cycle.cycle.fetched_count == kept == len(cycle.store.seen)
    assert cycle.executor.pages == [0]
    expected = None if status is SUCCESS else Limit.POSTINGS
    assert cycle.cycle.budget_exhausted_reason is expected


@pytest.mark.parametrize(("rows", "status"), [(5, SUCCESS), (6, EXHAUSTED)])
def test_a_whole_board_is_requested_however_little_the_day_may_keep(
    rows: int, status: CycleStatus
) -> None:
    """R20: it is cut after it was read, not left out; a page would hold ten rows."""
    platform = catalogue(rows, whole_board=True, size_is_fixed=True)
    cycle = ScriptedCycle(platform, daily_budget=CollectionBudget(5, 5, 1))
    assert cycle.run_to_end() is status
    assert (cycle.executor.pages, cycle.cycle.fetched_count) == ([0], 5)


def test_rows_seen_before_in_the_cycle_cost_no_posting_budget() -> None:
    """R20: fetched_count is distinct postings; pages that overlap do not use up the day."""
    pages = [
        ListPage(rows_of("abc"), at(1)),
        ListPage(rows_of("bcd"), at(2)),
        ListPage(rows_of("cde"), None),
    ]
    cycle = ScriptedCycle(
        ScriptedPlatform(pages, has_details=False),
        slice_budget=CollectionBudget(1, 3, 1),
        daily_budget=CollectionBudget(3, 7, 1),
    )
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.fetched_count == 5


def test_postings_known_from_other_days_still_count_as_fetched() -> None:
    """R20, R24: a new cycle starts at the newest first page with a budget of its own."""
    store = ScriptedStore()
    cycle = ScriptedCycle(catalogue(30), daily_budget=CollectionBudget(3, 30, 1), store=store)
    assert cycle.run_to_end() is SUCCESS
    cycle.next_day()
    assert cycle.run_to_end() is SUCCESS
    assert cycle.cycle.fetched_count == 30
    assert cycle.cycle.new_count == 0
    assert cycle.executor.pages == [0, 10, 20, 0, 10, 20]


def test_a_new_run_date_starts_again_at_the_first_page_after_an_unfinished_one() -> None:
    """R24, R16: the old cursor is not carried over."""
    cycle = ScriptedCycle(catalogue(50), daily_budget=CollectionBudget(2, 100, 1))
    assert cycle.run_to_end() is EXHAUSTED
    cycle.next_day()
    assert cycle.cycle.cursor is None
    cycle.run_slice()
    assert cycle.executor.pages == [0, 10, 0, 10]


def test_the_delay_of_the_source_goes_with_every_request() -> None:
    """R26."""
    cycle = ScriptedCycle(ScriptedPlatform(pages_of("a b c", "d")))
    cycle.run_slice()
    assert cycle.executor.delays == [1.5] * len(cycle.executor.sent)

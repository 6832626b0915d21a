"""A platform that repeats itself is found out, one that merely shifts is not (R23, R20)."""

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit as Limit
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.platforms.contract import ListPage
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedPlatform,
    at,
    pages_of,
    rows_of,
)

SLICES = [CollectionBudget(1, 1_000, 1), CollectionBudget(50, 1_000, 1)]
"""One page a slice, and the whole list in one: what R23 remembers outlives slices."""


def crawl(*pages: ListPage, slice_budget: CollectionBudget, pages_a_day: int = 50) -> ScriptedCycle:
    """The cycle over these pages, at its end."""
    cycle = ScriptedCycle(
        ScriptedPlatform(pages, has_details=False),
        slice_budget=slice_budget,
        daily_budget=CollectionBudget(pages_a_day, 1_000, 1),
    )
    cycle.run_to_end()
    return cycle


@pytest.mark.parametrize("slice_budget", SLICES)
@pytest.mark.parametrize("loops_to", [0, 1, 2])
def test_a_looping_next_link_is_found_before_it_is_followed(
    slice_budget: CollectionBudget, loops_to: int
) -> None:
    """R23: the next cursor was visited in this cycle; R20: the page's rows are kept."""
    cycle = crawl(
        ListPage(rows_of("abc"), at(1)),
        ListPage(rows_of("def"), at(2)),
        ListPage(rows_of("ghi"), at(loops_to)),
        slice_budget=slice_budget,
    )
    assert cycle.cycle.failure_reason is Reason.BAD_RESPONSE
    assert "visited" in (cycle.cycle.failure_detail or "")
    assert cycle.executor.pages == [0, 1, 2]
    assert sorted(cycle.store.seen) == list("abcdefghi")


@pytest.mark.parametrize("slice_budget", SLICES)
def test_one_page_may_repeat_and_the_list_goes_on(slice_budget: CollectionBudget) -> None:
    """R23: the first time is forgiven."""
    cycle = crawl(*pages_of("a b c", "a b c", "d e f"), slice_budget=slice_budget)
    assert cycle.cycle.status is CycleStatus.SUCCESS
    assert cycle.cycle.fetched_count == 6


@pytest.mark.parametrize("slice_budget", SLICES)
def test_the_second_repeated_page_is_no_answer(slice_budget: CollectionBudget) -> None:
    """R23: an ignored offset; three requests, not fifty."""
    cycle = crawl(*pages_of(*["a b c"] * 20), slice_budget=slice_budget)
    assert cycle.cycle.failure_reason is Reason.BAD_RESPONSE
    assert cycle.executor.pages == [0, 1, 2]
    assert cycle.cycle.fetched_count == 3


def test_the_second_repeat_fails_also_on_the_last_page() -> None:
    """R23: such a list never becomes SUCCESS with a delta."""
    cycle = crawl(*pages_of("a b", "b a", "a b"), slice_budget=SLICES[1])
    assert cycle.cycle.status is CycleStatus.FAILED
    assert not cycle.cycle.is_safe_to_apply_missed_delta


@pytest.mark.parametrize("slice_budget", SLICES)
def test_pages_that_shift_are_read_to_their_end(slice_budget: CollectionBudget) -> None:
    """R23: each page repeats most of the one before, none repeats it whole."""
    cycle = crawl(*pages_of("a b c", "b c d", "c d e", "d e f", "e f g"), slice_budget=slice_budget)
    assert cycle.cycle.status is CycleStatus.SUCCESS
    assert cycle.cycle.fetched_count == 7


@pytest.mark.parametrize("slice_budget", SLICES)
def test_an_empty_page_with_a_next_position_is_not_the_end(slice_budget: CollectionBudget) -> None:
    """R23: two of them in a row neither end nor fail the list."""
    cycle = crawl(*pages_of("a b c", "", "", "d"), slice_budget=slice_budget)
    assert cycle.cycle.status is CycleStatus.SUCCESS
    assert cycle.cycle.fetched_count == 4


def test_a_short_page_with_a_next_position_is_not_the_end() -> None:
    """R23: only where the platform says so."""
    cycle = crawl(*pages_of("a", "b c d", "e"), slice_budget=SLICES[1])
    assert cycle.cycle.fetched_count == 5


@pytest.mark.parametrize("slice_budget", SLICES)
def test_endless_empty_pages_are_bounded_by_the_page_budget(slice_budget: CollectionBudget) -> None:
    """R23: every slice makes progress or is bounded by budget."""
    cycle = crawl(*pages_of(*[""] * 60), slice_budget=slice_budget, pages_a_day=20)
    assert cycle.cycle.status is CycleStatus.BUDGET_EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.LIST_PAGES
    assert len(cycle.executor.pages) == 20


def test_a_list_of_nothing_is_complete_with_nothing_fetched() -> None:
    """R8: abnormal and close-guarded, decided elsewhere; here it is the end of a list."""
    cycle = crawl(*pages_of(""), slice_budget=SLICES[0])
    assert (cycle.cycle.status, cycle.cycle.is_complete) == (CycleStatus.SUCCESS, True)
    assert not cycle.cycle.is_safe_to_apply_missed_delta


def test_a_new_day_remembers_no_page_of_the_day_before() -> None:
    """R23, R24: the memory is the cycle's."""
    cycle = crawl(*pages_of("a b c", "d"), slice_budget=SLICES[0])
    for _ in range(3):
        cycle.next_day()
        assert cycle.run_to_end() is CycleStatus.SUCCESS

"""The key's calls as one more daily budget of the slice loop (R9, R20, R21, R22)."""

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit as Limit
from collection_pipeline.domain.source import DetailMode
from collection_pipeline_tests.kit.scripted_cycle import WIDE, ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    CataloguePlatform,
    ScriptedExecutor,
    ScriptedPlatform,
    pages_of,
    rows_of,
)

SUCCESS, EXHAUSTED = CycleStatus.SUCCESS, CycleStatus.BUDGET_EXHAUSTED
REQUIRED, BEST_EFFORT = DetailMode.REQUIRED, DetailMode.BEST_EFFORT


def cycle_of(
    rows: int, key_calls: int, daily: CollectionBudget = WIDE, *, ends_empty: bool = False
) -> ScriptedCycle:
    """A list of ten rows a page without details, read with so many calls of the key."""
    platform = CataloguePlatform(
        catalogue=rows_of(f"id{number:03}" for number in range(rows)),
        size=10,
        has_details=False,
        states_total=True,
        ends_empty=ends_empty,
        size_is_fixed=True,
    )
    executor = ScriptedExecutor(key_calls=key_calls)
    return ScriptedCycle(platform, executor, daily_budget=daily)


def test_pages_read_before_the_keys_calls_were_used_up_are_kept() -> None:
    """R9, R20: one slice, KEY_QUOTA, the cursor and the rows so far."""
    run = cycle_of(100, key_calls=3)
    assert run.run_to_end() is EXHAUSTED
    assert run.cycle.budget_exhausted_reason is Limit.KEY_QUOTA
    assert (run.executor.pages, run.slices) == ([0, 10, 20], 1)
    assert (run.cycle.list_page_count, run.cycle.fetched_count, len(run.store.seen)) == (3, 30, 30)
    assert run.cycle.cursor == Cursor({"page": 30, "rows": 10}).encoded()
    assert not run.cycle.is_safe_to_apply_missed_delta


def test_a_slice_that_finds_no_call_left_sends_nothing() -> None:
    """R9, R20: zero pages; a slice that sent no request is no attempt."""
    run = cycle_of(100, key_calls=0)
    assert run.run_to_end() is EXHAUSTED
    assert run.cycle.budget_exhausted_reason is Limit.KEY_QUOTA
    assert run.executor.sent == []
    assert (run.cycle.attempt_count, run.cycle.list_page_count) == (0, 0)


@pytest.mark.parametrize("ends_empty", [False, True])
def test_a_list_that_ends_with_the_keys_last_call_is_complete(ends_empty: bool) -> None:
    """R21: also where only the empty last page was still to be read."""
    run = cycle_of(30, key_calls=3, ends_empty=ends_empty)
    assert run.run_to_end() is SUCCESS
    assert run.cycle.is_complete
    assert run.executor.pages == [0, 10, 20]


@pytest.mark.parametrize(
    ("daily", "limit"),
    [
        (CollectionBudget(3, 1_000, 1), Limit.LIST_PAGES),
        (CollectionBudget(9, 30, 1), Limit.POSTINGS),
    ],
)
def test_the_sources_own_limits_are_named_before_the_keys(
    daily: CollectionBudget, limit: Limit
) -> None:
    """R20: LIST_PAGES, POSTINGS, then the key; nobody is asked for a call in vain."""
    run = cycle_of(100, key_calls=3, daily=daily)
    assert run.run_to_end() is EXHAUSTED
    assert run.cycle.budget_exhausted_reason is limit
    assert run.executor.refused == []


@pytest.mark.parametrize(
    ("mode", "details", "key_calls", "status", "limit"),
    [
        (REQUIRED, 99, 4, EXHAUSTED, Limit.KEY_QUOTA),
        (REQUIRED, 2, 4, EXHAUSTED, Limit.DETAIL_REQUESTS),
        (REQUIRED, 99, 6, SUCCESS, None),
        (BEST_EFFORT, 99, 4, SUCCESS, None),
    ],
)
def test_details_that_the_key_leaves_over_count_as_the_sources_mode_says(
    mode: DetailMode, details: int, key_calls: int, status: CycleStatus, limit: Limit | None
) -> None:
    """R20, R21, R22: two pages, four details; what is left over waits for another day."""
    executor = ScriptedExecutor(key_calls=key_calls)
    run = ScriptedCycle(
        ScriptedPlatform(pages_of("a b", "c d")),
        executor,
        daily_budget=CollectionBudget(50, 100, details),
        detail_mode=mode,
    )
    assert run.run_to_end() is status
    assert run.cycle.budget_exhausted_reason is limit
    assert len(executor.sent) == key_calls
    executor.key_calls = None
    run.next_day()
    assert run.run_to_end() is SUCCESS
    assert sorted(executor.details) == list("abcd")


def test_details_without_a_budget_are_named_before_the_key_also_in_the_middle_of_the_list() -> None:
    """R20: DETAIL_REQUESTS before KEY_QUOTA when both are used up at once."""
    executor = ScriptedExecutor(key_calls=3)
    run = ScriptedCycle(
        ScriptedPlatform(pages_of("a b", "c d", "e f")),
        executor,
        slice_budget=CollectionBudget(1, 100, 1),
        daily_budget=CollectionBudget(50, 100, 1),
    )
    assert run.run_to_end() is EXHAUSTED
    assert run.cycle.budget_exhausted_reason is Limit.DETAIL_REQUESTS
    assert executor.sent == ["page 0", "detail a", "page 1"]
    assert executor.refused == ["page 2"]

"""Whole cycles, slice by slice, against an independent recount of what must come out.

Catalogues, page sizes, budgets, interruptions and failures are generated (R18 to R23, I8).
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import DetailMode
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import rows_of
from collection_pipeline_tests.kit.slice_plans import (
    Plan,
    ShiftingPlatform,
    expected_list,
    job_id,
    plans,
    prepared,
)

SLOW = settings(max_examples=250, deadline=None)


def run_day(plan: Plan, cycle: ScriptedCycle) -> None:
    """Slices until the end; each keeps to its own budget and is counted as it was sent (I8)."""
    executor = cycle.executor
    for number in range(200):
        before_pages, before_details = len(executor.pages), len(executor.details)
        before_seen = len(cycle.store.seen)
        executor.most_requests = None
        if number < len(plan.interruptions):
            executor.most_requests = len(executor.sent) + plan.interruptions[number]
        work = cycle.run_slice().work
        assert work.list_page_count == len(executor.pages) - before_pages
        assert work.detail_request_count == len(executor.details) - before_details
        assert work.new_to_cycle == len(cycle.store.seen) - before_seen
        assert work.list_page_count <= plan.slice_budget.list_pages
        assert work.detail_request_count <= plan.slice_budget.detail_requests
        assert plan.whole_board or work.new_to_cycle <= plan.slice_budget.postings
        if cycle.cycle.status.is_terminal:
            return
    raise AssertionError("the cycle never ended")


@SLOW
@given(plans())
def test_a_day_asks_for_nothing_twice_and_keeps_to_its_budgets(plan: Plan) -> None:
    """R18, R20, R22: over any slices, interruptions and failures."""
    cycle = prepared(plan)
    run_day(plan, cycle)
    pages, details = cycle.executor.pages, cycle.executor.details
    assert len(set(pages)) == len(pages)
    assert len(set(details)) == len(details)
    ended, daily = cycle.cycle, plan.daily_budget
    assert ended.list_page_count == len(pages) <= daily.list_pages
    assert ended.detail_request_count == len(details) <= daily.detail_requests
    assert ended.fetched_count == len(cycle.store.seen) <= daily.postings
    known = {job_id(number) for number in plan.known}
    assert not known & set(details)
    assert plan.has_details or not details
    assert plan.mode is not DetailMode.OFF or not details


@SLOW
@given(plans())
def test_a_day_reads_what_an_independent_walk_reads(plan: Plan) -> None:
    """R19, R20, R21: same pages, same postings, whatever the slices were."""
    cycle = prepared(plan)
    run_day(plan, cycle)
    walk = expected_list(plan)
    assert cycle.executor.pages == walk.offsets
    assert cycle.cycle.fetched_count == walk.fetched
    if walk.status is not CycleStatus.SUCCESS:
        assert cycle.cycle.status is walk.status
        assert cycle.cycle.budget_exhausted_reason == walk.reason


@SLOW
@given(plans())
def test_success_means_the_whole_catalogue_and_every_detail_tried(plan: Plan) -> None:
    """R7, R9, R21, R22: exactly then; never fewer distinct postings than the catalogue."""
    cycle = prepared(plan)
    run_day(plan, cycle)
    ended, details = cycle.cycle, cycle.executor.details
    wanted = {job_id(n) for n in range(plan.rows) if n not in plan.known}
    asks = plan.has_details and plan.mode is not DetailMode.OFF
    refused = plan.refused_detail is not None and job_id(plan.refused_detail) in details
    tried = not asks or refused or plan.mode is DetailMode.BEST_EFFORT or set(details) == wanted
    is_list_read = expected_list(plan).status is CycleStatus.SUCCESS
    assert (ended.status is CycleStatus.SUCCESS) is (is_list_read and tried)
    if ended.is_complete:
        assert ended.fetched_count == plan.rows
    if is_list_read and not tried:
        assert ended.budget_exhausted_reason == "DETAIL_REQUESTS"
        assert len(details) == plan.daily_budget.detail_requests


@SLOW
@given(plans())
def test_failed_details_are_exactly_those_that_failed(plan: Plan) -> None:
    """R22: gone is no failure, a refusal is one."""
    cycle = prepared(plan)
    run_day(plan, cycle)
    failing = {job_id(number) for number in plan.bad_details if number % 2}
    if plan.refused_detail is not None:
        failing.add(job_id(plan.refused_detail))
    assert cycle.cycle.detail_failure_count == len(failing & set(cycle.executor.details))


@SLOW
@given(
    rows=st.integers(1, 30),
    size=st.integers(2, 6),
    pages_a_slice=st.integers(1, 4),
    states_total=st.booleans(),
    ends_empty=st.booleans(),
    data=st.data(),
)
def test_pages_that_shift_lose_no_posting_and_are_no_loop(
    rows: int,
    size: int,
    pages_a_slice: int,
    states_total: bool,
    ends_empty: bool,
    data: st.DataObject,
) -> None:
    """R22, R23: a list that grows at its front while it is read, by less than a page at a time."""
    shifts = data.draw(st.lists(st.integers(0, size - 1), max_size=12))
    original = rows_of(job_id(number) for number in range(rows))
    platform = ShiftingPlatform(
        size=size,
        catalogue=original,
        states_total=states_total,
        ends_empty=ends_empty,
        shifts=list(shifts),
    )
    cycle = ScriptedCycle(platform, slice_budget=CollectionBudget(pages_a_slice, 20, 3))
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert {row.source_job_id for row in original} <= set(cycle.store.seen)
    assert len(set(cycle.executor.details)) == len(cycle.executor.details)
    assert set(cycle.executor.details) == set(cycle.store.seen)

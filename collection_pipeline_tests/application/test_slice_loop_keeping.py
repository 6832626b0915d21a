"""What is kept of a page: each id once, positions, companies, drift, totals (R20, R22a, R23a)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.posting import GonePosting, KnownPosting, PostingDetail
from collection_pipeline.platforms.contract import ListPage, RequestFailed
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle, ScriptedStore
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedExecutor,
    ScriptedPlatform,
    at,
    listed,
    pages_of,
    rows_of,
)

ONE_PAGE_A_SLICE = CollectionBudget(1, 1_000, 1_000)


@pytest.mark.parametrize("slice_budget", [ONE_PAGE_A_SLICE, CollectionBudget(9, 1_000, 1_000)])
def test_a_posting_counts_once_however_often_it_is_listed(slice_budget: CollectionBudget) -> None:
    """R20: within a page, over pages, over slices."""
    pages = pages_of("a b a", "b c", "c a d")
    cycle = ScriptedCycle(ScriptedPlatform(pages), slice_budget=slice_budget)
    cycle.run_to_end()
    assert cycle.cycle.fetched_count == cycle.cycle.new_count == 4
    assert Counter(cycle.executor.details) == Counter("abcd")


def test_the_slices_own_count_equals_what_the_store_counts() -> None:
    """R20: budgets are kept by the loop with the store's number."""
    store = ScriptedStore()
    cycle = ScriptedCycle(
        ScriptedPlatform(pages_of("a b a", "b c", "c a d")),
        slice_budget=ONE_PAGE_A_SLICE,
        store=store,
    )
    counted = []
    while not cycle.cycle.status.is_terminal:
        before = len(store.seen)
        outcome = cycle.run_slice()
        counted.append((outcome.work.new_to_cycle, len(store.seen) - before))
    assert counted == [(2, 2), (1, 1), (1, 1)]


def test_positions_count_rows_over_the_whole_cycle() -> None:
    """R22: "newest first" is the list's order, over slices."""
    cycle = ScriptedCycle(
        ScriptedPlatform(pages_of("a b", "b c", "d")), slice_budget=ONE_PAGE_A_SLICE
    )
    cycle.run_to_end()
    positions = {job_id: row.position for job_id, row in cycle.store.seen.items()}
    assert positions == {"a": 0, "b": 1, "c": 3, "d": 4}


@dataclass
class WatchedStore(ScriptedStore):
    """Notes how many requests had been sent when a look-up came."""

    executor: ScriptedExecutor | None = None
    sent_before: list[int] | None = None

    def known_postings(self, source_job_ids: Sequence[str]) -> Mapping[str, KnownPosting]:
        """The look-up, noted."""
        assert self.executor is not None
        self.sent_before = [*(self.sent_before or []), len(self.executor.sent)]
        return super().known_postings(source_job_ids)


def test_signatures_are_looked_up_per_page_before_the_next_request() -> None:
    """R22a, R25: one short read a page, of that page's ids only."""
    executor = ScriptedExecutor()
    store = WatchedStore(executor=executor)
    ScriptedCycle(
        ScriptedPlatform(pages_of("a b", "b c", "d"), has_details=False), executor, store=store
    ).run_to_end()
    assert store.reads == [("a", "b"), ("c",), ("d",)]
    assert store.sent_before == [1, 2, 3]


def test_companies_are_resolved_right_after_their_page_and_each_name_once() -> None:
    """R25: names new to the slice, sorted; rows without a company ask for nothing."""
    pages = [
        ListPage([listed("a", company="Zeta"), listed("b", company="Alpha"), listed("c")], at(1)),
        ListPage([listed("d", company="Alpha"), listed("e", company="Mid")], at(2)),
        ListPage([listed("f", company="Zeta")], None),
    ]
    cycle = ScriptedCycle(ScriptedPlatform(pages, has_details=False))
    outcome = cycle.run_slice()
    assert cycle.store.company_reads == [("Alpha", "Zeta"), ("Mid",)]
    assert set(outcome.work.company_ids) == {"Alpha", "Mid", "Zeta"}


def test_fields_that_did_not_parse_are_counted_by_name() -> None:
    """Section 7, drift counts: each kept row counts its fields once."""
    pages = [
        ListPage([listed("a", unparsed=("due_time",)), listed("b")], at(1)),
        ListPage(
            [listed("a", unparsed=("due_time",)), listed("c", unparsed=("due_time", "salary"))],
            None,
        ),
    ]
    outcome = ScriptedCycle(ScriptedPlatform(pages, has_details=False)).run_slice()
    assert outcome.work.drift == Counter(due_time=2, salary=1)


def test_rows_of_a_board_that_was_cut_are_not_kept_and_leave_no_company() -> None:
    """R20: cut at the daily limit."""
    board = [listed(job_id, company=f"Company {job_id}") for job_id in "abcd"]
    cycle = ScriptedCycle(
        ScriptedPlatform([ListPage(board, None)], whole_board=True, has_details=False),
        daily_budget=CollectionBudget(5, 2, 1),
    )
    outcome = cycle.run_slice()
    assert [one.listed.source_job_id for one in outcome.work.postings] == ["a", "b"]
    assert set(outcome.work.company_ids) == {"Company a", "Company b"}


def test_the_total_of_the_last_page_with_rows_counts() -> None:
    """R23a: an empty last page states 0 on some platforms."""
    pages = [
        ListPage(rows_of("abc"), at(1), stated_total=50),
        ListPage(rows_of("de"), at(2), stated_total=5),
        ListPage([], None, stated_total=0),
    ]
    cycle = ScriptedCycle(ScriptedPlatform(pages, has_details=False))
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert (cycle.cycle.stated_total, cycle.cycle.is_complete) == (5, True)


@pytest.mark.parametrize(("tolerance", "is_complete"), [(0.01, False), (0.10, True)])
def test_a_silent_cut_well_short_of_the_total_is_not_complete(
    tolerance: float, is_complete: bool
) -> None:
    """R23a: with the platform's own tolerance; 92 of 100."""
    ids = " ".join(f"id{number}" for number in range(92))
    platform = ScriptedPlatform(
        pages_of(ids, stated_total=100), has_details=False, total_tolerance=tolerance, size=92
    )
    cycle = ScriptedCycle(platform)
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert cycle.cycle.is_complete is is_complete
    assert cycle.cycle.is_safe_to_apply_missed_delta is is_complete


def test_repeated_rows_do_not_cover_for_missing_ones() -> None:
    """R23a: distinct postings are compared with the total, not rows."""
    pages = pages_of("a b c d e", "a b c d f", "b c d e a", stated_total=10)
    platform = ScriptedPlatform(pages, has_details=False, size=5)
    cycle = ScriptedCycle(platform)
    cycle.run_to_end()
    assert not cycle.cycle.is_safe_to_apply_missed_delta
    assert (cycle.cycle.status, cycle.cycle.is_complete) == (CycleStatus.SUCCESS, False)


def test_a_details_fields_that_did_not_parse_are_counted_too() -> None:
    """Section 7, drift counts: a detail that is gone or failed adds nothing."""
    details: dict[str, PostingDetail | GonePosting | RequestFailed] = {
        "a": PostingDetail({}, "{}", unparsed=("due_time",)),
        "b": GonePosting(),
        "c": PostingDetail({}, "{}", unparsed=("due_time", "salary")),
    }
    pages = [ListPage([listed("a", unparsed=("due_time",)), listed("b"), listed("c")], None)]
    outcome = ScriptedCycle(ScriptedPlatform(pages, details=details)).run_slice()
    assert outcome.work.drift == Counter(due_time=3, salary=1)

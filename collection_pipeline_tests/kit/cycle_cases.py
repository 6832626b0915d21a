"""Cycles in each state, and the ways a slice can end, for the tests of the state table."""

from dataclasses import replace
from datetime import date, datetime, timedelta

from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.slices import Failed, Fetched, SliceWork

NOW = datetime(2026, 12, 1, 1, 0)
LATER = NOW + timedelta(seconds=600)
TOKEN = "token"
FAILURE = CollectionFailure(CollectionFailureReason.HTTP_5XX, "HTTP 500")
NEXT = Cursor({"offset": 100})

Cycle = JobPostingCollectionCycle


def cycle_in(status: CycleStatus) -> Cycle:
    """A cycle as it stands in ``status``, leased where RUNNING."""
    cycle = Cycle(
        id=7,
        job_source_id=3,
        run_date=date(2026, 12, 1),
        status=status,
        cursor='{"at":{"offset":50},"v":1}',
        attempt_count=2,
        list_page_count=4,
        fetched_count=150,
        new_count=10,
        updated_count=5,
        detail_request_count=6,
        detail_failure_count=1,
        started_at=NOW - timedelta(minutes=5),
    )
    if status is CycleStatus.RUNNING:
        return replace(cycle, lease_token=TOKEN, lease_until=LATER, lease_owner="worker")
    return cycle


def work(
    pages: int = 1, *, details: int = 0, failures: int = 0, total: int | None = None
) -> SliceWork:
    """A slice's work that sent ``pages`` list and ``details`` detail requests."""
    return SliceWork(
        list_page_count=pages,
        detail_request_count=details,
        detail_failure_count=failures,
        stated_total=total,
    )


def slice_end(cycle: Cycle) -> Cycle:
    """A slice with more to do."""
    return cycle.record_slice(Fetched(work(), NEXT, False), StoredCounts(), TOKEN, NOW)


def slice_complete(cycle: Cycle) -> Cycle:
    """A slice that reached the end."""
    return cycle.record_slice(Fetched(work(), None, True), StoredCounts(), TOKEN, NOW)


def slice_exhausted(cycle: Cycle) -> Cycle:
    """A slice that used up the day."""
    outcome = Fetched(work(), NEXT, False, CollectionBudgetLimit.LIST_PAGES)
    return cycle.record_slice(outcome, StoredCounts(), TOKEN, NOW)


def slice_failed(cycle: Cycle) -> Cycle:
    """A slice whose list request failed."""
    return cycle.record_slice(Failed(work(), FAILURE), StoredCounts(), TOKEN, NOW)

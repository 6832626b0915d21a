"""Slices as a platform would have delivered them, for tests of what the store keeps."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.posting import DetailState, ListedPosting, PostingFields
from collection_pipeline.domain.slices import (
    Failed,
    Fetched,
    SightedPosting,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.slice_end import AppliedCollectionSlice, StoredSlice
from collection_pipeline_tests.kit.database import Store

NEXT = Cursor({"offset": 100})
FAILURE = CollectionFailure(CollectionFailureReason.HTTP_5XX, "status 503")


def sighted(ids: Iterable[str], version: str = "a", **fields: Any) -> list[SightedPosting]:
    """List rows; another ``version`` is another signature, ``fields`` are those of a posting."""
    return [
        SightedPosting(
            ListedPosting.of(
                one,
                PostingFields(**{"title": f"title {version}", **fields}),
                f"1:{version}",
                f'{{"id": "{one}"}}',
            ),
            position,
            known=None,
            wants_detail=False,
        )
        for position, one in enumerate(ids)
    ]


def work_of(ids: Iterable[str] = (), pages: int = 1, **more: Any) -> SliceWork:
    """What ``pages`` list requests brought."""
    version = more.pop("version", "a")
    return replace(SliceWork(postings=sighted(ids, version), list_page_count=pages), **more)


def unfinished(work: SliceWork) -> Fetched:
    """A slice after which the list goes on."""
    return Fetched(work, NEXT, is_complete=False)


def complete(work: SliceWork) -> Fetched:
    """A slice that reached the end."""
    return Fetched(work, None, is_complete=True)


def exhausted(work: SliceWork) -> Fetched:
    """A slice that used up the day's pages."""
    return Fetched(work, NEXT, is_complete=False, exhausted=CollectionBudgetLimit.LIST_PAGES)


def failed(work: SliceWork) -> Failed:
    """A slice whose last list request failed."""
    return Failed(work, FAILURE)


def store_slice(
    store: Store,
    claimed: ClaimedCycle,
    outcome: SourceCollectionSliceOutcome,
    *,
    waiting: DetailState = DetailState.NONE,
    until: float | None = None,
    company_id: int | None = None,
) -> StoredSlice | None:
    """What a worker does at the end of a slice; ``None`` where it was stale."""
    applied = AppliedCollectionSlice(
        outcome, SliceAttempt(claimed.token, "worker", 1.5), waiting, company_id
    )
    return store.repository.apply_slice(claimed.cycle.id, claimed.cycle.run_date, applied, until)


def collect_day(
    store: Store, source_id: int, outcome: SourceCollectionSliceOutcome, **options: Any
) -> StoredSlice:
    """The day's cycle of a source, made, claimed and ended by one slice, at the store's time."""
    assert store.now is not None
    day = store.run(store.clock.today)
    store.add_cycle(source_id, run_date=day, next_eligible_at=store.now)
    stored = store_slice(store, store.claim(), outcome, **options)
    assert stored is not None
    return stored


def posting(store: Store, source_job_id: str) -> dict[str, Any]:
    """A posting's row by its id on the platform."""
    return store.row("SELECT * FROM job_postings WHERE source_job_id = :id", id=source_job_id)

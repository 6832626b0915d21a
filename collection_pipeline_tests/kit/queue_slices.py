"""Slices that hypothesis draws, as the model knows them and as a platform would deliver them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import strategies as st

from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.posting import (
    GonePosting,
    ListedPosting,
    PostingDetail,
    PostingFields,
)
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import (
    Failed,
    Fetched,
    SightedPosting,
    SliceWork,
    SourceCollectionSliceOutcome,
    TriedDetail,
)
from collection_pipeline_tests.kit.queue_rows import DETAIL_RESULTS, ListRow, SlicePlan

NEXT = Cursor({"offset": 100})
JOB_IDS = ("a", "b", "c", "d", "É")
"""The last differs from none of the others in a collation that folds accents and case."""
SIGNATURES = ("1:x", "1:x", "1:y", "2:x")
TITLES = ("title", "other title")
ENDS = (
    "complete",
    "complete",
    "complete",
    "complete",
    "more",
    "more",
    "budget",
    "failed",
    "empty",
    "stopped",
)


@st.composite
def row_sets(draw: st.DrawFn) -> tuple[ListRow, ...]:
    """Any subset of the ids: each is seen and unseen equally often."""
    present = draw(st.integers(1, 2 ** len(JOB_IDS) - 1))
    return tuple(
        ListRow(one, draw(st.sampled_from(SIGNATURES)), draw(st.sampled_from(TITLES)))
        for place, one in enumerate(JOB_IDS)
        if present >> place & 1
    )


limits = st.sampled_from([limit.value for limit in CollectionBudgetLimit])
failures = st.sampled_from([reason.value for reason in CollectionFailureReason])


@st.composite
def slice_plans(draw: st.DrawFn, kinds: Sequence[str] = ENDS) -> SlicePlan:
    """A slice in the ways in which one can end; details of its own rows only."""
    kind = draw(st.sampled_from(kinds))
    if kind == "stopped":
        return SlicePlan("more", pages=0)
    rows = () if kind == "empty" else draw(row_sets())
    tried = {
        row.id: draw(st.sampled_from(tuple(DETAIL_RESULTS)))
        for row in rows
        if draw(st.integers(0, 3)) == 0
    }
    doubts = draw(st.integers(0, 3)) == 0
    return SlicePlan(
        {"budget": "more", "empty": "complete"}.get(kind, kind),
        rows,
        pages=draw(st.integers(1, 2)),
        details=tuple(sorted(tried.items())),
        total=draw(st.integers(0, 9)) if doubts else None,
        tolerance=draw(st.sampled_from((0.0, 0.01, 0.6))),
        gap=draw(st.booleans()) if doubts else False,
        pause=draw(st.sampled_from((None, None, 400))) if kind == "more" else None,
        limit=draw(limits if kind == "budget" else st.none() | limits) if kind != "more" else None,
        reason=draw(failures),
    )


def outcome_of(plan: SlicePlan, now: datetime) -> SourceCollectionSliceOutcome:
    """The plan in the project's own words."""
    work = SliceWork(
        postings=[
            SightedPosting(
                ListedPosting.of(row.id, PostingFields(title=row.title), row.signature, "{}"),
                position,
                known=None,
                wants_detail=False,
            )
            for position, row in enumerate(plan.rows)
        ],
        details=[TriedDetail(job_id, _detail(result)) for job_id, result in plan.details],
        list_page_count=plan.pages,
        detail_request_count=len(plan.details),
        detail_failure_count=sum(result == "failed" for _, result in plan.details),
        progress=CollectionProgress(has_gap=True) if plan.gap else None,
        stated_total=plan.total,
    )
    if plan.end == "failed":
        return Failed(work, CollectionFailure(CollectionFailureReason(plan.reason), "in the plan"))
    return Fetched(
        work,
        None if plan.end == "complete" else NEXT,
        is_complete=plan.end == "complete",
        exhausted=None if plan.limit is None else CollectionBudgetLimit(plan.limit),
        resume_at=None if plan.pause is None else now + timedelta(seconds=plan.pause),
        total_tolerance=plan.tolerance,
    )


def _detail(result: str) -> PostingDetail | GonePosting | None:
    if result == "failed":
        return None
    return GonePosting() if result == "gone" else PostingDetail({}, "{}")

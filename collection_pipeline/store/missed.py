"""The missed/close delta: what a safe, complete cycle did not sight (R7, R17, R30, R32).

Only ``apply_missed_delta`` marks postings missed or closed, and it refuses every cycle for which
the safe close predicate does not hold.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, exists, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.posting import PostingStatus
from collection_pipeline.store.schema.cycles import seen_postings
from collection_pipeline.store.schema.postings import job_postings

MISSED_REASON = "MISSED"
CLOSED_REASON = "MISSED_OFTEN_ENOUGH"


class UnsafeDelta(RuntimeError):
    """A delta was asked for a cycle that may close nothing."""


@dataclass(frozen=True)
class MissedDelta:
    """How many postings were marked missed, and how many of the others were closed."""

    missed: int
    closed: int


def apply_missed_delta(
    connection: Connection,
    cycle: JobPostingCollectionCycle,
    close_after: int,
    now: datetime,
) -> MissedDelta:
    """Two set statements over the source's postings that ``cycle`` did not see.

    ``close_after``: safe complete cycles in a row without a sighting until a posting closes.
    """
    if not cycle.is_safe_to_apply_missed_delta:
        raise UnsafeDelta(f"cycle {cycle.id} is {cycle.status} and may close nothing")
    table = job_postings.c
    unseen = _unseen(cycle)
    closed = connection.execute(
        job_postings.update()
        .where(unseen, table.missed_count + 1 >= close_after)
        .values(
            status=PostingStatus.CLOSED.value,
            status_reason=CLOSED_REASON,
            missed_count=table.missed_count + 1,
            closed_at=now,
        )
    ).rowcount
    missed = connection.execute(
        job_postings.update()
        .where(unseen, table.missed_count + 1 < close_after)
        .values(
            status=PostingStatus.MISSED.value,
            status_reason=MISSED_REASON,
            missed_count=table.missed_count + 1,
        )
    ).rowcount
    return MissedDelta(missed, closed)


def _unseen(cycle: JobPostingCollectionCycle) -> ColumnElement[bool]:
    table = job_postings.c
    seen = exists(
        select(1)
        .select_from(seen_postings)
        .where(
            seen_postings.c.cycle_id == cycle.id,
            seen_postings.c.source_job_id == table.source_job_id,
        )
        .correlate(job_postings)
    )
    return and_(
        table.job_source_id == cycle.job_source_id,
        table.status.in_([PostingStatus.OPEN.value, PostingStatus.MISSED.value]),
        table.last_seen_run_date <= cycle.run_date,
        ~seen,
    )

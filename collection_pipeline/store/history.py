"""What an ended attempt or cycle leaves: slice row, runs row, health, drift (R19a, R30, R33).

``job_posting_collection_runs`` is a terminal projection for older readers; nothing decides by it
except R44. A row that an older system wrote for the day is left as it is.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.health import SourceHealth, health_mark
from collection_pipeline.domain.slices import SliceWork
from collection_pipeline.store.schema.cycles import runs, slices
from collection_pipeline.store.schema.postings import platform_drift_counts
from collection_pipeline.store.schema.sources import job_source_health


@dataclass(frozen=True)
class SliceAttempt:
    """Who worked a slice, and for how long (seconds)."""

    token: str
    worker: str
    seconds: float = 0.0
    dagster_run_id: str | None = None


def has_slice(connection: Connection, token: str) -> bool:
    """Whether the attempt with this token was stored by its worker (R19a).

    Decides an unknown COMMIT; the row that recovery leaves for an expired lease does not count.
    """
    statement = select(slices.c.id).where(
        slices.c.lease_token == token,
        func.coalesce(slices.c.reason, "") != CollectionFailureReason.LEASE_EXPIRED.value,
    )
    return connection.execute(statement).first() is not None


def add_slice(
    connection: Connection,
    attempt: SliceAttempt,
    ended: JobPostingCollectionCycle,
    work: SliceWork,
    counts: StoredCounts,
    now: datetime,
) -> None:
    """The one immutable row of an attempt, in the transaction that ends it."""
    interval = work.least_interval_seconds
    connection.execute(
        slices.insert().values(
            cycle_id=ended.id,
            job_source_id=ended.job_source_id,
            run_date=ended.run_date,
            lease_token=attempt.token,
            dagster_run_id=attempt.dagster_run_id,
            worker=attempt.worker,
            request_host=ended.request_host,
            outcome=ended.status.value,
            reason=ended.failure_reason or ended.budget_exhausted_reason,
            list_page_count=work.list_page_count,
            fetched_count=counts.new_to_cycle,
            new_count=counts.new,
            updated_count=counts.updated,
            detail_request_count=work.detail_request_count,
            detail_failure_count=work.detail_failure_count,
            rate_limited_count=work.rate_limited_count,
            seconds=attempt.seconds,
            seconds_waited=work.seconds_waited,
            least_interval_ms=None if interval is None else interval * 1000,
            created_at=now,
        )
    )


def add_run(connection: Connection, ended: JobPostingCollectionCycle) -> None:
    """The cycle's terminal row for older readers; exactly one a source and day."""
    statement = insert(runs).values(
        job_source_id=ended.job_source_id,
        run_date=ended.run_date,
        run_status="FAILED" if ended.status is CycleStatus.FAILED else "SUCCESS",
        fetched_count=ended.fetched_count,
        new_count=ended.new_count,
        updated_count=ended.updated_count,
        missed_count=ended.missed_count,
        closed_count=ended.closed_count,
        detail_failure_count=ended.detail_failure_count,
        failure_reason=ended.failure_reason,
        started_at=ended.started_at,
        finished_at=ended.finished_at,
    )
    connection.execute(statement.on_duplicate_key_update(id=runs.c.id))


def judge_health(
    connection: Connection, ended: JobPostingCollectionCycle, broken_after: int, now: datetime
) -> SourceHealth:
    """Update the source's health by the ended cycle; an older date never overwrites a newer one."""
    row = connection.execute(
        select(job_source_health)
        .where(job_source_health.c.job_source_id == ended.job_source_id)
        .with_for_update()
    ).one_or_none()
    before = (
        SourceHealth()
        if row is None
        else SourceHealth(row.abnormal_days, row.judged_date, row.broken_since)
    )
    mark = health_mark(
        ended.status, is_complete=ended.is_complete, fetched_count=ended.fetched_count
    )
    after = before.after(mark, ended.run_date, broken_after)
    if after != before or row is None:
        values = {
            "abnormal_days": after.abnormal_days,
            "judged_date": after.judged_date,
            "broken_since": after.broken_since,
            "updated_at": now,
        }
        statement = insert(job_source_health).values(job_source_id=ended.job_source_id, **values)
        connection.execute(statement.on_duplicate_key_update(**values))
    return after


def count_drift(
    connection: Connection, ended: JobPostingCollectionCycle, drift: Counter[str]
) -> None:
    """Add up rows whose field did not parse, by source, day and field."""
    if not drift:
        return
    statement = insert(platform_drift_counts).values(
        [
            {
                "job_source_id": ended.job_source_id,
                "run_date": ended.run_date,
                "field": field,
                "row_count": drift[field],
            }
            for field in sorted(drift)
        ]
    )
    connection.execute(
        statement.on_duplicate_key_update(
            row_count=platform_drift_counts.c.row_count + statement.inserted.row_count
        )
    )

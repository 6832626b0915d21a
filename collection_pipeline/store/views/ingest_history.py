"""Ingests of the library register as they ended, for checks and people (R50, R51)."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import Connection, RowMapping, select

from collection_pipeline.store.ingest_runs import IngestCounts, IngestStatus
from collection_pipeline.store.schema.libraries import ingest_runs


@dataclass(frozen=True)
class IngestRecord:
    """One row of ``ingest_runs``; instants are naive UTC."""

    run_id: int
    source: str
    trigger: str
    status: IngestStatus
    reason: str | None
    failure_kind: str | None
    deactivate_stale: bool
    allow_shrink: bool
    dagster_run_id: str | None
    started_at: datetime
    finished_at: datetime | None
    stated_total: int | None
    counts: IngestCounts


def newest_ingest(
    connection: Connection,
    statuses: Collection[IngestStatus] = tuple(IngestStatus),
    *,
    trigger: str | None = None,
    source: str | None = None,
) -> IngestRecord | None:
    """The newest run with one of ``statuses``, of that trigger and source where named."""
    asked = select(ingest_runs).where(
        ingest_runs.c.run_status.in_([status.value for status in statuses])
    )
    if trigger is not None:
        asked = asked.where(ingest_runs.c.trigger_kind == trigger)
    if source is not None:
        asked = asked.where(ingest_runs.c.source == source)
    newest = asked.order_by(ingest_runs.c.id.desc()).limit(1)
    row = connection.execute(newest).mappings().one_or_none()
    return None if row is None else _record(row)


def _record(row: RowMapping) -> IngestRecord:
    return IngestRecord(
        run_id=row["id"],
        source=row["source"],
        trigger=row["trigger_kind"],
        status=IngestStatus(row["run_status"]),
        reason=row["reason"],
        failure_kind=row["failure_kind"],
        deactivate_stale=bool(row["deactivate_stale"]),
        allow_shrink=bool(row["allow_shrink"]),
        dagster_run_id=row["dagster_run_id"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        stated_total=row["stated_total"],
        counts=IngestCounts(**{one.name: row[f"{one.name}_count"] for one in fields(IngestCounts)}),
    )

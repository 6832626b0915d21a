"""Plain reads of cycles and postings for people and monitors; no lock, every list bounded."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, select

from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.postings import job_postings

CYCLE_COLUMNS = (
    "id",
    "job_source_id",
    "run_date",
    "cycle_status",
    "continuation_cursor",
    "lease_token",
    "lease_until",
    "lease_owner",
    "next_eligible_at",
    "request_host",
    "attempt_count",
    "list_page_count",
    "fetched_count",
    "new_count",
    "updated_count",
    "missed_count",
    "closed_count",
    "detail_request_count",
    "detail_failure_count",
    "is_complete",
    "stated_total",
    "progress",
    "budget_exhausted_reason",
    "failure_reason",
    "failure_detail",
    "started_at",
    "finished_at",
)


def cycles_of(connection: Connection, run_date: date, limit: int = 100_000) -> list[dict[str, Any]]:
    """The day's cycles with their columns, by source."""
    statement = (
        select(*(cycles.c[name] for name in CYCLE_COLUMNS))
        .where(cycles.c.run_date == run_date)
        .order_by(cycles.c.job_source_id)
        .limit(limit)
    )
    return [
        {**row, "is_complete": bool(row["is_complete"])}
        for row in connection.execute(statement).mappings()
    ]


def postings_of(
    connection: Connection, job_source_id: int, limit: int = 1_000_000
) -> list[dict[str, Any]]:
    """A source's postings in the order in which they were first stored."""
    statement = (
        select(
            job_postings.c.source_job_id,
            job_postings.c.title,
            job_postings.c.status,
            job_postings.c.missed_count,
            job_postings.c.deadline_at,
            job_postings.c.deadline_kind,
            job_postings.c.detail_state,
        )
        .where(job_postings.c.job_source_id == job_source_id)
        .order_by(job_postings.c.id)
        .limit(limit)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]

"""What the budget report reads: plain reads of one day or one window at a time, never a lock.

Invariant: no statement grows with the history. A day's cycles are found by the index of run dates,
slices by that of their moment, and slices are added up in the database; 10,000 sources over four
weeks are 280,000 short rows, read as 28 answers.
"""

from datetime import date, datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from collection_pipeline.store.schema.cycles import cycles, slices
from collection_pipeline.store.schema.sources import job_sources


class SourceRow(NamedTuple):
    """A source with its own limits; ``None`` leaves the platform's in force."""

    job_source_id: int
    platform: str
    label: str
    active: bool
    own_list_pages: int | None
    own_postings: int | None
    own_detail_requests: int | None
    own_delay_ms: int | None


class CycleRow(NamedTuple):
    """One source on one day; ``changed`` counts its new and updated postings."""

    job_source_id: int
    cycle_status: str
    is_complete: bool
    list_pages: int
    postings: int
    detail_requests: int
    detail_failures: int
    changed: int
    stated_total: int | None
    limit: str | None
    failure: str | None


class SliceSums(NamedTuple):
    """What the slices of one source in one window waited for their turn, and how often 429 came."""

    job_source_id: int
    seconds_waited: float
    rate_limited: int


def source_rows(connection: Connection) -> list[SourceRow]:
    """Every source by id, switched off ones too: they may have worked in the period."""
    statement = select(
        job_sources.c.id,
        job_sources.c.platform,
        job_sources.c.label,
        job_sources.c.active,
        job_sources.c.daily_list_pages,
        job_sources.c.daily_postings,
        job_sources.c.daily_detail_requests,
        job_sources.c.min_delay_ms,
    ).order_by(job_sources.c.id)
    return [SourceRow(*row) for row in connection.execute(statement)]


def cycle_rows(connection: Connection, day: date) -> list[CycleRow]:
    """The day's cycles by source."""
    statement = (
        select(
            cycles.c.job_source_id,
            cycles.c.cycle_status,
            cycles.c.is_complete,
            cycles.c.list_page_count,
            cycles.c.fetched_count,
            cycles.c.detail_request_count,
            cycles.c.detail_failure_count,
            cycles.c.new_count + cycles.c.updated_count,
            cycles.c.stated_total,
            cycles.c.budget_exhausted_reason,
            cycles.c.failure_reason,
        )
        .where(cycles.c.run_date == day)
        .order_by(cycles.c.job_source_id)
    )
    return [CycleRow(*row) for row in connection.execute(statement)]


def slice_sums(
    connection: Connection, since: datetime, until: datetime, first: date, last: date
) -> list[SliceSums]:
    """Slices stored from ``since`` to before ``until`` (naive UTC), of run dates first to last."""
    statement = (
        select(
            slices.c.job_source_id,
            func.sum(slices.c.seconds_waited),
            func.sum(slices.c.rate_limited_count),
        )
        .where(
            slices.c.created_at >= since,
            slices.c.created_at < until,
            slices.c.run_date.between(first, last),
        )
        .group_by(slices.c.job_source_id)
    )
    return [
        SliceSums(source_id, float(waited), int(limited))
        for source_id, waited, limited in connection.execute(statement)
    ]

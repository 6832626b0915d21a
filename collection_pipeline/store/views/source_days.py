"""One source over its last days, for its page: cycles, older history, 09:00 states, postings.

Every read starts from the source's key and covers a stretch of days, so none grows with history;
counts of postings stop at ``MOST_COUNTED`` and say so.
"""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, RowMapping, and_, case, func, select

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.posting import PostingStatus
from collection_pipeline.store.schema.cycles import cycles, runs, slices
from collection_pipeline.store.schema.operations import sla_snapshot_items, sla_snapshots
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline.store.schema.sources import companies, job_source_health, job_sources
from collection_pipeline.store.views.cycle_facts import (
    CYCLE_FACTS,
    CycleFacts,
    SliceFacts,
    SourceFacts,
    cycle_facts,
    source_facts,
)

MOST_COUNTED = 20_000
"""How many postings of a state are looked at for a count."""
MOST_SLICES = 12
CYCLES_WITH_SLICES = 3


@dataclass(frozen=True)
class SourceCard:
    """A source with its search condition as stored (JSON text, perhaps broken) and its company."""

    facts: SourceFacts
    condition: str
    company: str | None


@dataclass(frozen=True)
class OlderRun:
    """A history row without a cycle: an older system ran the source that day (R44)."""

    run_status: str
    fetched: int
    reason: str | None


@dataclass(frozen=True)
class NotedState:
    """What a day's snapshot holds of the source; ``scheduled_at``: its cutoff, naive UTC (R36)."""

    scheduled_at: datetime
    status: CycleStatus
    is_complete: bool
    close_guarded: bool


@dataclass(frozen=True)
class SourceDay:
    """One day; everything is ``None`` on a day without a trace of the source."""

    run_date: date
    cycle: CycleFacts | None
    older: OlderRun | None
    at_cutoff: NotedState | None


@dataclass(frozen=True)
class PostingStanding:
    """Counts of a source's postings; ``is_capped``: at least so many, counting stopped (R32a)."""

    open: int
    unconfirmed: int
    deadline_passed: int
    missed: int
    is_capped: bool


def source_card(connection: Connection, source_id: int) -> SourceCard | None:
    """The source, or ``None`` where there is none with that id."""
    statement = (
        select(
            job_sources,
            job_source_health.c.abnormal_days,
            job_source_health.c.broken_since,
            companies.c.display_name,
        )
        .outerjoin(job_source_health, job_source_health.c.job_source_id == job_sources.c.id)
        .outerjoin(companies, companies.c.id == job_sources.c.company_id)
        .where(job_sources.c.id == source_id)
    )
    row = connection.execute(statement).mappings().one_or_none()
    if row is None:
        return None
    return SourceCard(source_facts(row), row["search_condition"], row["display_name"])


def source_days(
    connection: Connection, source_id: int, first: date, last: date
) -> dict[date, SourceDay]:
    """The days from ``first`` to ``last`` that left a trace, by run date."""
    own = _cycles(connection, source_id, first, last)
    older = _older_runs(connection, source_id, first, last)
    noted = _states_at_cutoff(connection, source_id, first, last)
    return {
        day: SourceDay(
            day, own.get(day), older.get(day) if day not in own else None, noted.get(day)
        )
        for day in sorted({*own, *older, *noted})
    }


def newest_slices(connection: Connection, cycle_ids: list[int]) -> list[SliceFacts]:
    """The newest attempts of the first few of ``cycle_ids`` (newest cycle first)."""
    if not cycle_ids:
        return []
    statement = (
        select(slices)
        # Forced: a source with few slices would let the newest slices of all be walked.
        .with_hint(slices, "FORCE INDEX (ix_collection_slices_cycle_id)")
        .where(slices.c.cycle_id.in_(cycle_ids[:CYCLES_WITH_SLICES]))
        .order_by(slices.c.id.desc())
        .limit(MOST_SLICES)
    )
    return [_slice_facts(row) for row in connection.execute(statement).mappings()]


def posting_standing(
    connection: Connection, source_id: int, unconfirmed_until: date, now: datetime
) -> PostingStanding:
    """How the source's postings stand.

    An open posting last sighted on ``unconfirmed_until`` or earlier is unconfirmed; ``now`` (naive
    UTC) decides whose deadline has passed.
    """
    table = job_postings.c
    looked_at = (
        select(table.last_seen_run_date, table.deadline_at)
        .where(table.job_source_id == source_id, table.status == PostingStatus.OPEN.value)
        .limit(MOST_COUNTED)
        .subquery()
    )
    missed = (
        select(table.id)
        .where(table.job_source_id == source_id, table.status == PostingStatus.MISSED.value)
        .limit(MOST_COUNTED)
        .subquery()
    )
    open_row = connection.execute(
        select(
            func.count().label("open"),
            func.sum(case((looked_at.c.last_seen_run_date <= unconfirmed_until, 1), else_=0)),
            func.sum(case((looked_at.c.deadline_at < now, 1), else_=0)),
            select(func.count()).select_from(missed).scalar_subquery(),
        ).select_from(looked_at)
    ).one()
    found, unconfirmed, passed, missing = (int(value or 0) for value in open_row)
    return PostingStanding(found, unconfirmed, passed, missing, MOST_COUNTED in (found, missing))


def _cycles(
    connection: Connection, source_id: int, first: date, last: date
) -> dict[date, CycleFacts]:
    statement = select(*CYCLE_FACTS).where(
        cycles.c.job_source_id == source_id, cycles.c.run_date.between(first, last)
    )
    found = (cycle_facts(row) for row in connection.execute(statement).mappings())
    return {cycle.run_date: cycle for cycle in found}


def _older_runs(
    connection: Connection, source_id: int, first: date, last: date
) -> dict[date, OlderRun]:
    statement = select(
        runs.c.run_date, runs.c.run_status, runs.c.fetched_count, runs.c.failure_reason
    ).where(runs.c.job_source_id == source_id, runs.c.run_date.between(first, last))
    return {
        row.run_date: OlderRun(row.run_status, row.fetched_count, row.failure_reason)
        for row in connection.execute(statement)
    }


def _states_at_cutoff(
    connection: Connection, source_id: int, first: date, last: date
) -> dict[date, NotedState]:
    item = sla_snapshot_items.c
    statement = (
        select(
            sla_snapshots.c.snapshot_date,
            sla_snapshots.c.scheduled_at,
            item.cycle_status,
            item.is_complete,
            item.close_guarded,
        )
        .join(
            sla_snapshot_items,
            and_(item.snapshot_id == sla_snapshots.c.id, item.job_source_id == source_id),
        )
        .where(sla_snapshots.c.snapshot_date.between(first, last))
    )
    return {
        row.snapshot_date: NotedState(
            row.scheduled_at,
            CycleStatus(row.cycle_status),
            bool(row.is_complete),
            bool(row.close_guarded),
        )
        for row in connection.execute(statement)
    }


def _slice_facts(row: RowMapping) -> SliceFacts:
    return SliceFacts(
        id=row["id"],
        run_date=row["run_date"],
        outcome=row["outcome"],
        reason=row["reason"],
        used=BudgetUse(row["list_page_count"], row["fetched_count"], row["detail_request_count"]),
        seconds=row["seconds"],
        seconds_waited=row["seconds_waited"],
        worker=row["worker"],
        dagster_run_id=row["dagster_run_id"],
        created_at=row["created_at"],
    )

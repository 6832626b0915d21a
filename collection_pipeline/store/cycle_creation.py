"""Cycles come into being: one per runnable source and day, idempotently (R35, I1)."""

from collections.abc import Collection
from datetime import date, datetime

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, literal, select
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.store.runnable import is_runnable
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.sources import job_sources

_EVERY_ROW = 2**63 - 1


def has_missing_cycles(connection: Connection, run_date: date, platforms: Collection[str]) -> bool:
    """Whether a runnable source has no cycle on ``run_date``: a plain read, no lock.

    Every tick and the sensor ask this, and nearly always all cycles are there: then it costs a
    look at each source and at its cycle. What makes a source runnable is asked only where one is
    missing.
    """
    # The limit bounds nothing: a derived table with one is made first, where the servers would
    # otherwise merge it and judge every source.
    without_cycle = (
        select(job_sources.c.id)
        .where(job_sources.c.active == 1, ~_has_cycle(run_date))
        .limit(_EVERY_ROW)
        .subquery("without_cycle")
    )
    statement = (
        select(job_sources.c.id)
        .join(without_cycle, without_cycle.c.id == job_sources.c.id)
        .where(is_runnable(run_date, platforms))
        .limit(1)
    )
    return connection.execute(statement).first() is not None


def create_missing_cycles(
    connection: Connection, run_date: date, platforms: Collection[str], now: datetime
) -> None:
    """One set statement; a cycle that another process made in the meantime is left as it is.

    A day that is over by ``now`` gets none any more (R16).
    """
    if run_date_of(now) != run_date:
        return
    rows = _missing(run_date, platforms).add_columns(
        literal(run_date),
        literal(CycleStatus.NOT_STARTED.value),
        literal(now),
        literal(now),
    )
    statement = insert(cycles).from_select(
        ["job_source_id", "run_date", "cycle_status", "created_at", "updated_at"],
        rows.order_by(job_sources.c.id),
    )
    connection.execute(statement.on_duplicate_key_update(job_source_id=cycles.c.job_source_id))


def create_cycle_if_absent(
    connection: Connection, job_source_id: int, run_date: date, now: datetime
) -> None:
    """One cycle for one source, whether or not it is runnable; the caller holds the gate."""
    statement = insert(cycles).values(
        job_source_id=job_source_id,
        run_date=run_date,
        cycle_status=CycleStatus.NOT_STARTED.value,
        created_at=now,
        updated_at=now,
    )
    connection.execute(statement.on_duplicate_key_update(job_source_id=cycles.c.job_source_id))


def _missing(run_date: date, platforms: Collection[str]) -> Select[tuple[int]]:
    return select(job_sources.c.id).where(
        and_(is_runnable(run_date, platforms), ~_has_cycle(run_date))
    )


def _has_cycle(run_date: date) -> ColumnElement[bool]:
    return exists(
        select(1)
        .select_from(cycles)
        .where(cycles.c.job_source_id == job_sources.c.id, cycles.c.run_date == run_date)
        .correlate(job_sources)
    )

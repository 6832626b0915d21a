"""What waits in the queue, by plain reads whose cost does not grow with the queue (mysql.md).

Every read of waiting cycles walks ``ix_cycles_ready_host`` from a known place. The index is forced:
left alone, both servers group by host over all due rows, and read a host's page through the index
without the host, which passes every other host's rows.
"""

from collections.abc import Collection, Iterator
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.runnable import is_runnable
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.sources import source_of_row

_BY_HOST = "FORCE INDEX (ix_cycles_ready_host)"

FIRST_READ_ROWS = 20
LONGEST_READ_ROWS = 1_000
"""A read doubles after a page of refused rows, so that many switched-off sources cost little."""


def waiting_hosts(connection: Connection, today: date) -> list[tuple[str, datetime]]:
    """Hosts with PENDING cycles of ``today``, each with the time at which its first is due.

    One read a host, since it jumps from each host to the next.
    """
    found: list[tuple[str, datetime]] = []
    while True:
        statement = _waiting(cycles.c.request_host, cycles.c.next_eligible_at, today=today)
        if found:
            statement = statement.where(cycles.c.request_host > found[-1][0])
        else:
            statement = statement.where(cycles.c.request_host.is_not(None))
        row = connection.execute(
            statement.order_by(cycles.c.request_host, cycles.c.next_eligible_at, cycles.c.id).limit(
                1
            )
        ).one_or_none()
        if row is None:
            return found
        found.append((row.request_host, row.next_eligible_at))


def leases_by_host(connection: Connection, now: datetime) -> dict[str, int]:
    """Live leases, read from the few RUNNING rows."""
    statement = (
        select(cycles.c.request_host, func.count())
        .where(cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until > now)
        .group_by(cycles.c.request_host)
    )
    return {str(row[0]): int(row[1]) for row in connection.execute(statement)}


def candidates(
    connection: Connection, host: str, today: date, due: datetime, platforms: Collection[str]
) -> Iterator[int]:
    """Ids of due cycles of runnable sources in queue order; refused rows are passed by key."""
    position: tuple[datetime, int] | None = None
    page_rows = FIRST_READ_ROWS
    while True:
        statement = _due_page(host, today, due, position).limit(page_rows)
        rows = connection.execute(statement).all()
        page_rows = min(page_rows * 2, LONGEST_READ_ROWS)
        if not rows:
            return
        position = (rows[-1].next_eligible_at, rows[-1].id)
        runnable = set(
            connection.execute(
                select(job_sources.c.id).where(
                    job_sources.c.id.in_([row.job_source_id for row in rows]),
                    is_runnable(today, platforms),
                )
            ).scalars()
        )
        busy = sources_running(connection, today)
        yield from (
            row.id
            for row in rows
            if row.job_source_id in runnable and row.job_source_id not in busy
        )


def _waiting(*columns: ColumnElement[Any], today: date) -> Select[Any]:
    return (
        select(*columns)
        .with_hint(cycles, _BY_HOST)
        .where(cycles.c.cycle_status == CycleStatus.PENDING.value, cycles.c.run_date == today)
    )


def _due_page(
    host: str, today: date, due: datetime, position: tuple[datetime, int] | None
) -> Select[Any]:
    statement = _waiting(
        cycles.c.id, cycles.c.job_source_id, cycles.c.next_eligible_at, today=today
    ).where(cycles.c.request_host == host, cycles.c.next_eligible_at <= due)
    if position is not None:
        eligible_at, cycle_id = position
        statement = statement.where(
            cycles.c.next_eligible_at >= eligible_at,
            or_(cycles.c.next_eligible_at > eligible_at, cycles.c.id > cycle_id),
        )
    return statement.order_by(cycles.c.next_eligible_at, cycles.c.id)


def sources_running(connection: Connection, today: date) -> set[int]:
    """Sources whose cycle of another date is still RUNNING (R5)."""
    return set(
        connection.execute(
            select(cycles.c.job_source_id).where(
                cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.run_date != today
            )
        ).scalars()
    )


def runnable_source(
    connection: Connection, cycle: JobPostingCollectionCycle, platforms: Collection[str]
) -> JobSource | None:
    """The source, when it is runnable and no cycle of it of another date is RUNNING."""
    if cycle.job_source_id in sources_running(connection, cycle.run_date):
        return None
    row = connection.execute(
        select(job_sources).where(
            job_sources.c.id == cycle.job_source_id, is_runnable(cycle.run_date, platforms)
        )
    ).one_or_none()
    return None if row is None else source_of_row(row)

"""What waits in the queue, by plain reads whose cost does not grow with the queue (mysql.md).

Every read of waiting cycles walks ``ix_cycles_ready_host`` from a known place. The index is forced:
left alone, both servers group by host over all due rows, and read a host's page through the index
without the host, which passes every other host's rows. Hosts come from the rows on which claims
wait for each other, since preparation makes a host's row before its first cycle waits.

Whether a source is runnable is a column of these reads and no condition of them: as a condition it
lets a server read all that ended today, or sort all that waits, before the first row. The
statements are built once, which takes longer than the server needs to answer them.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Date,
    Select,
    bindparam,
    exists,
    func,
    or_,
    select,
)

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.runnable import DISPATCH_FLAG, flag_is_on, is_runnable
from collection_pipeline.store.schema.cycles import cycles, host_claims, host_limits
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.sources import source_of_row

FIRST_READ_ROWS = 10
LONGEST_READ_ROWS = 1_000
"""A read grows fourfold after a page of refused rows: many switched-off sources cost few reads."""

_BY_HOST = "FORCE INDEX (ix_cycles_ready_host)"
_TODAY = bindparam("today", type_=Date)
_NOW = bindparam("now", type_=cycles.c.lease_until.type)
_RUNNING = cycles.alias("running")
_LIVE_LEASES = (
    select(_RUNNING.c.request_host, func.count().label("live"))
    .with_hint(_RUNNING, "FORCE INDEX (ix_cycles_recovery)")
    .where(_RUNNING.c.cycle_status == CycleStatus.RUNNING.value, _RUNNING.c.lease_until > _NOW)
    .group_by(_RUNNING.c.request_host)
)


@dataclass(frozen=True)
class WaitingHost:
    """A host, when its first PENDING cycle of the day is due, and how many live leases it has."""

    host: str
    first_due: datetime
    live_leases: int


@dataclass(frozen=True)
class RunnableSource:
    """A source that may be collected, and how many live leases the cycle's host has."""

    source: JobSource
    live_leases: int


def waiting_hosts(
    connection: Connection, today: date, now: datetime, longest_wait: timedelta
) -> list[WaitingHost]:
    """Hosts with PENDING cycles of ``today``, the longest waiting first.

    Without those whose next slot lies further ahead than ``longest_wait`` (R26). None with the
    dispatch flag off (R44).
    """
    values = {"today": today, "now": now, "latest": now + longest_wait}
    found = [
        WaitingHost(row.host, row.first_due, row.live)
        for row in connection.execute(_HOSTS, values)
        if row.first_due is not None
    ]
    return sorted(found, key=lambda one: (one.first_due, one.host))


def candidates(
    connection: Connection, host: str, today: date, due: datetime, platforms: Collection[str]
) -> Iterator[int]:
    """Ids of due cycles of runnable sources in queue order; refused rows are passed by key."""
    position: dict[str, object] = {}
    page_rows = FIRST_READ_ROWS
    while True:
        rows = connection.execute(
            _due_page(frozenset(platforms), is_first=not position),
            {"host": host, "today": today, "due": due, "rows": page_rows, **position},
        ).all()
        yield from (row.id for row in rows if row.may_run and not row.runs_elsewhere)
        if len(rows) < page_rows:
            return
        position = {"eligible_at": rows[-1].next_eligible_at, "last_id": rows[-1].id}
        page_rows = min(page_rows * 4, LONGEST_READ_ROWS)


def runnable_source(
    connection: Connection,
    cycle: JobPostingCollectionCycle,
    now: datetime,
    platforms: Collection[str],
) -> RunnableSource | None:
    """The source, when it is runnable and no cycle of it of another date is RUNNING (R5)."""
    row = connection.execute(
        _source_of_cycle(frozenset(platforms)),
        {
            "source": cycle.job_source_id,
            "today": cycle.run_date,
            "now": now,
            "host": cycle.request_host,
        },
    ).one_or_none()
    if row is None or not row.may_run or row.runs_elsewhere:
        return None
    return RunnableSource(source_of_row(row), row.live or 0)


def _first_due() -> ColumnElement[Any]:
    return (
        select(cycles.c.next_eligible_at)
        .with_hint(cycles, _BY_HOST)
        .where(
            cycles.c.cycle_status == CycleStatus.PENDING.value,
            cycles.c.run_date == _TODAY,
            cycles.c.request_host == host_claims.c.host,
        )
        # From the host on: by the time alone MySQL would sort all of the host's rows.
        .order_by(cycles.c.request_host, cycles.c.next_eligible_at, cycles.c.id)
        .limit(1)
        .correlate(host_claims)
        .scalar_subquery()
    )


def _hosts() -> Select[Any]:
    leases = _LIVE_LEASES.subquery("leases")
    joined = host_claims.outerjoin(host_limits, host_limits.c.host == host_claims.c.host).outerjoin(
        leases, leases.c.request_host == host_claims.c.host
    )
    return (
        select(
            host_claims.c.host,
            _first_due().label("first_due"),
            func.coalesce(leases.c.live, 0).label("live"),
        )
        .select_from(joined)
        .where(
            flag_is_on(DISPATCH_FLAG),
            or_(
                host_limits.c.next_allowed_at.is_(None),
                host_limits.c.next_allowed_at <= bindparam("latest"),
            ),
        )
    )


_HOSTS = _hosts()


def _runs_elsewhere(source: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether a cycle of another date of the source is RUNNING; looks at the few RUNNING rows."""
    other = cycles.alias("other")
    return exists(
        select(1)
        .select_from(other)
        .with_hint(other, "FORCE INDEX (ix_cycles_status_date_source)")
        .where(
            other.c.cycle_status == CycleStatus.RUNNING.value,
            other.c.job_source_id == source,
            other.c.run_date != _TODAY,
        )
        .correlate_except(other)
    )


@lru_cache
def _due_page(platforms: frozenset[str], *, is_first: bool) -> Select[Any]:
    statement = (
        select(
            cycles.c.id,
            cycles.c.next_eligible_at,
            is_runnable(_TODAY, platforms).label("may_run"),
            _runs_elsewhere(cycles.c.job_source_id).label("runs_elsewhere"),
        )
        .with_hint(cycles, _BY_HOST)
        .select_from(cycles.outerjoin(job_sources, job_sources.c.id == cycles.c.job_source_id))
        .where(
            cycles.c.cycle_status == CycleStatus.PENDING.value,
            cycles.c.run_date == _TODAY,
            cycles.c.request_host == bindparam("host"),
            cycles.c.next_eligible_at <= bindparam("due"),
        )
    )
    if not is_first:
        eligible_at = bindparam("eligible_at", type_=cycles.c.next_eligible_at.type)
        statement = statement.where(
            cycles.c.next_eligible_at >= eligible_at,
            or_(cycles.c.next_eligible_at > eligible_at, cycles.c.id > bindparam("last_id")),
        )
    return statement.order_by(cycles.c.next_eligible_at, cycles.c.id).limit(bindparam("rows"))


@lru_cache
def _source_of_cycle(platforms: frozenset[str]) -> Select[Any]:
    leases = _LIVE_LEASES.where(_RUNNING.c.request_host == bindparam("host")).subquery("leases")
    return select(
        job_sources,
        is_runnable(_TODAY, platforms).label("may_run"),
        _runs_elsewhere(job_sources.c.id).label("runs_elsewhere"),
        select(leases.c.live).scalar_subquery().label("live"),
    ).where(job_sources.c.id == bindparam("source"))

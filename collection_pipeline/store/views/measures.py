"""What monitors ask of the queue; every read is bounded by today's work or by the sources.

None of them grows with the history: each walks an index from today's beginning, or looks once at
each source, host or slice of today.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, func, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.store.due_work import candidates, waiting_hosts
from collection_pipeline.store.schema.cycles import cycles, slices
from collection_pipeline.store.schema.operations import collection_ticks, notification_outbox
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline.store.schema.sources import job_source_health, job_sources

HELD_BACK = timedelta(seconds=60)
"""A host whose next moment lies further ahead was told to wait; its cycles are not due."""
MOST_UNCONFIRMED_SOURCES = 50


@dataclass(frozen=True)
class HostWaits:
    """What today's slices of one host waited for their turn, and how often it said 429."""

    seconds_waited: float
    rate_limited: int


@dataclass(frozen=True)
class MostUsed:
    """The most that a cycle of today has used, among sources with the same limits.

    The limits are a source's own; ``None`` leaves the platform's in force.
    """

    platform: str
    daily_list_pages: int | None
    daily_postings: int | None
    daily_detail_requests: int | None
    list_pages: int
    postings: int
    detail_requests: int


@dataclass(frozen=True)
class OutboxCounts:
    """Notifications not delivered: still tried, and given up."""

    waiting: int
    expired: int
    oldest_waiting: datetime | None


@dataclass(frozen=True)
class Unconfirmed:
    """A source's open postings, and those that no cycle has confirmed lately (R32a)."""

    job_source_id: int
    unconfirmed: int
    open: int


def oldest_due_since(
    connection: Connection,
    now: datetime,
    platforms: Collection[str],
    held_back: timedelta = HELD_BACK,
) -> datetime | None:
    """Since when the longest waiting claimable cycle has been due; ``None``: nothing is due.

    One look a host, and past the rows of sources that are not runnable.
    """
    today = run_date_of(now)
    first = [
        next(candidates(connection, one.host, today, now, platforms), None)
        for one in waiting_hosts(connection, today, now, held_back)
        if one.first_due <= now
    ]
    ids = [cycle_id for cycle_id in first if cycle_id is not None]
    if not ids:
        return None
    statement = select(func.min(cycles.c.next_eligible_at)).where(cycles.c.id.in_(ids))
    found: datetime | None = connection.execute(statement).scalar_one()
    return found


def earliest_lease_end(connection: Connection) -> datetime | None:
    """When the lease ends that ends first; ``None``: no cycle is RUNNING."""
    statement = (
        select(cycles.c.lease_until)
        .where(
            cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until.is_not(None)
        )
        .order_by(cycles.c.lease_until)
        .limit(1)
    )
    found: datetime | None = connection.execute(statement).scalar_one_or_none()
    return found


def last_tick_at(connection: Connection) -> datetime | None:
    """When the newest tick began."""
    statement = (
        select(collection_ticks.c.started_at)
        .order_by(collection_ticks.c.started_at.desc())
        .limit(1)
    )
    found: datetime | None = connection.execute(statement).scalar_one_or_none()
    return found


def fence_rejections(connection: Connection, since: datetime) -> int:
    """Slices whose result was refused, by the ticks that began since then (R14)."""
    statement = select(func.coalesce(func.sum(collection_ticks.c.lost_count), 0)).where(
        collection_ticks.c.started_at >= since
    )
    return int(connection.execute(statement).scalar_one())


def waits_by_host(connection: Connection, since: datetime) -> dict[str, HostWaits]:
    """What the slices stored since then waited, by host."""
    statement = (
        select(
            slices.c.request_host,
            func.sum(slices.c.seconds_waited),
            func.sum(slices.c.rate_limited_count),
        )
        .where(slices.c.created_at >= since, slices.c.request_host.is_not(None))
        .group_by(slices.c.request_host)
    )
    return {
        host: HostWaits(float(waited), int(limited))
        for host, waited, limited in connection.execute(statement)
    }


def most_used(connection: Connection, day: date) -> list[MostUsed]:
    """The greatest use of the day, by platform and by the sources' own limits."""
    own = (
        job_sources.c.platform,
        job_sources.c.daily_list_pages,
        job_sources.c.daily_postings,
        job_sources.c.daily_detail_requests,
    )
    statement = (
        select(
            *own,
            func.max(cycles.c.list_page_count).label("list_pages"),
            func.max(cycles.c.fetched_count).label("postings"),
            func.max(cycles.c.detail_request_count).label("detail_requests"),
        )
        .select_from(cycles.join(job_sources, job_sources.c.id == cycles.c.job_source_id))
        .where(cycles.c.run_date == day)
        .group_by(*own)
    )
    return [MostUsed(**row) for row in connection.execute(statement).mappings()]


def outbox_counts(connection: Connection) -> OutboxCounts:
    """Notifications that were not delivered yet, or not in time."""
    statement = (
        select(
            notification_outbox.c.state,
            func.count().label("rows"),
            func.min(notification_outbox.c.created_at).label("oldest"),
        )
        .where(notification_outbox.c.state.in_(["WAITING", "EXPIRED"]))
        .group_by(notification_outbox.c.state)
    )
    rows = {row["state"]: dict(row) for row in connection.execute(statement).mappings()}
    waiting, expired = rows.get("WAITING", {}), rows.get("EXPIRED", {})
    return OutboxCounts(waiting.get("rows", 0), expired.get("rows", 0), waiting.get("oldest"))


def broken_sources(connection: Connection) -> int:
    """Active sources that health says are broken (R33)."""
    statement = (
        select(func.count())
        .select_from(
            job_source_health.join(
                job_sources, job_sources.c.id == job_source_health.c.job_source_id
            )
        )
        .where(job_source_health.c.broken_since.is_not(None), job_sources.c.active == 1)
    )
    return connection.execute(statement).scalar_one()


def unconfirmed_postings(
    connection: Connection, last_confirmed: date, *, active_only: bool = False
) -> list[Unconfirmed]:
    """Sources with most open postings last sighted on ``last_confirmed`` or earlier (R32a).

    Read from index entries alone: the unconfirmed of every source, all open ones of few.
    """
    table = job_postings.c
    is_open = table.status == "OPEN"
    unconfirmed = func.count().label("unconfirmed")
    statement = (
        select(job_sources.c.id, unconfirmed)
        .select_from(job_sources.join(job_postings, table.job_source_id == job_sources.c.id))
        .where(is_open, table.last_seen_run_date <= last_confirmed)
        .group_by(job_sources.c.id)
        .order_by(unconfirmed.desc(), job_sources.c.id)
        .limit(MOST_UNCONFIRMED_SOURCES)
    )
    if active_only:
        statement = statement.where(job_sources.c.active == 1)
    worst = {source_id: count for source_id, count in connection.execute(statement)}
    if not worst:
        return []
    counted = (
        select(table.job_source_id, func.count())
        .where(table.job_source_id.in_(sorted(worst)), is_open)
        .group_by(table.job_source_id)
    )
    found = {source_id: count for source_id, count in connection.execute(counted)}
    return [Unconfirmed(source, count, found[source]) for source, count in worst.items()]

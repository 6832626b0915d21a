"""Whether ticks have stopped although there is work: the question behind "is the daemon alive".

An idle minute starts no tick, so the age of the last one alone says nothing. Ticks have stopped
where something has waited for longer than a bound that only a tick can do, and nothing has been
heard of any tick for as long: none began or ended, no slice was stored.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Select, exists, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.settings import Settings
from collection_pipeline.store.runnable import is_runnable, is_switched_on
from collection_pipeline.store.schema.cycles import cycles, slices
from collection_pipeline.store.schema.operations import collection_ticks, sla_snapshots
from collection_pipeline.store.schema.sources import feature_flags, job_sources
from collection_pipeline.store.views.measures import oldest_due_since

NEWEST_TICKS = 20
STALE_SECONDS = 300.0
SLICE_GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class TickActivity:
    """``last_tick_at``: when the newest tick began; ``last_sign_at``: when one was last at work."""

    last_tick_at: datetime | None
    last_sign_at: datetime | None


@dataclass(frozen=True)
class TickStanding:
    """The newest tick's age, ``None`` where none ever began, and what waits for one."""

    seconds_since_tick: float | None
    overdue: str | None


def stale_after_seconds(settings: Settings) -> float:
    """How long no sign of a tick is normal: at least as long as a slice may take."""
    slice_seconds = settings["SLICE_MAX_SECONDS"] + settings["REQUEST_DEADLINE_SECONDS"]
    return max(STALE_SECONDS, slice_seconds + SLICE_GRACE_SECONDS)


def tick_standing(
    connection: Connection, now: datetime, settings: Settings, platforms: Collection[str]
) -> TickStanding:
    """Whether ticks have stopped although there is work. ``now`` is naive UTC."""
    activity, bound = tick_activity(connection), timedelta(seconds=stale_after_seconds(settings))
    since, overdue = activity.last_sign_at, None
    if since is None or now - since > bound:
        tolerance = timedelta(seconds=settings["SLA_CAPTURE_TOLERANCE_SECONDS"])
        overdue = overdue_work(connection, now, bound, tolerance, platforms)
    began = activity.last_tick_at
    age = None if began is None else round(max(0.0, (now - began).total_seconds()), 3)
    return TickStanding(age, overdue)


def tick_activity(connection: Connection) -> TickActivity:
    """The newest signs of ticks, from the ends of two indexes."""
    ticks = connection.execute(
        select(collection_ticks.c.started_at, collection_ticks.c.finished_at)
        .order_by(collection_ticks.c.started_at.desc())
        .limit(NEWEST_TICKS)
    ).all()
    stored: datetime | None = connection.execute(
        select(slices.c.created_at).order_by(slices.c.created_at.desc()).limit(1)
    ).scalar_one_or_none()
    signs = [moment for row in ticks for moment in row if moment is not None]
    signs += [] if stored is None else [stored]
    return TickActivity(ticks[0].started_at if ticks else None, max(signs, default=None))


def overdue_work(
    connection: Connection,
    now: datetime,
    bound: timedelta,
    tolerance: timedelta,
    platforms: Collection[str],
) -> str | None:
    """What has waited for a tick for longer than ``bound``, in words; ``None`` for nothing.

    ``tolerance``: how long after its cutoff a snapshot is nobody's but the capture's. A switch that
    was moved within the bound may just have made work due, so then nothing is overdue.
    """
    then, today = now - bound, run_date_of(now)
    if _any(connection, select(feature_flags.c.name).where(feature_flags.c.changed_at > then)):
        return None
    if _any(connection, select(job_sources.c.id).where(job_sources.c.updated_at > then)):
        return None
    if utc_of_kst(today) > then:
        return None
    due = oldest_due_since(connection, now, platforms, held_back=-bound)
    if due is not None and due <= then:
        return "cycles are due"
    for words, statement in (
        (
            "leases have expired",
            select(cycles.c.id).where(
                cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until <= then
            ),
        ),
        (
            "today's snapshot header is missing",
            select(1).where(~exists().where(sla_snapshots.c.snapshot_date == today)),
        ),
        (
            "a snapshot waits for its end",
            select(sla_snapshots.c.id).where(
                sla_snapshots.c.capture_status == "PENDING",
                sla_snapshots.c.scheduled_at <= then - tolerance,
            ),
        ),
        (
            "cycles wait to be prepared",
            select(cycles.c.id)
            .join(job_sources, job_sources.c.id == cycles.c.job_source_id)
            .where(
                cycles.c.cycle_status == CycleStatus.NOT_STARTED.value,
                cycles.c.run_date == today,
                cycles.c.created_at <= then,
                is_switched_on(today),
            ),
        ),
        (
            "today's cycles are missing",
            select(job_sources.c.id).where(
                is_runnable(today, platforms),
                ~exists()
                .where(cycles.c.job_source_id == job_sources.c.id, cycles.c.run_date == today)
                .correlate(job_sources),
            ),
        ),
    ):
        if _any(connection, statement):
            return words
    return None


def _any(connection: Connection, statement: Select[tuple[object]]) -> bool:
    return connection.execute(statement.limit(1)).first() is not None

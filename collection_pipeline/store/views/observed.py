"""What the observation checks look at beyond the measures; every read walks an index (R45).

Bounded by the leases in force, by the sources, by a day's slices or by a week's messages.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, and_, exists, func, or_, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.notification import MORNING_REPORT, SNAPSHOT_MISSED
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.source import SourceType
from collection_pipeline.store.schema.cycles import cycles, slices
from collection_pipeline.store.schema.operations import notification_outbox, sla_snapshots
from collection_pipeline.store.schema.sources import job_source_health, job_sources

MOST_SHOWN = 100


@dataclass(frozen=True)
class StuckLeases:
    """RUNNING cycles whose lease ended before a moment, and when the first of them ended."""

    count: int
    earliest_end: datetime | None


@dataclass(frozen=True)
class KeptInterval:
    """The least time between two requests of one slice, among sources with the same wish."""

    host: str
    platform: str
    min_delay_ms: int | None
    least_ms: float
    slices: int


def stuck_leases(connection: Connection, ended_before: datetime) -> StuckLeases:
    """Leases that recovery should have ended."""
    statement = select(func.count(), func.min(cycles.c.lease_until)).where(
        cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until <= ended_before
    )
    count, earliest = connection.execute(statement).one()
    return StuckLeases(count, earliest)


def exhausted_boards(connection: Connection, today: date) -> list[int]:
    """Active company-bound sources whose newest end, of today or yesterday, was by budget (R45).

    A SUCCESS of today puts yesterday right. The first ``MOST_SHOWN`` ids.
    """
    better = cycles.alias("better")
    put_right = (
        exists()
        .where(
            better.c.job_source_id == cycles.c.job_source_id,
            better.c.run_date == today,
            better.c.cycle_status == CycleStatus.SUCCESS.value,
        )
        .correlate(cycles)
    )
    statement = (
        select(cycles.c.job_source_id)
        .distinct()
        .select_from(cycles.join(job_sources, job_sources.c.id == cycles.c.job_source_id))
        .where(
            cycles.c.cycle_status == CycleStatus.BUDGET_EXHAUSTED.value,
            cycles.c.run_date.in_([today - timedelta(days=1), today]),
            job_sources.c.source_type == SourceType.COMPANY_BOUND.value,
            job_sources.c.active == 1,
            ~put_right,
        )
        .order_by(cycles.c.job_source_id)
        .limit(MOST_SHOWN)
    )
    return list(connection.execute(statement).scalars())


def kept_intervals(connection: Connection, since: datetime) -> list[KeptInterval]:
    """The least intervals of the slices stored since then, by host and by what their source wants.

    Slices from before their source was changed are left out: another delay may have held then.
    """
    statement = (
        select(
            slices.c.request_host,
            job_sources.c.platform,
            job_sources.c.min_delay_ms,
            func.min(slices.c.least_interval_ms),
            func.count(),
        )
        .select_from(slices.join(job_sources, job_sources.c.id == slices.c.job_source_id))
        .where(
            slices.c.created_at >= since,
            slices.c.least_interval_ms.is_not(None),
            slices.c.request_host.is_not(None),
            job_sources.c.updated_at <= slices.c.created_at,
        )
        .group_by(slices.c.request_host, job_sources.c.platform, job_sources.c.min_delay_ms)
    )
    return [KeptInterval(*row) for row in connection.execute(statement)]


def told_too_early(connection: Connection, first_day: date) -> list[date]:
    """Days of which a morning message was made before their header was final (R40, R45)."""
    told, header = notification_outbox.c, sla_snapshots.c
    is_final = or_(
        and_(
            told.kind == MORNING_REPORT,
            header.capture_status == CaptureStatus.CAPTURED.value,
            header.captured_at <= told.created_at,
        ),
        and_(told.kind == SNAPSHOT_MISSED, header.capture_status == CaptureStatus.MISSED.value),
    )
    statement = (
        select(told.notification_date)
        .distinct()
        .select_from(
            notification_outbox.outerjoin(
                sla_snapshots, header.snapshot_date == told.notification_date
            )
        )
        .where(
            told.notification_date >= first_day,
            told.kind.in_([MORNING_REPORT, SNAPSHOT_MISSED]),
            or_(header.id.is_(None), ~is_final),
        )
        .order_by(told.notification_date)
        .limit(MOST_SHOWN)
    )
    return list(connection.execute(statement).scalars())


def broken_source_ids(connection: Connection) -> list[int]:
    """Active sources that are broken (R33), the first ``MOST_SHOWN``."""
    statement = (
        select(job_source_health.c.job_source_id)
        .select_from(
            job_source_health.join(
                job_sources, job_sources.c.id == job_source_health.c.job_source_id
            )
        )
        .where(job_source_health.c.broken_since.is_not(None), job_sources.c.active == 1)
        .order_by(job_source_health.c.job_source_id)
        .limit(MOST_SHOWN)
    )
    return list(connection.execute(statement).scalars())

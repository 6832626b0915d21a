"""Headers that nobody can capture any more become MISSED or NOT_APPLICABLE (R37, R38, R39).

The decision is made under the exclusive gate, so that it never overtakes a capture that is just
committing. Nothing is rebuilt: no item is ever written here. NOT_APPLICABLE is said only where what
the database still knows proves that nothing was to be captured at the cutoff.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, text

from collection_pipeline.domain.missed_snapshot import MissEvidence, miss_reason
from collection_pipeline.domain.snapshot import CaptureStatus, CaptureWindow, SnapshotHeader
from collection_pipeline.domain.source import SourceType
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.schema.cycles import cycles, runs
from collection_pipeline.store.schema.operations import collection_ticks
from collection_pipeline.store.schema.sources import feature_flag_changes, job_sources
from collection_pipeline.store.snapshot_capture import (
    FLAG_OFF_REASON,
    NO_SOURCE_REASON,
    make_final,
)

TICKS_BEFORE = timedelta(minutes=10)
"""A tick that started so long before the cutoff still says that the daemon was at work."""
LONGEST_UPTIME_SECONDS = 100 * 365 * 86_400


def close_without_capture(
    connection: Connection,
    header: SnapshotHeader,
    window: CaptureWindow,
    platforms: Collection[str],
    clock: DatabaseClock,
) -> SnapshotHeader:
    """Make a PENDING header final without items; the caller holds its gate exclusively."""
    inapplicable = _why_not_applicable(connection, header, platforms)
    if inapplicable is not None:
        return make_final(connection, header, CaptureStatus.NOT_APPLICABLE, reason=inapplicable)
    reason = miss_reason(window, _evidence(connection, header, window, clock))
    return make_final(connection, header, CaptureStatus.MISSED, reason=reason)


def _why_not_applicable(
    connection: Connection, header: SnapshotHeader, platforms: Collection[str]
) -> str | None:
    if not _was_on(connection, DISPATCH_FLAG, header.scheduled_at):
        return FLAG_OFF_REASON
    if not _had_source(connection, header, platforms):
        return NO_SOURCE_REASON
    return None


def _was_on(connection: Connection, flag: str, instant: datetime) -> bool:
    """The flag's last change up to ``instant``; never touched means off (R44)."""
    statement = (
        select(feature_flag_changes.c.enabled)
        .where(feature_flag_changes.c.name == flag, feature_flag_changes.c.changed_at <= instant)
        .order_by(feature_flag_changes.c.changed_at.desc(), feature_flag_changes.c.id.desc())
        .limit(1)
    )
    return bool(connection.execute(statement).scalar_one_or_none())


def _had_source(connection: Connection, header: SnapshotHeader, platforms: Collection[str]) -> bool:
    """Whether a source may have been runnable at the cutoff; in doubt, yes.

    A source that is switched off now and was not touched since the cutoff was off then.
    """
    cutoff = header.scheduled_at
    may_have_been_active = or_(job_sources.c.active == 1, job_sources.c.updated_at > cutoff)
    conditions = [
        job_sources.c.created_at <= cutoff,
        may_have_been_active,
        job_sources.c.platform.in_(sorted(platforms)),
        ~_had_run_elsewhere(header),
    ]
    if not _was_on(connection, AGGREGATOR_FLAG, cutoff):
        conditions.append(job_sources.c.source_type != SourceType.AGGREGATOR.value)
    statement = select(job_sources.c.id).where(and_(*conditions)).limit(1)
    return connection.execute(statement).first() is not None


def _had_run_elsewhere(header: SnapshotHeader) -> ColumnElement[bool]:
    """An older system's run of that day, there before the cutoff and without a cycle (R44)."""
    ran = exists(
        select(1)
        .select_from(runs)
        .where(
            runs.c.job_source_id == job_sources.c.id,
            runs.c.run_date == header.snapshot_date,
            runs.c.created_at <= header.scheduled_at,
        )
        .correlate(job_sources)
    )
    has_cycle = exists(
        select(1)
        .select_from(cycles)
        .where(
            cycles.c.job_source_id == job_sources.c.id, cycles.c.run_date == header.snapshot_date
        )
        .correlate(job_sources)
    )
    return and_(ran, ~has_cycle)


def _evidence(
    connection: Connection, header: SnapshotHeader, window: CaptureWindow, clock: DatabaseClock
) -> MissEvidence:
    cutoff = header.scheduled_at
    return MissEvidence(
        CaptureAttempts().of_day(connection, header.snapshot_date),
        _server_start(connection, clock),
        _tick(connection, cutoff - TICKS_BEFORE, cutoff),
        _tick(connection, cutoff, cutoff + timedelta(seconds=window.tolerance_seconds)),
    )


def _tick(connection: Connection, since: datetime, until: datetime) -> datetime | None:
    """The start of the last tick between two instants."""
    started_at = collection_ticks.c.started_at
    statement = select(func.max(started_at)).where(started_at >= since, started_at <= until)
    found: datetime | None = connection.execute(statement).scalar_one()
    return found


def _server_start(connection: Connection, clock: DatabaseClock) -> datetime | None:
    """When the database server started; ``None`` while time is simulated or went back."""
    if clock.is_simulated(connection):
        return None
    row = connection.execute(text("SHOW GLOBAL STATUS LIKE 'Uptime'")).one()
    seconds = int(row[1])
    if seconds > LONGEST_UPTIME_SECONDS:
        # MariaDB counts by the session's clock: one set back before the start gives a huge number.
        return None
    return clock.now(connection) - timedelta(seconds=seconds)

"""What the release's standing is judged by: flag, older runs, leases, the last days (R44).

Every read is bounded by the days looked at and walks an index; nothing is locked.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from collection_pipeline.domain.cycle_status import TERMINAL_STATUSES, CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.release import (
    DAYS_BEFORE_CONTRACT,
    DispatchSwitch,
    OlderRuns,
    ReleaseDay,
    ReleaseFacts,
)
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.source import SourceType
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.runnable import DISPATCH_FLAG
from collection_pipeline.store.schema.cycles import cycles, runs
from collection_pipeline.store.schema.operations import sla_snapshots
from collection_pipeline.store.schema.sources import feature_flag_changes, job_sources


def release_facts(connection: Connection, today: date) -> ReleaseFacts:
    """The facts of today and of the 30 days before."""
    first = today - timedelta(days=DAYS_BEFORE_CONTRACT)
    older = _older_runs(connection, first, today)
    return ReleaseFacts(
        today=today,
        dispatch=_dispatch_switch(connection),
        begun_today=_count(
            connection, cycles.c.run_date == today, cycles.c.started_at.is_not(None)
        ),
        running=_count(connection, cycles.c.cycle_status == CycleStatus.RUNNING.value),
        older=older,
        older_written_at=_written_at(connection, older[0].run_date) if older else None,
        days=_days(connection, first, today, older),
    )


def _dispatch_switch(connection: Connection) -> DispatchSwitch:
    (flag,) = [one for one in FeatureFlags().all(connection) if one.name == DISPATCH_FLAG]
    was_on = select(feature_flag_changes.c.id).where(
        feature_flag_changes.c.name == DISPATCH_FLAG, feature_flag_changes.c.enabled == 1
    )
    ever_on = connection.execute(was_on.limit(1)).first() is not None
    return DispatchSwitch(flag.enabled, flag.enabled or ever_on, flag.changed_by, flag.changed_at)


def _count(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    return connection.execute(
        select(func.count()).select_from(cycles).where(*conditions)
    ).scalar_one()


def _is_older_run() -> ColumnElement[bool]:
    """A history row that no cycle of ours left, as ``runnable`` sees it (R44)."""
    ended_here = exists(
        select(1)
        .select_from(cycles)
        .where(
            cycles.c.job_source_id == runs.c.job_source_id,
            cycles.c.run_date == runs.c.run_date,
            cycles.c.cycle_status.in_(sorted(TERMINAL_STATUSES)),
        )
        .correlate(runs)
    )
    return ~ended_here


def _older_runs(connection: Connection, first: date, last: date) -> tuple[OlderRuns, ...]:
    """By date, newest first, and source type."""
    statement = (
        select(runs.c.run_date, job_sources.c.source_type, func.count())
        .select_from(runs.outerjoin(job_sources, job_sources.c.id == runs.c.job_source_id))
        .where(runs.c.run_date.between(first, last), _is_older_run())
        .group_by(runs.c.run_date, job_sources.c.source_type)
        .order_by(runs.c.run_date.desc(), job_sources.c.source_type)
    )
    return tuple(OlderRuns(*row) for row in connection.execute(statement))


def _written_at(connection: Connection, run_date: date) -> datetime | None:
    statement = select(func.max(runs.c.created_at)).where(
        runs.c.run_date == run_date, _is_older_run()
    )
    written_at: datetime | None = connection.execute(statement).scalar_one()
    return written_at


def _days(
    connection: Connection, first: date, today: date, older: Iterable[OlderRuns]
) -> tuple[ReleaseDay, ...]:
    captured = _capture_statuses(connection, first, today)
    older_runs: Counter[date] = Counter()
    for one in older:
        older_runs[one.run_date] += one.count
    failed = _failed(connection, first, today)
    exhausted = _exhausted_boards(connection, first, today)
    dates = [today - timedelta(days=back) for back in range(1, (today - first).days + 1)]
    return tuple(
        ReleaseDay(
            day,
            captured.get(day, CaptureStatus.UNAVAILABLE),
            older_runs[day],
            failed[day, CollectionFailureReason.LEASE_EXPIRED.value],
            failed[day, CollectionFailureReason.INTERNAL.value],
            exhausted[day],
        )
        for day in dates
    )


def _capture_statuses(
    connection: Connection, first: date, today: date
) -> dict[date, CaptureStatus]:
    statement = select(sla_snapshots.c.snapshot_date, sla_snapshots.c.capture_status).where(
        sla_snapshots.c.snapshot_date >= first, sla_snapshots.c.snapshot_date < today
    )
    known = {status.value: status for status in CaptureStatus}
    return {
        day: known.get(status, CaptureStatus.PENDING)
        for day, status in connection.execute(statement)
    }


def _failed(connection: Connection, first: date, today: date) -> Counter[tuple[date, str]]:
    own = (CollectionFailureReason.LEASE_EXPIRED.value, CollectionFailureReason.INTERNAL.value)
    statement = (
        select(cycles.c.run_date, cycles.c.failure_reason, func.count())
        .where(_ended(CycleStatus.FAILED, first, today), cycles.c.failure_reason.in_(own))
        .group_by(cycles.c.run_date, cycles.c.failure_reason)
    )
    return Counter({(day, reason): n for day, reason, n in connection.execute(statement)})


def _exhausted_boards(connection: Connection, first: date, today: date) -> Counter[date]:
    statement = (
        select(cycles.c.run_date, func.count())
        .select_from(cycles.join(job_sources, job_sources.c.id == cycles.c.job_source_id))
        .where(
            _ended(CycleStatus.BUDGET_EXHAUSTED, first, today),
            job_sources.c.source_type == SourceType.COMPANY_BOUND.value,
        )
        .group_by(cycles.c.run_date)
    )
    return Counter({day: n for day, n in connection.execute(statement)})


def _ended(status: CycleStatus, first: date, today: date) -> ColumnElement[bool]:
    return and_(
        cycles.c.cycle_status == status.value,
        cycles.c.run_date >= first,
        cycles.c.run_date < today,
    )

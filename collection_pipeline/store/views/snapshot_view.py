"""What a reader is told of a day's 09:00 snapshot, with or without a header (R42).

CAPTURED: the items as they were captured and how many of them were late. PENDING: count 0 and no
items. MISSED, NOT_APPLICABLE, UNAVAILABLE: neither count nor items, never a later calculation.
"""

from dataclasses import dataclass
from datetime import date, datetime, time

from sqlalchemy import Connection, select

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus, SnapshotItem, late_count
from collection_pipeline.store.schema.operations import sla_snapshots
from collection_pipeline.store.snapshots import SlaSnapshots

CAPTURING = "CAPTURING"
"""Never committed by this release; a reader is told PENDING."""


@dataclass(frozen=True)
class SnapshotView:
    """Instants are naive UTC. ``snapshot_id`` is ``None`` where there is no header."""

    snapshot_id: int | None
    snapshot_date: date
    scheduled_at: datetime
    status: CaptureStatus
    captured_at: datetime | None = None
    miss_reason: str | None = None
    late_count: int | None = None
    items: tuple[SnapshotItem, ...] | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the day's snapshot is still to come: its items are absent, not none."""
        return self.status is CaptureStatus.PENDING


def snapshot_view(
    connection: Connection, day: date, now: datetime, cutoff: time, *, with_items: bool = True
) -> SnapshotView:
    """The snapshot of ``day``. ``now`` is naive UTC, ``cutoff`` a KST time.

    Without a header it is UNAVAILABLE, except for today before the cutoff: PENDING. ``items`` are
    ``None`` also where the caller does not want them.
    """
    row = connection.execute(
        select(sla_snapshots).where(sla_snapshots.c.snapshot_date == day)
    ).one_or_none()
    if row is None:
        return _without_header(day, now, cutoff)
    status = CaptureStatus.PENDING
    if row.capture_status != CAPTURING:
        status = CaptureStatus(row.capture_status)
    late, items = late_count(status, ()), None
    if status is CaptureStatus.CAPTURED:
        late = SlaSnapshots().late_count(connection, row.id)
        items = tuple(SlaSnapshots().items(connection, row.id)) if with_items else None
    return SnapshotView(
        row.id,
        row.snapshot_date,
        row.scheduled_at,
        status,
        row.captured_at,
        row.miss_reason,
        late,
        items,
    )


def _without_header(day: date, now: datetime, cutoff: time) -> SnapshotView:
    scheduled_at = utc_of_kst(day, cutoff)
    is_ahead = utc_of_kst(day) <= now < scheduled_at
    status = CaptureStatus.PENDING if is_ahead else CaptureStatus.UNAVAILABLE
    return SnapshotView(None, day, scheduled_at, status, late_count=late_count(status, ()))

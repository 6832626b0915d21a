"""Plain reads of snapshot headers and items; both are immutable once the header is final (R39)."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import (
    FINAL_STATUSES,
    LATE_STATUSES,
    CaptureStatus,
    SnapshotHeader,
    SnapshotItem,
)
from collection_pipeline.store.schema.operations import sla_snapshot_items, sla_snapshots


class SlaSnapshots:
    """Reads on a connection of the caller's transaction; takes no lock."""

    def header(self, connection: Connection, day: date) -> SnapshotHeader | None:
        """The day's header, or ``None`` where none was made."""
        statement = select(sla_snapshots).where(sla_snapshots.c.snapshot_date == day)
        row = connection.execute(statement).one_or_none()
        return None if row is None else header_of(row)

    def pending_scheduled_before(
        self, connection: Connection, instant: datetime
    ) -> list[SnapshotHeader]:
        """PENDING headers with an earlier cutoff, by day. ``instant`` is naive UTC."""
        statement = (
            select(sla_snapshots)
            .where(
                sla_snapshots.c.capture_status == CaptureStatus.PENDING.value,
                sla_snapshots.c.scheduled_at < instant,
            )
            .order_by(sla_snapshots.c.snapshot_date)
        )
        return [header_of(row) for row in connection.execute(statement)]

    def newest_until(self, connection: Connection, day: date) -> SnapshotHeader | None:
        """The newest header of ``day`` or of an earlier day; ``None`` before the first."""
        statement = (
            select(sla_snapshots)
            .where(sla_snapshots.c.snapshot_date <= day)
            .order_by(sla_snapshots.c.snapshot_date.desc())
            .limit(1)
        )
        row = connection.execute(statement).one_or_none()
        return None if row is None else header_of(row)

    def final_since(self, connection: Connection, first_day: date) -> list[SnapshotHeader]:
        """Headers of ``first_day`` and later that never change again, by day."""
        statement = (
            select(sla_snapshots)
            .where(
                sla_snapshots.c.snapshot_date >= first_day,
                sla_snapshots.c.capture_status.in_(sorted(FINAL_STATUSES)),
            )
            .order_by(sla_snapshots.c.snapshot_date)
        )
        return [header_of(row) for row in connection.execute(statement)]

    def items(self, connection: Connection, snapshot_id: int) -> list[SnapshotItem]:
        """All items of a snapshot by source; of a header that is not CAPTURED there are none."""
        statement = (
            select(sla_snapshot_items)
            .where(sla_snapshot_items.c.snapshot_id == snapshot_id)
            .order_by(sla_snapshot_items.c.job_source_id)
        )
        return [_item(row) for row in connection.execute(statement)]

    def item_count(self, connection: Connection, snapshot_id: int) -> int:
        """How many sources a snapshot has."""
        statement = select(func.count()).where(sla_snapshot_items.c.snapshot_id == snapshot_id)
        return connection.execute(statement).scalar_one()

    def late_count(self, connection: Connection, snapshot_id: int) -> int:
        """How many items of a CAPTURED snapshot were late (R42)."""
        statement = select(func.count()).where(
            sla_snapshot_items.c.snapshot_id == snapshot_id,
            sla_snapshot_items.c.cycle_status.in_(sorted(LATE_STATUSES)),
        )
        return connection.execute(statement).scalar_one()


def header_of(row: Row[Any]) -> SnapshotHeader:
    """A whole row of the headers' table as a value."""
    return SnapshotHeader(
        row.id,
        row.snapshot_date,
        row.scheduled_at,
        CaptureStatus(row.capture_status),
        row.captured_at,
        row.miss_reason,
    )


def _item(row: Row[tuple[object, ...]]) -> SnapshotItem:
    return SnapshotItem(
        row.job_source_id,
        row.source_label,
        CycleStatus(row.cycle_status),
        bool(row.is_complete),
        row.fetched_count,
        row.list_page_count,
        row.detail_request_count,
        bool(row.abnormal),
        bool(row.close_guarded),
        row.platform,
        row.source_type,
        row.reason,
    )

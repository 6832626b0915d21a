"""The capture's rows: items and header, in the one transaction that holds the gate (R36, R37).

The caller holds the gate exclusively, so no cycle of the day changes while these statements run.
Flags and sources are not under the gate: the statement that writes the items decides alone who is
eligible, and a day for which it writes none is NOT_APPLICABLE.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import date, datetime

from sqlalchemy import Connection, Select, and_, func, literal, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus, SnapshotHeader
from collection_pipeline.store.cycle_creation import create_missing_cycles
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.judged import abnormal, close_guarded
from collection_pipeline.store.runnable import DISPATCH_FLAG, is_runnable
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.operations import sla_snapshot_items, sla_snapshots
from collection_pipeline.store.schema.sources import job_sources

FLAG_OFF_REASON = f"the flag {DISPATCH_FLAG} was off at the cutoff"
NO_SOURCE_REASON = "no source was eligible at the cutoff"

_ITEM_COLUMNS = (
    "snapshot_id",
    "job_source_id",
    "source_label",
    "cycle_status",
    "is_complete",
    "fetched_count",
    "list_page_count",
    "detail_request_count",
    "abnormal",
    "close_guarded",
    "platform",
    "source_type",
    "reason",
)


class HeaderIsFinal(RuntimeError):
    """A header that was PENDING under the exclusive gate is not any more: a defect."""


def capture(
    connection: Connection, header: SnapshotHeader, platforms: Collection[str], now: datetime
) -> SnapshotHeader:
    """Fill in cycles, write one item a runnable source, and make the PENDING header final.

    ``now`` is the reading of the clock at or after the cutoff (R38). Set statements throughout.
    """
    create_missing_cycles(connection, header.snapshot_date, platforms, now)
    _lock_cycles(connection, header.snapshot_date)
    items = sla_snapshot_items.insert().from_select(
        list(_ITEM_COLUMNS), _items(header, platforms), include_defaults=False
    )
    if connection.execute(items).rowcount > 0:
        return make_final(connection, header, CaptureStatus.CAPTURED, captured_at=now)
    is_on = FeatureFlags().is_on(connection, DISPATCH_FLAG)
    reason = NO_SOURCE_REASON if is_on else FLAG_OFF_REASON
    return make_final(connection, header, CaptureStatus.NOT_APPLICABLE, reason=reason)


def make_final(
    connection: Connection,
    header: SnapshotHeader,
    status: CaptureStatus,
    *,
    captured_at: datetime | None = None,
    reason: str | None = None,
) -> SnapshotHeader:
    """The header as it stays for ever; the caller holds its gate exclusively (R39)."""
    written = connection.execute(
        sla_snapshots.update()
        .where(
            sla_snapshots.c.id == header.snapshot_id,
            sla_snapshots.c.capture_status == CaptureStatus.PENDING.value,
        )
        .values(capture_status=status.value, captured_at=captured_at, miss_reason=reason)
    )
    if written.rowcount != 1:
        raise HeaderIsFinal(f"the snapshot header of {header.snapshot_date} is final already")
    return replace(header, status=status, captured_at=captured_at, miss_reason=reason)


def _lock_cycles(connection: Connection, day: date) -> None:
    """Every cycle of the day, against a writer that passed the gate by."""
    # One row comes back instead of thousands; a column outside the index makes it lock rows.
    connection.execute(
        select(func.max(cycles.c.updated_at)).where(cycles.c.run_date == day).with_for_update()
    )


def _items(header: SnapshotHeader, platforms: Collection[str]) -> Select[tuple[object, ...]]:
    """A source that became runnable since the cycles were filled in has none: NOT_STARTED."""
    status = func.coalesce(cycles.c.cycle_status, CycleStatus.NOT_STARTED.value)
    is_complete = func.coalesce(cycles.c.is_complete, 0)
    fetched = func.coalesce(cycles.c.fetched_count, 0)
    day = header.snapshot_date
    own_cycle = and_(cycles.c.job_source_id == job_sources.c.id, cycles.c.run_date == day)
    return (
        select(
            literal(header.snapshot_id),
            job_sources.c.id,
            job_sources.c.label,
            status,
            is_complete,
            fetched,
            func.coalesce(cycles.c.list_page_count, 0),
            func.coalesce(cycles.c.detail_request_count, 0),
            abnormal(status, is_complete, fetched),
            close_guarded(status, is_complete, fetched),
            job_sources.c.platform,
            job_sources.c.source_type,
            func.coalesce(cycles.c.failure_reason, cycles.c.budget_exhausted_reason),
        )
        .select_from(job_sources)
        .outerjoin(cycles, own_cycle)
        .where(is_runnable(day, platforms))
        .order_by(job_sources.c.id)
    )

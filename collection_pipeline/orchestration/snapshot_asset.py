"""The 09:00 snapshot as an asset: one materialization for every final header (R36 to R40).

Found by state, not told: a run looks for final headers of the last week that Dagster has no event
of. So an event that a killed run could not write is written by the next one, and a header that was
final when it was made has its event too. A second event of one date does no harm; the morning's
sensor starts once a date.
"""

from collections.abc import Iterator
from datetime import date, timedelta

import dagster as dg
from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.domain.kst import kst_text
from collection_pipeline.domain.snapshot import CaptureStatus, SnapshotHeader
from collection_pipeline.orchestration.assets import SNAPSHOT_KEY
from collection_pipeline.orchestration.checks import captured_finding
from collection_pipeline.store.snapshots import SlaSnapshots

LOOK_BACK = timedelta(days=7)
MOST_KNOWN_EVENTS = 50
SnapshotEvent = dg.AssetMaterialization | dg.AssetCheckEvaluation
SnapshotMetadata = dict[str, str | int | dg.MetadataValue]


def final_header_events(
    context: dg.OpExecutionContext, pipeline: CollectionPipeline
) -> Iterator[SnapshotEvent]:
    """The event and the check of each final header without one, by day.

    An op yields them, since Dagster writes what is logged only when the op ends or yields.
    """
    known = recorded_dates(context.instance)
    snapshots = SlaSnapshots()

    def finding(connection: Connection) -> list[tuple[SnapshotHeader, SnapshotMetadata]]:
        first_day = pipeline.clock.today(connection) - LOOK_BACK
        headers = snapshots.final_since(connection, first_day)
        return [
            (header, _metadata(connection, header))
            for header in headers
            if header.snapshot_date not in known
        ]

    page = pipeline.settings.dagster_ui_url
    for header, metadata in pipeline.transactions.run(finding):
        if page is not None:
            metadata["link"] = dg.MetadataValue.url(f"{page}/runs/{context.run_id}")
        yield dg.AssetMaterialization(SNAPSHOT_KEY, metadata=metadata)
        yield captured_finding(header).as_evaluation()


def recorded_dates(instance: dg.DagsterInstance) -> set[date]:
    """The snapshot dates of the newest events."""
    records = instance.fetch_materializations(SNAPSHOT_KEY, MOST_KNOWN_EVENTS).records
    return {day for record in records if (day := snapshot_date_of(record)) is not None}


def snapshot_date_of(record: dg.EventLogRecord) -> date | None:
    """The date that an event of the asset is about; ``None`` for one that says none."""
    event = record.asset_materialization
    named = event.metadata.get("snapshot_date") if event else None
    return date.fromisoformat(str(named.value)) if named else None


def _metadata(connection: Connection, header: SnapshotHeader) -> SnapshotMetadata:
    """Numbers are absent unless the header is CAPTURED: unknown is never 0 (R42)."""
    metadata: SnapshotMetadata = {
        "capture_status": header.status.value,
        "snapshot_date": header.snapshot_date.isoformat(),
    }
    if header.status is CaptureStatus.CAPTURED:
        snapshots = SlaSnapshots()
        metadata["late_count"] = snapshots.late_count(connection, header.snapshot_id)
        metadata["sources"] = snapshots.item_count(connection, header.snapshot_id)
        metadata["captured_at"] = kst_text(header.captured_at) or ""
    if header.miss_reason:
        metadata["miss_reason"] = header.miss_reason
    return metadata

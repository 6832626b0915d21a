"""The morning's two jobs: the capture at the cutoff, and its recovery afterwards (R36 to R40).

Both are thin: the services decide by the database's clock whether a day is captured or missed, and
a run that comes too late ends well, since that day's truth is MISSED and not a failed run.
"""

from collections.abc import Iterator

import dagster as dg

from collection_pipeline.collection.assembly import worker_name
from collection_pipeline.collection.snapshot import CaptureReport
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.orchestration.notifying import send_notifications
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.resources import (
    CollectionQueue,
    Notifier,
    PlatformClients,
)
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import (
    CAPTURE_PRIORITY,
    CAPTURE_SECONDS,
    RECOVERY_PRIORITY,
    SHORT_SECONDS,
)
from collection_pipeline.orchestration.snapshot_asset import SnapshotEvent, final_header_events


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description="Make the header and the cycles that are missing, ahead of the cutoff (R35).",
)
def fill_missing_cycles(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> None:
    """The capture fills in once more, under the gate; here it costs nobody a wait."""
    with queue.pipeline(platform_clients) as pipeline:
        day = pipeline.creation.create_daily_cycles()
    context.add_output_metadata({"run_date": day.run_date.isoformat()})


@pipeline_op(
    ins={"filled": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    description=(
        "Ask for the gate a second ahead of the cutoff, capture at the cutoff of the database's "
        "clock, and record the final header as an event of the asset `sla_snapshot` (R36, R38)."
    ),
)
def capture_snapshot(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> Iterator[SnapshotEvent | dg.Output[None]]:
    """The event is written only after the commit, and before any notification."""
    with queue.pipeline(platform_clients) as pipeline:
        report = pipeline.snapshots.capture_at_nine(
            worker=worker_name(), dagster_run_id=context.run_id
        )
        yield from final_header_events(context, pipeline)
    result = show_result(context, capture_result(report))
    metadata: dict[str, str | int | float] = {
        "result": result,
        "snapshot_date": report.header.snapshot_date.isoformat(),
        "capture_status": report.header.status.value,
        "captured_here": "yes" if report.captured_here else "no",
        "note": report.note,
    }
    if report.gate_held_seconds is not None:
        metadata["gate_held_seconds"] = report.gate_held_seconds
    yield dg.Output(None, metadata=metadata)


@pipeline_op(
    ins={"captured": dg.In(dg.Nothing)},
    out=dg.Out(dg.Nothing),
    description="Send the morning report, or the incident, from the final header (R40).",
)
def notify_morning(
    context: dg.OpExecutionContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    notifier: Notifier,
) -> None:
    """A failing webhook is tried again by later ticks."""
    with queue.pipeline(platform_clients, notifier) as pipeline:
        send_notifications(context, pipeline)


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description=(
        "Write MISSED, with the reason, for every day whose time has passed without a capture; "
        "record the event of each final header that has none; send what is to be told (R38, R40)."
    ),
)
def recover_snapshots(
    context: dg.OpExecutionContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    notifier: Notifier,
) -> Iterator[SnapshotEvent | dg.Output[None]]:
    """Every tick of the queue does the same; this run does it soon after the tolerance."""
    with queue.pipeline(platform_clients, notifier) as pipeline:
        finalised = pipeline.snapshots.mark_missed_snapshot()
        yield from final_header_events(context, pipeline)
        send_notifications(context, pipeline)
    days = ", ".join(f"{one.status.value} {one.snapshot_date}" for one in finalised)
    result = show_result(context, days or "no morning was left open")
    yield dg.Output(None, metadata={"result": result, "made_final": days})


@pipeline_job(
    does=(
        "The 09:00 snapshot: waits for the cutoff, captures where every source stands, then sends "
        "the morning report. Leaves the queue before everything else; several runs capture once."
    ),
    when="A minute ahead of the cutoff in Seoul (`sla_snapshot_schedule`).",
    if_it_fails=(
        "Before the cutoff: start it again at once. After it the day is MISSED, "
        "`sla_snapshot_recovery` writes and tells that; it cannot be captured later: "
        "docs/runbook.md#snapshot_captured. Only `notify_morning` failed: later ticks send it."
    ),
    concern=Concern.MORNING,
    priority=CAPTURE_PRIORITY,
    longest_seconds=CAPTURE_SECONDS,
)
def sla_snapshot() -> None:
    """Captures the morning."""
    notify_morning(captured=capture_snapshot(filled=fill_missing_cycles()))


@pipeline_job(
    does="Writes MISSED, with its reason, for a morning that nobody captured, and tells it.",
    when="Soon after cutoff and tolerance in Seoul (`sla_snapshot_recovery_schedule`).",
    if_it_fails=(
        "Every tick of the queue does the same; start it by hand to be told at once. What MISSED "
        "means: docs/runbook.md#snapshot_captured."
    ),
    concern=Concern.MORNING,
    priority=RECOVERY_PRIORITY,
    longest_seconds=SHORT_SECONDS,
)
def sla_snapshot_recovery() -> None:
    """Recovers mornings."""
    recover_snapshots()


def capture_result(report: CaptureReport) -> str:
    """``CAPTURED 2026-12-01, 2 of 11 sources late``; else the note that says why not."""
    header = report.header
    status = f"{header.status.value} {header.snapshot_date}"
    if header.status is CaptureStatus.CAPTURED:
        return f"{status}, {report.late_count} of {report.item_count} sources late"
    return f"{status}, {report.note}"

"""The morning's two jobs: the capture at the cutoff, and its recovery afterwards (R36 to R40).

Both are thin: the services decide by the database's clock whether a day is captured or missed, and
a run that comes too late ends well, since that day's truth is MISSED and not a failed run.
"""

from collections.abc import Iterator

import dagster as dg

from collection_pipeline.collection.assembly import worker_name
from collection_pipeline.orchestration.notifying import send_notifications
from collection_pipeline.orchestration.resources import (
    CollectionQueue,
    Notifier,
    PlatformClients,
)
from collection_pipeline.orchestration.run_tags import (
    CAPTURE_PRIORITY,
    CAPTURE_SECONDS,
    RECOVERY_PRIORITY,
    SHORT_SECONDS,
    run_tags,
)
from collection_pipeline.orchestration.snapshot_asset import SnapshotEvent, final_header_events


@dg.op(
    out=dg.Out(dg.Nothing),
    description="Make the header and the cycles that are missing, ahead of the cutoff (R35).",
)
def fill_missing_cycles(queue: CollectionQueue, platform_clients: PlatformClients) -> None:
    """The capture fills in once more, under the gate; here it costs nobody a wait."""
    with queue.pipeline(platform_clients) as pipeline:
        pipeline.creation.create_daily_cycles()


@dg.op(
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
        context.log.info(report.note)
        yield from final_header_events(context, pipeline)
    metadata: dict[str, str | int | float] = {
        "snapshot_date": report.header.snapshot_date.isoformat(),
        "capture_status": report.header.status.value,
        "captured_here": "yes" if report.captured_here else "no",
        "note": report.note,
    }
    if report.gate_held_seconds is not None:
        metadata["gate_held_seconds"] = report.gate_held_seconds
    yield dg.Output(None, metadata=metadata)


@dg.op(
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


@dg.op(
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
    days = [f"{one.snapshot_date} {one.status.value}" for one in finalised]
    yield dg.Output(None, metadata={"made_final": ", ".join(days)})


@dg.job(
    description=(
        "The 09:00 snapshot: started a minute ahead, captures at the cutoff, then notifies. Runs "
        "before everything else in the queue; several runs capture once."
    ),
    executor_def=dg.in_process_executor,
    tags=run_tags(priority=CAPTURE_PRIORITY, longest_seconds=CAPTURE_SECONDS),
)
def sla_snapshot() -> None:
    """Captures the morning."""
    notify_morning(captured=capture_snapshot(filled=fill_missing_cycles()))


@dg.job(
    description="Soon after the tolerance: a morning that nobody captured is MISSED, and told.",
    executor_def=dg.in_process_executor,
    tags=run_tags(priority=RECOVERY_PRIORITY, longest_seconds=SHORT_SECONDS),
)
def sla_snapshot_recovery() -> None:
    """Recovers mornings."""
    recover_snapshots()

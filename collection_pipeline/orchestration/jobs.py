"""Jobs of one thin op each: they call a service and record what happened.

All run in process and are never retried: the next tick finds by state what is left to do. Slices
run as threads inside one op, which costs a twentieth of fanned-out steps.
"""

from collections.abc import Iterator

import dagster as dg

from collection_pipeline.collection.assembly import worker_name
from collection_pipeline.collection.dispatch import TickSummary, TickTerms
from collection_pipeline.collection.slice_processor import SliceReport
from collection_pipeline.orchestration.assets import slice_events
from collection_pipeline.orchestration.checks import seen_rows_finding
from collection_pipeline.orchestration.library_job import library_ingest
from collection_pipeline.orchestration.morning_alerts import morning_alerts
from collection_pipeline.orchestration.notifying import send_notifications
from collection_pipeline.orchestration.observation_checks import observation_checks
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.report_job import collection_report_job
from collection_pipeline.orchestration.resources import (
    CollectionQueue,
    Notifier,
    PlatformClients,
)
from collection_pipeline.orchestration.retention_job import retention
from collection_pipeline.orchestration.run_pruning import dagster_run_pruning
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import (
    CLEANUP_PRIORITY,
    CREATION_PRIORITY,
    DISPATCH_PRIORITY,
    DISPATCH_TAG,
    DRAIN_SECONDS,
    SHORT_SECONDS,
)
from collection_pipeline.orchestration.snapshot_asset import SnapshotEvent, final_header_events
from collection_pipeline.orchestration.snapshot_jobs import sla_snapshot, sla_snapshot_recovery

DISPATCH_CONFIG = {
    "drain": dg.Field(bool, default_value=False, description="Go on until nothing is due."),
    "max_seconds": dg.Field(
        dg.Noneable(float),
        default_value=None,
        is_required=False,
        description="No claim and no request after so many seconds.",
    ),
}


@pipeline_op(description="Make today's and tomorrow's snapshot header and today's cycles (R35).")
def create_cycles(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> None:
    """The run date is the database's, not the scheduled one: a late run makes today's cycles."""
    with queue.pipeline(platform_clients) as pipeline:
        day = pipeline.creation.create_daily_cycles()
    cycles = "made" if day.made_cycles else "complete already"
    result = show_result(
        context, f"{day.run_date}: cycles {cycles}, {len(day.made_headers)} header(s) made"
    )
    context.add_output_metadata({"result": result, "run_date": day.run_date.isoformat()})


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description=(
        "One tick: recover expired leases, prepare cycles, claim what is due, and work slices in "
        "threads (R5 to R11). Each slice is an observation of `collection_cycles`."
    ),
    kinds=("mysql", "https"),
    config_schema=DISPATCH_CONFIG,
)
def dispatch_slices(
    context: dg.OpExecutionContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    notifier: Notifier,
) -> Iterator[SnapshotEvent | dg.Output[None]]:
    """Events are written from this thread as slices end; threads only claim, read and store.

    The tick itself sends what is to be told; the event of what it made final follows its slices.
    """
    terms = TickTerms(
        drain=context.op_config["drain"],
        max_seconds=context.op_config["max_seconds"],
        worker=worker_name(),
        dagster_run_id=context.run_id,
    )

    def record(report: SliceReport) -> None:
        for event in slice_events(report, page):
            context.log_event(event)

    with queue.pipeline(platform_clients, notifier) as pipeline:
        page = pipeline.settings.operations_page_url
        summary = pipeline.dispatch.execute_tick(terms, on_slice=record)
        yield from final_header_events(context, pipeline)
    result = show_result(context, tick_result(summary))
    yield dg.Output(None, metadata={"result": result, **tick_metadata(summary)})


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description="Delete residual seen rows in chunks, never of a running cycle (R31).",
)
def clean_up_seen_rows(
    context: dg.OpExecutionContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    notifier: Notifier,
) -> Iterator[SnapshotEvent | dg.Output[None]]:
    """``seen_rows_older_than_48_hours`` should be 0 after every run; else it is told."""
    with queue.pipeline(platform_clients, notifier) as pipeline:
        done = pipeline.cleanup.clean_up()
        yield seen_rows_finding(done.left_over).as_evaluation()
        pipeline.notifications.note_seen_rows(done.left_over)
        send_notifications(context, pipeline)
    result = show_result(
        context, f"{done.deleted_rows:,} seen rows deleted, {done.left_over:,} left over"
    )
    yield dg.Output(
        None,
        metadata={
            "result": result,
            "deleted_rows": done.deleted_rows,
            "chunks": done.chunks,
            "seen_rows_older_than_48_hours": done.left_over,
        },
    )


@pipeline_job(
    does="Makes the headers and cycles of the day.",
    when="00:00 in Seoul (`daily_cycle_creation_schedule`).",
    if_it_fails=(
        "Nothing is lost and nobody waits: every tick makes what is missing. If ticks fail too, "
        "see docs/operations.md#the-database-hangs-or-is-away."
    ),
    concern=Concern.COLLECTION,
    priority=CREATION_PRIORITY,
    longest_seconds=SHORT_SECONDS,
)
def daily_cycle_creation() -> None:
    """Creates the day."""
    create_cycles()


@dg.config_mapping(config_schema=DISPATCH_CONFIG)
def dispatch_config(values: dict[str, object]) -> dict[str, object]:
    """``{drain: true, max_seconds: 60}`` as the whole run configuration."""
    seconds = values["max_seconds"]
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise ValueError(f"max_seconds={seconds}: write a number above 0, or leave it out")
    return {"ops": {"dispatch_slices": {"config": values}}}


@pipeline_job(
    does=(
        "One tick of the queue: collects what is due. Runs may overlap, leases exclude. Run "
        "configuration: `drain: true` goes on until nothing is due, `max_seconds` bounds it."
    ),
    when=(
        "Within a minute after there is work (`collection_dispatch_sensor`); idle minutes start "
        "no run."
    ),
    if_it_fails=(
        "A source that fails does not fail the run: look at its page or at "
        "docs/operations.md#a-source-is-failed. A failed run means that the queue itself could "
        "not be worked; the next run goes on where it stopped. If many fail in a row: "
        "docs/runbook.md#ticks_on_time."
    ),
    concern=Concern.COLLECTION,
    priority=DISPATCH_PRIORITY,
    longest_seconds=DRAIN_SECONDS,
    config=dispatch_config,
    more_tags={DISPATCH_TAG: "tick"},
)
def collection_dispatch() -> None:
    """Dispatches slices."""
    dispatch_slices()


@pipeline_job(
    does="Deletes seen rows that no running cycle needs any more (R31).",
    when="10:15 in Seoul (`seen_row_cleanup_schedule`).",
    if_it_fails=(
        "Rows stay a day longer, nothing else; the next run deletes them. If it goes on: "
        "docs/runbook.md#no_seen_row_older_than_48_hours."
    ),
    concern=Concern.UPKEEP,
    priority=CLEANUP_PRIORITY,
    longest_seconds=SHORT_SECONDS,
)
def seen_row_cleanup() -> None:
    """Cleans up."""
    clean_up_seen_rows()


JOBS = [
    daily_cycle_creation,
    collection_dispatch,
    seen_row_cleanup,
    sla_snapshot,
    sla_snapshot_recovery,
    morning_alerts,
    collection_report_job,
    library_ingest,
    observation_checks,
    dagster_run_pruning,
    retention,
]


def tick_result(summary: TickSummary) -> str:
    """``1 FAILED, 8 SUCCESS, 24 CONTINUED`` slices, the worst first; none that did not occur."""
    ends = {"LOST": summary.lost, **summary.ended, "CONTINUED": summary.continued}
    order = ("LOST", "FAILED", "BUDGET_EXHAUSTED", "SUCCESS", "CONTINUED")
    words = ", ".join(f"{ends[name]} {name}" for name in order if ends[name])
    recovered = f"; {summary.recovered} recovered" if summary.recovered else ""
    rejected = f"; {summary.rejected} rejected" if summary.rejected else ""
    return (words or "no slice was due") + recovered + rejected


def tick_metadata(summary: TickSummary) -> dict[str, int | float | dg.TableMetadataValue]:
    """The tick's numbers, and a table of how its slices ended."""
    ends = {**summary.ended, "CONTINUED": summary.continued, "LOST": summary.lost}
    return {
        "recovered": summary.recovered,
        "prepared": summary.prepared,
        "rejected": summary.rejected,
        "claimed": summary.claimed,
        "slices": summary.slices,
        "seconds": summary.seconds,
        "slice_ends": dg.MetadataValue.table(
            [dg.TableRecord({"end": name, "slices": count}) for name, count in ends.items()]
        ),
    }

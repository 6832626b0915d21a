"""A failed run is told once a day and job, by its step and the kind of its error (R29, R40).

The error's message is not passed on: it may quote what a platform, a driver or a hook said. While
the queue's database is away nothing can be noted; the sensor says so and does not fail.
"""

import threading

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.orchestration.pipeline_job import Concern, concern_tags
from collection_pipeline.orchestration.resources import (
    CollectionQueue,
    Notifier,
    PlatformClients,
)
from collection_pipeline.orchestration.run_result import RESULT_TAG, shortened
from collection_pipeline.orchestration.told_failure import told_tick
from collection_pipeline.store.migration import SchemaBehind

OUTAGES = (DatabaseUnavailable, SchemaBehind, SQLAlchemyError)
SENDING_SECONDS = 20.0
"""No message is begun after that: Dagster gives a sensor's tick 60 s. Later ticks send the rest."""
NO_STEP_FAILED = "no step failed: its process died, did not start, or went over its longest time"


@dg.run_failure_sensor(
    name="run_failure_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    # Added hosts have code locations of their own, and one that is down could not tell of itself.
    monitor_all_code_locations=True,
    tags=concern_tags(Concern.UPKEEP),
    description=(
        "A failed run of any code location becomes a notification: the first one of a job and "
        "day, with run id, step and kind of error, never with the error's text. A run whose "
        "process died gets its title, the tag `result`, here."
    ),
)
@told_tick
def run_failure_sensor(
    context: dg.RunFailureSensorContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    notifier: Notifier,
) -> dg.SkipReason | None:
    """Titles a run that could not do so itself, notes the failure, then delivers what is due."""
    run = context.dagster_run
    # A repeated run has inherited its parent's title, so that one proves nothing.
    if not context.get_step_failure_events():
        title = {RESULT_TAG: shortened(failure_in_words(context))}
        context.instance.add_run_tags(run.run_id, title)
    try:
        with queue.pipeline(platform_clients, notifier) as pipeline:
            pipeline.notifications.note_run_failed(
                run.job_name, run.run_id, failure_in_words(context)
            )
            _deliver(pipeline)
    except OUTAGES as error:
        return dg.SkipReason(
            f"run {run.run_id} of {run.job_name} failed and could not be noted: the queue's "
            f"database cannot be used ({type(error).__name__})"
        )
    return None


def _deliver(pipeline: CollectionPipeline) -> None:
    """From here and not only from a dispatch run: that may be what fails."""
    stop = threading.Event()
    timer = threading.Timer(SENDING_SECONDS, stop.set)
    timer.start()
    try:
        pipeline.notifications.deliver(stop)
    finally:
        timer.cancel()


def failure_in_words(context: dg.RunFailureSensorContext) -> str:
    """``step capture_snapshot: DatabaseUnavailable``; kinds only."""
    failed = [
        f"step {event.step_key}: {_kind(event)}" for event in context.get_step_failure_events()
    ]
    return ", ".join(failed) or NO_STEP_FAILED


def _kind(event: dg.DagsterEvent) -> str:
    """The class of what the step's own code raised, below what is made of it."""
    told = event.step_failure_data.user_failure_data
    if told is not None and "kind" in told.metadata:
        return str(told.metadata["kind"].value)
    error = event.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return (error.cls_name if error else None) or "unknown"

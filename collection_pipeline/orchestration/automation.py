"""Schedules and the dispatch sensor: they start runs and do nothing else (no HTTP, no claim)."""

import dagster as dg

from collection_pipeline.orchestration.jobs import (
    DISPATCH_TAG,
    SHORT_JOB_SECONDS,
    collection_dispatch,
    daily_cycle_creation,
    seen_row_cleanup,
)
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients

SEOUL = "Asia/Seoul"
DISPATCH_INTERVAL_SECONDS = 60
WAITING_STATUSES = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
]

daily_cycle_creation_schedule = dg.ScheduleDefinition(
    name="daily_cycle_creation_schedule",
    job=daily_cycle_creation,
    cron_schedule="0 0 * * *",
    execution_timezone=SEOUL,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Midnight in Seoul: today's cycles. Every tick makes what a lost run did not.",
)
seen_row_cleanup_schedule = dg.ScheduleDefinition(
    name="seen_row_cleanup_schedule",
    job=seen_row_cleanup,
    cron_schedule="15 10 * * *",
    execution_timezone=SEOUL,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="10:15 in Seoul: residual seen rows are deleted (R31).",
)


@dg.sensor(
    name="collection_dispatch_sensor",
    job=collection_dispatch,
    minimum_interval_seconds=DISPATCH_INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=(
        "Every 60 s: asks MySQL by plain reads whether anything is due, expired or missing, so "
        "that idle minutes start no run."
    ),
)
def collection_dispatch_sensor(
    context: dg.SensorEvaluationContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
) -> dg.RunRequest | dg.SkipReason:
    """One tick when there is work and no tick is waiting to start already."""
    waiting = context.instance.get_runs_count(
        dg.RunsFilter(job_name=collection_dispatch.name, statuses=WAITING_STATUSES)
    )
    if waiting:
        return dg.SkipReason(f"{waiting} dispatch run(s) have not started yet")
    with queue.pipeline(platform_clients) as pipeline:
        has_work = pipeline.dispatch.has_work()
    if not has_work:
        return dg.SkipReason("nothing is due, expired or missing")
    return dg.RunRequest(tags={DISPATCH_TAG: "tick", "dagster/max_runtime": SHORT_JOB_SECONDS})


SCHEDULES = [daily_cycle_creation_schedule, seen_row_cleanup_schedule]
SENSORS = [collection_dispatch_sensor]

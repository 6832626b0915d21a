"""The dispatch sensor: asks by plain reads whether there is work, and starts one bounded run (R35).

It makes no request and claims nothing; both are the run's. A queue of waiting ticks would find the
same work, so none is asked for while one has not started.
"""

import dagster as dg

from collection_pipeline.orchestration.jobs import collection_dispatch
from collection_pipeline.orchestration.pipeline_automation import pipeline_sensor
from collection_pipeline.orchestration.pipeline_job import Concern
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_tags import DISPATCH_TAG, SHORT_SECONDS

DISPATCH_INTERVAL_SECONDS = 60
WAITING_STATUSES = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
]


@pipeline_sensor(
    concern=Concern.COLLECTION,
    name="collection_dispatch_sensor",
    job=collection_dispatch,
    minimum_interval_seconds=DISPATCH_INTERVAL_SECONDS,
    description=(
        "Every 60 s: asks MySQL by plain reads whether anything is due, expired, missing or to be "
        "told, so that idle minutes start no run."
    ),
)
def collection_dispatch_sensor(
    context: dg.SensorEvaluationContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
) -> dg.RunRequest | dg.SkipReason:
    """One tick when there is work and no tick is waiting to start already."""
    waiting = dg.RunsFilter(job_name=collection_dispatch.name, statuses=WAITING_STATUSES)
    return dispatch_request(context, queue, platform_clients, waiting, tag="tick")


def dispatch_request(
    context: dg.SensorEvaluationContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
    waiting_runs: dg.RunsFilter,
    *,
    tag: str,
) -> dg.RunRequest | dg.SkipReason:
    """A run whose dispatch tag is ``tag``, unless one of ``waiting_runs`` is still to start."""
    waiting = context.instance.get_runs_count(waiting_runs)
    if waiting:
        return dg.SkipReason(f"{waiting} dispatch run(s) have not started yet")
    with queue.pipeline(platform_clients) as pipeline:
        has_work = pipeline.dispatch.has_work()
    if not has_work:
        return dg.SkipReason("nothing is due, expired or missing, and nothing is to be told")
    return dg.RunRequest(tags={DISPATCH_TAG: tag, "dagster/max_runtime": str(SHORT_SECONDS)})

"""More hosts for the queue: each dispatches for itself, leases keep them apart (R8, R9, R35).

Invariant: a host that is added brings no schedule, since every schedule would then run twice. It
asks and works as the first host does, and its waiting and running ticks are counted apart from
those of other hosts: the dispatch tag's value is the name of its code location, which Dagster keeps
unique, and ``dagster.yaml`` limits the runs of each value.
"""

import dagster as dg

from collection_pipeline.orchestration.dispatch_sensor import (
    DISPATCH_INTERVAL_SECONDS,
    WAITING_STATUSES,
    dispatch_request,
)
from collection_pipeline.orchestration.jobs import dispatch_config, dispatch_slices
from collection_pipeline.orchestration.pipeline_automation import pipeline_sensor
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_tags import (
    DISPATCH_PRIORITY,
    DISPATCH_TAG,
    DRAIN_SECONDS,
)

STARTED_BY_HAND = "worker"
"""The tag of a run that no sensor started: only the sensor knows its code location."""


@pipeline_job(
    does=(
        "One tick of the queue on an added host: the same as `collection_dispatch`, with the same "
        "run configuration. Overlapping runs are safe on all hosts, leases exclude."
    ),
    when="Within a minute after there is work (`worker_dispatch_sensor`), on this host.",
    if_it_fails=(
        "Other hosts go on, and what it had claimed is recovered with its lease. See "
        "docs/operations.md#more-than-one-machine."
    ),
    concern=Concern.COLLECTION,
    priority=DISPATCH_PRIORITY,
    longest_seconds=DRAIN_SECONDS,
    more_tags={DISPATCH_TAG: STARTED_BY_HAND},
    config=dispatch_config,
)
def worker_dispatch() -> None:
    """Dispatches slices on the host of its code server."""
    dispatch_slices()


@pipeline_sensor(
    concern=Concern.COLLECTION,
    name="worker_dispatch_sensor",
    job=worker_dispatch,
    minimum_interval_seconds=DISPATCH_INTERVAL_SECONDS,
    description=(
        "Every 60 s on an added host: asks MySQL by plain reads whether there is work, and starts "
        "one run on this host unless one of its own is waiting."
    ),
)
def worker_dispatch_sensor(
    context: dg.SensorEvaluationContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
) -> dg.RunRequest | dg.SkipReason:
    """One tick for this host, whatever waits for the others."""
    origin = context.code_location_origin
    host = origin.location_name if origin else STARTED_BY_HAND
    waiting = dg.RunsFilter(
        job_name=worker_dispatch.name, statuses=WAITING_STATUSES, tags={DISPATCH_TAG: host}
    )
    return dispatch_request(context, queue, platform_clients, waiting, tag=host)

"""What Dagster loads on each host that is added: dispatch, and nothing that has a time of day.

Invariant: schedules, and the sensors that tell, belong to ``collection_pipeline.definitions`` in
one code location. The same module under a second location name would start every schedule twice.
"""

import dagster as dg

from collection_pipeline.orchestration.resources import RESOURCES
from collection_pipeline.orchestration.worker_dispatch import (
    worker_dispatch,
    worker_dispatch_sensor,
)

defs = dg.Definitions(
    jobs=[worker_dispatch],
    sensors=[worker_dispatch_sensor],
    resources=RESOURCES,
    executor=dg.in_process_executor,
)

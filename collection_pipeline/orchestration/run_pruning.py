"""Old Dagster runs are deleted, since Dagster keeps its own for ever.

Only runs that have ended, in batches, the oldest first. Nothing of collection is in them: cycles,
slices, history and snapshots are in the queue's own tables (section 1). The evaluations of checks
go with their runs, but for the newest of each; an asset's plot loses the points of deleted runs.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

from collection_pipeline.orchestration.pipeline_automation import pipeline_schedule
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.resources import PlatformClients
from collection_pipeline.orchestration.run_leftovers import (
    prune_check_history,
    prune_stray_events,
)
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import PRUNING_PRIORITY, SHORT_SECONDS

BUSY_JOBS = ("collection_dispatch", "worker_dispatch", "observation_checks")
"""They run every minute or half hour; their runs are kept for a shorter time."""
ENDED = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]
BATCH_RUNS = 100
MOST_RUNS = 10_000
MOST_SECONDS = 600.0
"""A run takes 20 to 30 ms to delete; what is left over is deleted on the next day."""


@dataclass(frozen=True)
class Pruned:
    """``is_done`` is False where the bounds ended it before the last old run."""

    deleted_runs: int
    is_done: bool
    check_rows: int = 0
    stray_events: int = 0


def prune_runs(
    instance: dg.DagsterInstance,
    *,
    busy_days: int,
    days: int,
    now: datetime | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Pruned:
    """Delete ended runs that were last changed longer ago than their job's age (days).

    Then what Dagster leaves of deleted runs, within the same time.
    """
    now = now or datetime.now(UTC)
    ends_at = monotonic() + MOST_SECONDS

    def time_is_left() -> bool:
        return monotonic() < ends_at

    deleted, is_done = _delete_runs(
        instance, now - timedelta(days=busy_days), now - timedelta(days=days), time_is_left
    )
    busy_edge, edge = now - timedelta(days=min(busy_days, days)), now - timedelta(days=days)
    check_rows = prune_check_history(instance, busy_edge, time_is_left)
    stray_events = prune_stray_events(instance, edge, time_is_left)
    return Pruned(deleted, is_done, check_rows, stray_events)


def _delete_runs(
    instance: dg.DagsterInstance,
    busy_before: datetime,
    before: datetime,
    time_is_left: Callable[[], bool],
) -> tuple[int, bool]:
    """How many runs were deleted, and whether no old one is left."""
    old = [
        dg.RunsFilter(job_name=job, statuses=ENDED, updated_before=busy_before) for job in BUSY_JOBS
    ]
    old.append(dg.RunsFilter(statuses=ENDED, updated_before=before))
    deleted = 0
    for wanted in old:
        while records := instance.get_run_records(wanted, limit=BATCH_RUNS, ascending=True):
            for record in records:
                if deleted >= MOST_RUNS or not time_is_left():
                    return deleted, False
                _delete(instance, record.dagster_run.run_id)
                deleted += 1
    return deleted, True


def _delete(instance: dg.DagsterInstance, run_id: str) -> None:
    """The run, its events and tags, then the folder that Dagster would leave behind."""
    instance.delete_run(run_id)
    shutil.rmtree(Path(instance.storage_directory()) / run_id, ignore_errors=True)


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description="Delete ended Dagster runs that are older than their job's age, in batches.",
)
def delete_old_runs(context: dg.OpExecutionContext, platform_clients: PlatformClients) -> None:
    """Ages: COLLECTION_DAGSTER_BUSY_RUN_DAYS and COLLECTION_DAGSTER_RUN_DAYS."""
    settings = platform_clients.settings()
    pruned = prune_runs(
        context.instance,
        busy_days=settings["DAGSTER_BUSY_RUN_DAYS"],
        days=settings["DAGSTER_RUN_DAYS"],
    )
    rest = "none is left" if pruned.is_done else "the rest follows on the next day"
    result = show_result(context, f"{pruned.deleted_runs:,} old run(s) deleted; {rest}")
    context.add_output_metadata(
        {
            "result": result,
            "deleted_runs": pruned.deleted_runs,
            "is_done": pruned.is_done,
            "deleted_check_rows": pruned.check_rows,
            "deleted_stray_events": pruned.stray_events,
        }
    )


@pipeline_job(
    does=(
        "Deletes ended Dagster runs: those of the dispatcher and of the checks after "
        "COLLECTION_DAGSTER_BUSY_RUN_DAYS, others after COLLECTION_DAGSTER_RUN_DAYS. Cycles, "
        "history and snapshots are not in them and stay."
    ),
    when="04:30 in Seoul (`dagster_run_pruning_schedule`).",
    if_it_fails=(
        "Old runs stay a day longer, and the next run deletes them. If it goes on for weeks, "
        "this UI becomes slow; collection does not."
    ),
    concern=Concern.UPKEEP,
    priority=PRUNING_PRIORITY,
    longest_seconds=SHORT_SECONDS,
)
def dagster_run_pruning() -> None:
    """Keeps Dagster's database small."""
    delete_old_runs()


dagster_run_pruning_schedule = pipeline_schedule(
    "dagster_run_pruning_schedule",
    job=dagster_run_pruning,
    cron_schedule="30 4 * * *",
    description="04:30 in Seoul: old Dagster runs are deleted.",
)

"""The queue's tables are kept from growing without bound, every night at 04:45 KST."""

import dagster as dg

from collection_pipeline.collection.retention import RetentionFailed, RetentionPass
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_tags import (
    RETENTION_PRIORITY,
    SHORT_SECONDS,
    run_tags,
)


@dg.op(
    out=dg.Out(dg.Nothing),
    description="Delete rows past their age and trim raw bodies of closed postings, in chunks.",
)
def apply_retention(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> None:
    """A table that could not be worked fails the run, which still shows what was done to each."""
    with queue.pipeline(platform_clients) as pipeline:
        done = pipeline.retention.apply()
    try:
        done.require_success()
    except RetentionFailed as failed:
        raise dg.Failure(str(failed), metadata=retention_metadata(done)) from None
    context.add_output_metadata(retention_metadata(done))


def retention_metadata(done: RetentionPass) -> dict[str, int | str]:
    """Rows of each table for the plots, and the tables that are not done."""
    rows = {f"{result.table}_{result.action}": result.rows for result in done.results}
    left = [result.table for result in done.results if not result.is_done]
    return {**rows, "left_for_the_next_night": ", ".join(left) or "nothing"}


@dg.job(
    description=(
        "04:45 KST: rows of the queue past COLLECTION_HISTORY_DAYS and COLLECTION_TICK_DAYS are "
        "deleted, raw bodies of postings closed for COLLECTION_RAW_BODY_DAYS are dropped. Cycles, "
        "history, snapshots and postings stay."
    ),
    executor_def=dg.in_process_executor,
    tags=run_tags(priority=RETENTION_PRIORITY, longest_seconds=SHORT_SECONDS),
)
def retention() -> None:
    """Keeps the queue's database small."""
    apply_retention()


retention_schedule = dg.ScheduleDefinition(
    name="retention_schedule",
    job=retention,
    cron_schedule="45 4 * * *",
    execution_timezone="Asia/Seoul",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="04:45 in Seoul: the queue's old rows are deleted.",
)

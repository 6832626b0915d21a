"""The queue's tables are kept from growing without bound, every night at 04:45 KST."""

import dagster as dg

from collection_pipeline.collection.retention import RetentionFailed, RetentionPass
from collection_pipeline.orchestration.pipeline_automation import pipeline_schedule
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import RETENTION_PRIORITY, SHORT_SECONDS


@pipeline_op(
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
    rows = sum(result.rows for result in done.results)
    result = show_result(context, f"{rows:,} old row(s) deleted or trimmed")
    context.add_output_metadata({"result": result, **retention_metadata(done)})


def retention_metadata(done: RetentionPass) -> dict[str, int | str]:
    """Rows of each table for the plots, and the tables that are not done."""
    rows = {f"{result.table}_{result.action}": result.rows for result in done.results}
    left = [result.table for result in done.results if not result.is_done]
    return {**rows, "left_for_the_next_night": ", ".join(left) or "nothing"}


@pipeline_job(
    does=(
        "Deletes rows of the queue past COLLECTION_HISTORY_DAYS and COLLECTION_TICK_DAYS, and "
        "drops raw bodies of postings closed for COLLECTION_RAW_BODY_DAYS. Cycles, history, "
        "snapshots and postings stay."
    ),
    when="04:45 in Seoul (`retention_schedule`).",
    if_it_fails=(
        "Nothing is lost; the other tables are done, and what is left goes on the next night. See "
        "docs/operations.md#retention."
    ),
    concern=Concern.UPKEEP,
    priority=RETENTION_PRIORITY,
    longest_seconds=SHORT_SECONDS,
)
def retention() -> None:
    """Keeps the queue's database small."""
    apply_retention()


retention_schedule = pipeline_schedule(
    "retention_schedule",
    job=retention,
    cron_schedule="45 4 * * *",
    description="04:45 in Seoul: the queue's old rows are deleted.",
)

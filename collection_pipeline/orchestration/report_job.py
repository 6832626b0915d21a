"""Monday's budget report: one op that reads, and an event that stays (R45)."""

from collections.abc import Iterator

import dagster as dg

from collection_pipeline.orchestration.pipeline_automation import pipeline_schedule
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.report_asset import REPORT_KEY
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import REPORT_PRIORITY, SHORT_SECONDS

DEFAULT_DAYS = 28
MOST_DAYS = 366
REPORT_CONFIG = {
    "days": dg.Field(
        int, default_value=DEFAULT_DAYS, description="Whole days before today, in Seoul."
    )
}


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description="Read the period's cycles and slices, and propose daily budgets. Changes nothing.",
    kinds=("mysql", "pandas"),
    config_schema=REPORT_CONFIG,
)
def report_budgets(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> Iterator[dg.AssetMaterialization | dg.Output[None]]:
    """The period ends with yesterday; today is not over."""
    # pandas takes half a second and 60 MB, which the other jobs do without.
    from collection_pipeline.collection.report.budget_report import budget_report
    from collection_pipeline.collection.report.facts import read_facts
    from collection_pipeline.orchestration.report_metadata import report_metadata

    with queue.pipeline(platform_clients) as pipeline:
        settings = pipeline.settings
        facts = read_facts(
            pipeline.transactions, pipeline.clock, settings, context.op_config["days"]
        )
    report = budget_report(facts, settings)
    for one in report.exhausted:
        context.log.warning(
            "source %s ran out of %s on %s of %s days",
            one.job_source_id,
            one.limit,
            one.exhausted_days,
            one.days,
        )
    yield dg.AssetMaterialization(REPORT_KEY, metadata=report_metadata(report))
    result = show_result(
        context,
        f"{len(report.exhausted)} repeatedly out of budget, {report.first_day} to "
        f"{report.last_day}",
    )
    yield dg.Output(None, metadata={"result": result})


@dg.config_mapping(config_schema=REPORT_CONFIG)
def report_config(values: dict[str, object]) -> dict[str, object]:
    """``{days: 28}`` as the whole run configuration."""
    days = values["days"]
    if not (isinstance(days, int) and 1 <= days <= MOST_DAYS):
        raise ValueError(f"days={days}: write a number from 1 to {MOST_DAYS}")
    return {"ops": {"report_budgets": {"config": values}}}


@pipeline_job(
    name="collection_report",
    does=(
        "What the last weeks used, and the daily budgets that they propose; reads only. The "
        "report is the newest event of the asset `collection_report`. Run configuration: `days`, "
        "the length of the period (28)."
    ),
    when="Monday 11:00 in Seoul (`collection_report_schedule`).",
    if_it_fails=(
        "Nothing depends on it. Start it again, or on the command line: "
        "docs/operations.md#the-budget-report."
    ),
    concern=Concern.REPORTS,
    priority=REPORT_PRIORITY,
    longest_seconds=SHORT_SECONDS,
    config=report_config,
)
def collection_report_job() -> None:
    """Reports."""
    report_budgets()


collection_report_schedule = pipeline_schedule(
    "collection_report_schedule",
    job=collection_report_job,
    cron_schedule="0 11 * * 1",
    description="Monday 11:00 in Seoul: the budget report of the four weeks before.",
)

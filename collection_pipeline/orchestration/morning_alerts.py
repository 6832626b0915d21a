"""The service's own alerts of the morning: one job, started by one sensor on the snapshot (R40).

Once a snapshot date: the sensor's run key is the date, its cursor the last event it has seen.
What is told to the hook is in ``morning_hook``.
"""

import os
from datetime import date

import dagster as dg

from collection_pipeline.notification.secrecy import settings_redactor
from collection_pipeline.orchestration.assets import SNAPSHOT_KEY
from collection_pipeline.orchestration.failure_words import where_of
from collection_pipeline.orchestration.morning_hook import (
    VARIABLE,
    MorningHook,
    MorningSnapshot,
    load_hook,
    morning_snapshot,
)
from collection_pipeline.orchestration.pipeline_job import (
    Concern,
    concern_tags,
    pipeline_job,
    pipeline_op,
)
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import ALERTS_PRIORITY, ALERTS_SECONDS
from collection_pipeline.orchestration.snapshot_asset import (
    MOST_KNOWN_EVENTS,
    snapshot_date_of,
)
from collection_pipeline.orchestration.told_failure import told_tick
from collection_pipeline.settings import Settings, load_settings

WORDS_CHARS = 500
NO_HOOK = f"{VARIABLE} is not set: nothing waits for the snapshot"
ALERTS_CONFIG = {
    "snapshot_date": dg.Field(
        dg.Noneable(str),
        default_value=None,
        is_required=False,
        description="The day whose final snapshot is handed over, YYYY-MM-DD; today by default.",
    ),
}


@pipeline_op(
    kinds=("mysql", "python"),
    config_schema=ALERTS_CONFIG,
    out=dg.Out(dg.Nothing),
    description=(
        "Call the function that COLLECTION_MORNING_HOOK names with the day's final snapshot, as "
        "it was stored; a header that may still change is refused (R40)."
    ),
)
def start_morning_alerts(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> None:
    """The function runs without any connection of the queue's being held."""
    settings = platform_clients.settings()
    if settings.morning_hook is None:
        context.add_output_metadata({"result": show_result(context, NO_HOOK)})
        return
    hook = load_hook(settings.morning_hook)
    with queue.pipeline(platform_clients) as pipeline:
        named = context.op_config["snapshot_date"]
        day = (
            date.fromisoformat(named) if named else pipeline.transactions.run(pipeline.clock.today)
        )
        morning = pipeline.transactions.run(lambda connection: morning_snapshot(connection, day))
    _call(hook, morning, settings)
    result = show_result(context, f"{day} {morning.status.value}, given to {settings.morning_hook}")
    context.add_output_metadata(
        {
            "result": result,
            "snapshot_date": day.isoformat(),
            "capture_status": morning.status.value,
            "hook": settings.morning_hook,
        }
    )


@dg.config_mapping(config_schema=ALERTS_CONFIG)
def alerts_config(values: dict[str, object]) -> dict[str, object]:
    """``{snapshot_date: "2026-12-01"}`` as the whole run configuration."""
    named = values["snapshot_date"]
    if named is not None:
        date.fromisoformat(str(named))
    return {"ops": {"start_morning_alerts": {"config": values}}}


@pipeline_job(
    does=(
        "The service's own alerts of the morning: calls the function that COLLECTION_MORNING_HOOK "
        "names with the day's final snapshot. Without a hook it has nothing to do. Run "
        "configuration: `snapshot_date: 2026-12-01`."
    ),
    when="Once a snapshot date, after its header is final (`morning_alerts_sensor`).",
    if_it_fails=(
        "The alerts of that day were not, or only partly, sent, and nobody tries again. Mend the "
        "function, then re-execute the run: docs/operations.md#the-morning-hook."
    ),
    concern=Concern.MORNING,
    priority=ALERTS_PRIORITY,
    longest_seconds=ALERTS_SECONDS,
    config=alerts_config,
)
def morning_alerts() -> None:
    """Starts the alerts."""
    start_morning_alerts()


@dg.asset_sensor(
    asset_key=SNAPSHOT_KEY,
    name="morning_alerts_sensor",
    job=morning_alerts,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    tags=concern_tags(Concern.MORNING),
    description=(
        "A new event of the asset `sla_snapshot` means that a header is final: starts "
        "`morning_alerts` once for its date. Skips where COLLECTION_MORNING_HOOK is not set."
    ),
)
@told_tick
def morning_alerts_sensor(
    context: dg.SensorEvaluationContext,
) -> list[dg.RunRequest] | dg.SkipReason:
    """Dagster hands over the newest event only; here each one since the last tick counts."""
    if load_settings(os.environ).morning_hook is None:
        return dg.SkipReason(NO_HOOK)
    dates = {snapshot_date_of(record) for record in _new_events(context)}
    return [
        dg.RunRequest(run_key=day.isoformat(), run_config={"snapshot_date": day.isoformat()})
        for day in sorted(day for day in dates if day is not None)
    ]


def _new_events(context: dg.SensorEvaluationContext) -> list[dg.EventLogRecord]:
    """Only the newest one at the very first tick: no alert is owed for older mornings."""
    cursor = context.cursor
    wanted = dg.AssetRecordsFilter(SNAPSHOT_KEY, after_storage_id=int(cursor) if cursor else None)
    limit = MOST_KNOWN_EVENTS if cursor else 1
    found = context.instance.fetch_materializations(wanted, limit, ascending=bool(cursor))
    return list(found.records)


def _call(hook: MorningHook, morning: MorningSnapshot, settings: Settings) -> None:
    """What the function raises is shown without the pipeline's own secrets (R29)."""
    try:
        hook(morning)
    except Exception as error:
        said = settings_redactor(settings).text(f"{type(error).__name__}: {error}")[:WORDS_CHARS]
        raise dg.Failure(
            f"{settings.morning_hook} ended with {' '.join(said.split())}. Mend it, then "
            "re-execute this run: docs/operations.md#the-morning-hook.",
            metadata=where_of(error),
            allow_retries=False,
        ) from None

"""Schedules and sensors: they start runs and do nothing else (no HTTP, no claim)."""

import os

import dagster as dg

from collection_pipeline.collection.cleanup import CLEANUP_AT
from collection_pipeline.orchestration.dispatch_sensor import collection_dispatch_sensor
from collection_pipeline.orchestration.failure_sensor import run_failure_sensor
from collection_pipeline.orchestration.jobs import daily_cycle_creation, seen_row_cleanup
from collection_pipeline.orchestration.library_schedule import library_ingest_schedule
from collection_pipeline.orchestration.morning_alerts import morning_alerts_sensor
from collection_pipeline.orchestration.observation_checks import observation_checks_schedule
from collection_pipeline.orchestration.pipeline_automation import pipeline_schedule
from collection_pipeline.orchestration.report_job import collection_report_schedule
from collection_pipeline.orchestration.retention_job import retention_schedule
from collection_pipeline.orchestration.run_pruning import dagster_run_pruning_schedule
from collection_pipeline.orchestration.sla_times import (
    capture_cron,
    recovery_cron,
    settings_or_defaults,
)
from collection_pipeline.orchestration.snapshot_jobs import sla_snapshot, sla_snapshot_recovery
from collection_pipeline.settings import Settings, load_settings

daily_cycle_creation_schedule = pipeline_schedule(
    "daily_cycle_creation_schedule",
    job=daily_cycle_creation,
    cron_schedule="0 0 * * *",
    description="Midnight in Seoul: today's cycles. Every tick makes what a lost run did not.",
)
seen_row_cleanup_schedule = pipeline_schedule(
    "seen_row_cleanup_schedule",
    job=seen_row_cleanup,
    cron_schedule=f"{CLEANUP_AT.minute} {CLEANUP_AT.hour} * * *",
    description="10:15 in Seoul: residual seen rows are deleted (R31).",
)


def snapshot_schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """The capture's and the recovery's schedule for the cutoff and tolerance in ``settings``."""
    return [
        pipeline_schedule(
            "sla_snapshot_schedule",
            job=sla_snapshot,
            cron_schedule=capture_cron(settings),
            execution_fn=start_with_valid_settings,
            description=(
                "A minute ahead of the cutoff in Seoul (COLLECTION_SLA_CUTOFF, 09:00): starts the "
                "run that captures at the cutoff. One that starts late judges itself late."
            ),
        ),
        pipeline_schedule(
            "sla_snapshot_recovery_schedule",
            job=sla_snapshot_recovery,
            cron_schedule=recovery_cron(settings),
            execution_fn=start_with_valid_settings,
            description=(
                "Soon after cutoff and tolerance in Seoul: a morning that nobody captured becomes "
                "MISSED, with its reason. Every tick does the same."
            ),
        ),
    ]


def start_with_valid_settings(_context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """A wrong setting fails the schedule's tick with its own words; raises ``InvalidSetting``."""
    load_settings(os.environ)
    return dg.RunRequest()


SCHEDULES = [
    daily_cycle_creation_schedule,
    seen_row_cleanup_schedule,
    *snapshot_schedules(settings_or_defaults(os.environ)),
    collection_report_schedule,
    library_ingest_schedule,
    observation_checks_schedule,
    dagster_run_pruning_schedule,
    retention_schedule,
]
SENSORS = [collection_dispatch_sensor, morning_alerts_sensor, run_failure_sensor]

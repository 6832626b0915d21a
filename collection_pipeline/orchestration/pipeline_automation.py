"""The terms of every schedule and sensor of the pipeline: owned, in Seoul's time, documented.

Dagster's run status and asset sensors take no owner; they have their concern as a tag.
"""

from collections.abc import Callable
from typing import Any

import dagster as dg

from collection_pipeline.orchestration.pipeline_job import OWNERS, Concern, concern_tags, owned
from collection_pipeline.orchestration.told_failure import told_tick

SEOUL = "Asia/Seoul"


def pipeline_schedule(
    name: str, *, job: dg.JobDefinition, cron_schedule: str, description: str, **options: Any
) -> dg.ScheduleDefinition:
    """One that runs as soon as it is deployed."""
    with owned():
        return dg.ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule=cron_schedule,
            execution_timezone=SEOUL,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description=description,
            owners=list(OWNERS),
            **options,
        )


def pipeline_asking_schedule(
    **options: Any,
) -> Callable[[Callable[..., Any]], dg.ScheduleDefinition]:
    """``dg.schedule`` of one that is switched on by hand, and asks each time whether to start."""

    def making(evaluate: Callable[..., Any]) -> dg.ScheduleDefinition:
        with owned():
            return dg.schedule(
                execution_timezone=SEOUL,
                default_status=dg.DefaultScheduleStatus.STOPPED,
                owners=list(OWNERS),
                **options,
            )(told_tick(evaluate))

    return making


def pipeline_sensor(
    *, concern: Concern, **options: Any
) -> Callable[[Callable[..., Any]], dg.SensorDefinition]:
    """``dg.sensor`` of one that runs as soon as it is deployed."""

    def making(evaluate: Callable[..., Any]) -> dg.SensorDefinition:
        with owned():
            return dg.sensor(
                default_status=dg.DefaultSensorStatus.RUNNING,
                owners=list(OWNERS),
                tags=concern_tags(concern),
                **options,
            )(told_tick(evaluate))

    return making

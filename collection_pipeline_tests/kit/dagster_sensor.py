"""A sensor, asked as the daemon asks it, with the project's own resources."""

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData

from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.resources import RESOURCES

DISPATCH = "collection_dispatch_sensor"


def asked_sensor(
    instance: dg.DagsterInstance, name: str = DISPATCH, cursor: str | None = None
) -> SensorExecutionData:
    """One evaluation over ``instance``; the stack's settings must be this process's.

    ``cursor``: what the evaluation before left.
    """
    repository = defs.get_repository_def()
    sensor = repository.get_sensor_def(name)
    with dg.build_sensor_context(
        instance=instance, repository_def=repository, resources=RESOURCES, cursor=cursor
    ) as context:
        return sensor.evaluate_tick(context)


def only_request(
    instance: dg.DagsterInstance, name: str = DISPATCH, cursor: str | None = None
) -> dg.RunRequest:
    """The one run that it asks for; none or several is an error of the test."""
    (request,) = asked_sensor(instance, name, cursor).run_requests or []
    return request


def skip_reason(
    instance: dg.DagsterInstance, name: str = DISPATCH, cursor: str | None = None
) -> str:
    """Why it asks for none."""
    asked = asked_sensor(instance, name, cursor)
    assert not asked.run_requests
    assert asked.skip_message
    return asked.skip_message

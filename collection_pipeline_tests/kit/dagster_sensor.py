"""The dispatch sensor, asked as the daemon asks it, with the project's own resources."""

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData

from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.resources import RESOURCES


def asked_sensor(instance: dg.DagsterInstance) -> SensorExecutionData:
    """One evaluation over ``instance``; the stack's settings must be this process's."""
    repository = defs.get_repository_def()
    sensor = repository.get_sensor_def("collection_dispatch_sensor")
    with dg.build_sensor_context(
        instance=instance, repository_def=repository, resources=RESOURCES
    ) as context:
        return sensor.evaluate_tick(context)


def only_request(instance: dg.DagsterInstance) -> dg.RunRequest:
    """The one run that it asks for; none or several is an error of the test."""
    (request,) = asked_sensor(instance).run_requests or []
    return request


def skip_reason(instance: dg.DagsterInstance) -> str:
    """Why it asks for none."""
    asked = asked_sensor(instance)
    assert not asked.run_requests
    assert asked.skip_message
    return asked.skip_message

"""Added hosts: they dispatch for themselves and start nothing that has a time of day (R8, R35)."""

from collections.abc import Callable

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.remote_origin import (
    GrpcServerCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.resources import RESOURCES
from collection_pipeline.orchestration.run_pruning import BUSY_JOBS
from collection_pipeline.orchestration.run_tags import DISPATCH_TAG
from collection_pipeline.worker_definitions import defs as worker_defs
from collection_pipeline_tests.kit.dagster_runs import run_job
from collection_pipeline_tests.kit.dagster_sensor import asked_sensor
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
JOB, SENSOR = "worker_dispatch", "worker_dispatch_sensor"


def code_server(location: str) -> GrpcServerCodeLocationOrigin:
    """A host's code server, by the name of its code location."""
    return GrpcServerCodeLocationOrigin(host="127.0.0.1", port=4000, location_name=location)


def asked_on(instance: dg.DagsterInstance, location: str) -> SensorExecutionData:
    """The sensor's answer as the code server of ``location`` gives it."""
    repository = worker_defs.get_repository_def()
    sensor = repository.get_sensor_def(SENSOR)
    with dg.build_sensor_context(
        instance=instance, repository_def=repository, resources=RESOURCES
    ) as context:
        # Only the code server knows where it stands; the builder for tests has no such parameter.
        context._code_location_origin = code_server(location)
        return sensor.evaluate_tick(context)


def test_an_added_host_starts_nothing_that_the_first_one_starts() -> None:
    """R35: a schedule in two code locations starts twice."""
    first, added = defs.get_repository_def(), worker_defs.get_repository_def()
    assert added.schedule_defs == []
    assert {sensor.name for sensor in added.sensor_defs} == {SENSOR}
    names = {job.name for job in added.get_all_jobs()}
    assert JOB in names
    assert names.isdisjoint(job.name for job in first.get_all_jobs())
    assert SENSOR not in {sensor.name for sensor in first.sensor_defs}
    dg.Definitions.validate_loadable(worker_defs)


def test_an_added_hosts_job_has_the_terms_of_the_first_ones() -> None:
    """R35: never repeated, bounded, behind the capture, limited by the tag, pruned as often."""
    first = defs.resolve_job_def("collection_dispatch")
    added = worker_defs.resolve_job_def(JOB)
    assert added.executor_def.name == first.executor_def.name == "in_process"
    assert DISPATCH_TAG in added.tags
    assert {**added.tags, DISPATCH_TAG: ""} == {**first.tags, DISPATCH_TAG: ""}
    assert JOB in BUSY_JOBS


def test_each_hosts_ticks_are_counted_apart(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """A tick that waits for one host, or for the first, takes no turn of another host."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    (request,) = asked_on(instance, "collection_worker_b").run_requests or []
    assert request.tags[DISPATCH_TAG] == "collection_worker_b"
    assert int(request.tags["dagster/max_runtime"]) < 3600
    waiting = dg.DagsterRunStatus.NOT_STARTED
    instance.create_run_for_job(defs.resolve_job_def("collection_dispatch"), status=waiting)
    instance.create_run_for_job(
        worker_defs.resolve_job_def(JOB), status=waiting, tags={DISPATCH_TAG: "collection_worker_c"}
    )
    assert asked_on(instance, "collection_worker_b").run_requests
    blocked = asked_on(instance, "collection_worker_c")
    assert not blocked.run_requests
    assert "1 dispatch run(s)" in (blocked.skip_message or "")


def test_an_added_host_works_slices_as_the_first_one_does(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R5: the same op under the same run configuration."""
    stack = open_stack(source("greenhouse", "board", 3))
    one = stack.add("greenhouse", "board")
    result = run_job(JOB, open_instance(stack), {"drain": True}, definitions=worker_defs)
    assert result.success
    assert stack.end_of(one) == ("SUCCESS", None)


def test_the_first_host_tells_of_a_run_that_failed_on_an_added_one(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: the added host may be what has failed, so it cannot be asked to tell."""
    stack = open_stack()
    instance = open_instance(stack)
    cursor = asked_sensor(instance, "run_failure_sensor").cursor
    repository = RemoteRepositoryOrigin(code_server("collection_worker_b"), "__repository__")
    run = dg.DagsterRun(job_name=JOB, remote_job_origin=RemoteJobOrigin(repository, JOB))
    instance.add_run(run)
    instance.report_run_failed(run)
    asked_sensor(instance, "run_failure_sensor", cursor)
    told = stack.rows("SELECT kind FROM notification_outbox")
    assert [row["kind"] for row in told] == [f"RUN_FAILED.{JOB}"]

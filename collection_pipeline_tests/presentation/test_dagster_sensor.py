"""The dispatch sensor: one bounded run when there is work, else none (R5, R35, R44)."""

from collections.abc import Callable

import dagster as dg
import pytest

from collection_pipeline.definitions import defs
from collection_pipeline_tests.kit.dagster_sensor import only_request, skip_reason
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]


def test_the_sensor_starts_no_run_in_an_idle_minute(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """Spec section 1: nothing due, expired or missing; it asks by reads and changes nothing."""
    stack = open_stack(source("greenhouse", "board", 3))
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    stack.tick()
    before = stack.tables()
    assert "nothing is due" in skip_reason(instance)
    assert stack.tables() == before


def test_the_sensor_asks_for_one_bounded_tick_when_there_is_work(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R35, R5, R11: a missing cycle, a due one, an expired lease; HTTP and claims are the run's."""
    stack = open_stack(source("greenhouse", "board", 3))
    one = stack.add("greenhouse", "board")
    instance = open_instance(stack)
    services = stack.pipeline
    for half_of_a_tick in (
        None,
        services.creation.create_daily_cycles,
        services.dispatch.make_ready,
    ):
        if half_of_a_tick:
            half_of_a_tick()
        request = only_request(instance)
        assert request.tags["collection/dispatch"] == "tick"
        assert int(request.tags["dagster/max_runtime"]) < 3600
        assert not request.run_config
    stack.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING', lease_token = 'gone',"
        " lease_owner = 'gone', lease_until = :past",
        past=stack.now(),
    )
    assert only_request(instance).tags
    assert stack.requests(one) == []


def test_the_sensor_waits_for_a_run_that_has_not_started(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """Spec section 1: a queue of ticks would find the same work; a running one does not hinder."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    job = defs.resolve_job_def("collection_dispatch")
    waiting = instance.create_run_for_job(job, status=dg.DagsterRunStatus.NOT_STARTED)
    assert "1 dispatch run(s)" in skip_reason(instance)
    instance.delete_run(waiting.run_id)
    instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert only_request(instance).tags


def test_the_sensor_starts_nothing_while_the_flag_is_off(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R44: neither a missing nor a due cycle is work then; recovery goes on."""
    stack = open_stack(source("greenhouse", "board", 3))
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    stack.pipeline.dispatch.make_ready()
    stack.set_flags("posting.collection-dispatch-v2", enabled=False)
    stack.add("greenhouse", "other")
    assert "nothing is due" in skip_reason(instance)
    stack.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING', lease_token = 'gone',"
        " lease_owner = 'gone', lease_until = :past",
        past=stack.now(),
    )
    assert only_request(instance).tags


def test_the_sensor_starts_a_tick_for_what_waits_to_be_told(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: a delivery is tried again by later ticks, also when nothing is to be collected."""
    stack = open_stack()
    instance = open_instance(stack)
    stack.tick()
    assert "nothing is to be told" in skip_reason(instance)
    assert stack.pipeline.notifications.note_run_failed("a_job", "a-run", "step one: Refused")
    assert only_request(instance).tags["collection/dispatch"] == "tick"
    stack.pipeline.notifications.deliver()
    assert "nothing is to be told" in skip_reason(instance)

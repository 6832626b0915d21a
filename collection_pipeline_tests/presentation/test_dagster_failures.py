"""A failed run is told once a day and job, by kinds only; telling never fails (R29, R40)."""

import json
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from collection_pipeline_tests.kit.dagster_runs import failed_run, run_job
from collection_pipeline_tests.kit.dagster_sensor import asked_sensor
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
SENSOR = "run_failure_sensor"
QUOTED = "refused for key pl4nted"


class RefusedByTheTest(RuntimeError):
    """What the run's own code raises."""


@pytest.fixture
def broken_creation(monkeypatch: pytest.MonkeyPatch, open_stack: OpenStack) -> Stack:
    """A stack on which the midnight job fails with a text that nobody may be told."""
    stack = open_stack()

    def refusing(_service: object) -> None:
        raise RefusedByTheTest(QUOTED)

    monkeypatch.setattr(type(stack.pipeline.creation), "create_daily_cycles", refusing)
    return stack


def _told(stack: Stack) -> list[dict[str, Any]]:
    rows = stack.rows("SELECT kind, state, payload FROM notification_outbox ORDER BY id")
    return [{**row, "payload": json.loads(row["payload"])} for row in rows]


def _started(instance: dg.DagsterInstance) -> str:
    """The cursor of a sensor that has begun to watch."""
    cursor = asked_sensor(instance, SENSOR).cursor
    assert cursor
    return cursor


def test_the_first_failure_of_a_job_and_day_is_told_by_step_and_kind(
    broken_creation: Stack, open_instance: OpenInstance
) -> None:
    """R40, R29: with the run's id, without the error's text; delivered at once."""
    stack, instance = broken_creation, open_instance(broken_creation)
    cursor = _started(instance)
    first = failed_run("daily_cycle_creation", instance)
    asked = asked_sensor(instance, SENSOR, cursor)
    assert not asked.run_requests
    (told,) = _told(stack)
    assert (told["kind"], told["state"]) == ("RUN_FAILED.daily_cycle_creation", "LOGGED")
    text = json.dumps(told["payload"])
    assert first.run_id in text
    assert "step create_cycles: RefusedByTheTest" in text
    assert QUOTED not in text
    failed_run("daily_cycle_creation", instance)
    assert asked_sensor(instance, SENSOR, asked.cursor).cursor != asked.cursor
    assert len(_told(stack)) == 1
    failed_run("collection_dispatch", instance)
    asked_sensor(instance, SENSOR, asked.cursor)
    assert [one["kind"] for one in _told(stack)] == [
        "RUN_FAILED.daily_cycle_creation",
        "RUN_FAILED.collection_dispatch",
    ]


def test_a_run_that_ended_well_is_not_told(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: nothing is said of it."""
    stack = open_stack()
    instance = open_instance(stack)
    cursor = _started(instance)
    run_job("daily_cycle_creation", instance)
    asked_sensor(instance, SENSOR, cursor)
    assert _told(stack) == []


def test_a_run_whose_process_died_is_told_too(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: monitoring ended it, so no step has failed."""
    stack = open_stack()
    instance = open_instance(stack)
    cursor = _started(instance)
    result = run_job("daily_cycle_creation", instance)
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    instance.report_run_failed(run)
    asked_sensor(instance, SENSOR, cursor)
    (told,) = _told(stack)
    assert "no step failed: its process died" in json.dumps(told["payload"])


@pytest.mark.parametrize("away", ["schema", "server"])
def test_the_sensor_says_that_it_could_not_note_a_failure(
    broken_creation: Stack,
    open_instance: OpenInstance,
    monkeypatch: pytest.MonkeyPatch,
    away: str,
) -> None:
    """R40: the queue's database is away or behind, which is why the run failed."""
    stack, instance = broken_creation, open_instance(broken_creation)
    cursor = _started(instance)
    failed = failed_run("daily_cycle_creation", instance)
    if away == "server":
        nowhere = "mysql+pymysql://me:planted-password@127.0.0.1:1/queue"
        monkeypatch.setenv("COLLECTION_DATABASE_URL", nowhere)
    else:
        stack.write("RENAME TABLE collection_schema_version TO version_elsewhere")
    try:
        asked = asked_sensor(instance, SENSOR, cursor)
    finally:
        if away == "schema":
            stack.write("RENAME TABLE version_elsewhere TO collection_schema_version")
    assert not asked.run_requests
    reason = asked.skip_message or ""
    assert failed.run_id in reason
    assert "could not be noted" in reason
    assert "planted" not in reason
    assert _told(stack) == []

"""The morning hook: called once a date, after the header is final, with what was stored (R40)."""

from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import time
from typing import Any

import dagster as dg
import pytest
from sqlalchemy.engine import make_url

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.orchestration.morning_hook import WrongMorningHook, load_hook
from collection_pipeline_tests.kit import morning_hooks
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_runs import error_of, failed_run, run_job
from collection_pipeline_tests.kit.dagster_sensor import (
    asked_sensor,
    only_request,
    skip_reason,
)
from collection_pipeline_tests.kit.dagster_world import every_text
from collection_pipeline_tests.kit.leak_search import assert_no_secret
from collection_pipeline_tests.kit.morning_hooks import CALLS
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
SENSOR = "morning_alerts_sensor"
OP = "start_morning_alerts"
HOOKS = morning_hooks.__name__
NOTE = f"{HOOKS}:note"


@pytest.fixture(autouse=True)
def calls() -> Iterator[None]:
    """No call of another test's."""
    CALLS.clear()
    yield
    CALLS.clear()


def _run_asked_for(instance: dg.DagsterInstance, request: dg.RunRequest) -> None:
    run_job("morning_alerts", instance, dict(request.run_config))


def test_the_hook_is_called_once_with_the_captured_morning(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: the state of the cutoff, although a source has gone on since; one run for the date."""
    stack = open_stack(source("greenhouse", "board", 3), MORNING_HOOK=NOTE)
    board = stack.add("greenhouse", "board")
    instance = open_instance(stack)
    assert asked_sensor(instance, SENSOR).run_requests == []
    # The header is made ahead of time, however slowly the run starts.
    stack.pipeline.creation.create_daily_cycles()
    stack.set_clock(1, time(8, 59, 57))
    run_job("sla_snapshot", instance)
    stack.tick()
    assert stack.end_of(board) == ("SUCCESS", None)
    assert CALLS == []

    asked = asked_sensor(instance, SENSOR)
    (request,) = asked.run_requests or []
    assert request.run_key == stack.day(1).isoformat()
    _run_asked_for(instance, request)
    (morning,) = CALLS
    assert (morning.snapshot_date, morning.status) == (stack.day(1), CaptureStatus.CAPTURED)
    assert (morning.late_count, morning.miss_reason) == (1, None)
    assert morning.captured_at is not None
    assert morning.captured_at.isoformat().startswith(f"{stack.day(1)}T09:00:00")
    assert morning.captured_at.isoformat().endswith("+09:00")
    (item,) = morning.items
    assert (item.job_source_id, item.cycle_status) == (board, CycleStatus.NOT_STARTED)
    with pytest.raises(FrozenInstanceError):
        morning.late_count = 0  # type: ignore[misc]  # frozen: refused
    assert skip_reason(instance, SENSOR, asked.cursor)


@pytest.mark.parametrize(
    ("deployed", "status"),
    [(time(0, 6), CaptureStatus.MISSED), (time(10), CaptureStatus.NOT_APPLICABLE)],
)
def test_a_morning_without_a_capture_reaches_the_hook_too(
    open_stack: OpenStack, open_instance: OpenInstance, deployed: time, status: CaptureStatus
) -> None:
    """R40, R42: the service decides what it holds back; there is no count and no item then."""
    stack = open_stack(MORNING_HOOK=NOTE)
    stack.add("greenhouse", "board")
    stack.set_clock(1, deployed)
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    stack.set_clock(1, time(10, 1))
    run_job("collection_dispatch", instance, {"max_seconds": 1.0})
    _run_asked_for(instance, only_request(instance, SENSOR))
    (morning,) = CALLS
    assert (morning.snapshot_date, morning.status) == (stack.day(1), status)
    assert (morning.captured_at, morning.late_count, morning.items) == (None, None, ())
    assert morning.miss_reason


def test_each_date_since_the_last_tick_has_a_run_of_its_own(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: several mornings that end in one run are several events; the newest hides none."""
    stack = open_stack(MORNING_HOOK=NOTE)
    stack.add("greenhouse", "board")
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    stack.set_clock(1, time(9, 2))
    run_job("sla_snapshot_recovery", instance)
    asked = asked_sensor(instance, SENSOR)
    assert [one.run_key for one in asked.run_requests or []] == [str(stack.day(1))]
    stack.set_clock(2, time(0, 5))
    stack.pipeline.creation.create_daily_cycles()
    stack.set_clock(3, time(9, 2))
    run_job("sla_snapshot_recovery", instance)
    later = asked_sensor(instance, SENSOR, asked.cursor)
    assert [one.run_key for one in later.run_requests or []] == [
        str(stack.day(2)),
        str(stack.day(3)),
    ]
    only_newest = asked_sensor(instance, SENSOR)
    assert [one.run_key for one in only_newest.run_requests or []] == [str(stack.day(3))]


def test_without_a_hook_the_sensor_says_so_and_starts_nothing(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: and a hook that is set later is not called for mornings that have passed."""
    stack = open_stack()
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    stack.set_clock(1, time(9, 2))
    run_job("sla_snapshot_recovery", instance)
    asked = asked_sensor(instance, SENSOR)
    assert not asked.run_requests
    assert "COLLECTION_MORNING_HOOK is not set" in (asked.skip_message or "")
    assert asked.cursor
    assert run_job("morning_alerts", instance).success


@pytest.mark.parametrize("config", [None, {"snapshot_date": None}, "tomorrow"])
def test_a_header_that_may_still_change_reaches_no_hook(
    open_stack: OpenStack, open_instance: OpenInstance, config: Any
) -> None:
    """R40: a run by hand before the capture, today by default, is refused."""
    stack = open_stack(MORNING_HOOK=NOTE)
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    if config == "tomorrow":
        config = {"snapshot_date": stack.day(2).isoformat()}
    result = failed_run("morning_alerts", instance, config)
    assert "is PENDING" in error_of(result, OP)
    assert CALLS == []


def test_a_day_without_a_header_reaches_no_hook(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R42: UNAVAILABLE is not a result of a morning."""
    stack = open_stack(MORNING_HOOK=NOTE)
    result = failed_run("morning_alerts", open_instance(stack), {"snapshot_date": "2020-01-01"})
    assert "2020-01-01 is UNAVAILABLE" in error_of(result, OP)


@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", "", 5])
def test_a_date_that_is_none_is_refused(
    open_stack: OpenStack, open_instance: OpenInstance, date: object
) -> None:
    """Spec section 3: before a run is made of it."""
    instance = open_instance(open_stack())
    with pytest.raises(dg.DagsterError):
        run_job("morning_alerts", instance, {"snapshot_date": date})
    assert instance.get_runs_count() == 0


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_package.module:function", "cannot be imported"),
        (f"{HOOKS}.deeper:note", "cannot be imported"),
        (f"{HOOKS}:missing", "has no function 'missing'"),
        (f"{HOOKS}:NOT_CALLABLE", "has no function 'NOT_CALLABLE'"),
    ],
)
def test_a_wrong_name_of_a_hook_is_told_with_its_variable(name: str, problem: str) -> None:
    """Spec section 3: one clear sentence."""
    with pytest.raises(WrongMorningHook, match=problem) as caught:
        load_hook(name)
    assert f"COLLECTION_MORNING_HOOK={name}" in str(caught.value)


def test_the_check_command_says_whether_the_hook_can_be_called(cli: CommandLine) -> None:
    """Spec section 3: at noon, and not at 09:00."""
    assert cli("check", "--json", MORNING_HOOK=NOTE).json["morning_hook"] == NOTE
    said = cli("check", MORNING_HOOK=f"{HOOKS}:missing")
    assert said.code == 3
    assert "has no function 'missing'" in said.sentence


def test_a_wrong_hook_fails_its_run_with_the_same_words(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: never silently without alerts."""
    instance = open_instance(open_stack(MORNING_HOOK="no_such_package.module:function"))
    result = failed_run("morning_alerts", instance)
    assert "COLLECTION_MORNING_HOOK=no_such_package" in error_of(result, OP)


def test_what_a_hook_raises_is_shown_without_the_pipelines_secrets(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str
) -> None:
    """R29: the hook quotes a key that it can read in its environment."""
    stack = open_stack(MORNING_HOOK=f"{HOOKS}:fail", access_key=morning_hooks.SECRET)
    stack.pipeline.creation.create_daily_cycles()
    stack.set_clock(1, time(9, 2))
    stack.pipeline.snapshots.mark_missed_snapshot()
    result = failed_run("morning_alerts", open_instance(stack))
    description = error_of(result, OP)
    assert f"{HOOKS}:fail ended with RuntimeError: no alert for {stack.day(1)}" in description
    assert "[redacted]" in description
    shown = "\n".join(value for _, value in every_text(dagster_url))
    assert "ended with RuntimeError" in shown
    assert morning_hooks.SECRET not in shown


def test_a_long_error_of_a_hook_is_redacted_before_it_is_cut(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str
) -> None:
    """R29: the database's password, whose beginning alone would not be known for a secret."""
    stack = open_stack(MORNING_HOOK=f"{HOOKS}:quote_the_database")
    stack.pipeline.creation.create_daily_cycles()
    stack.set_clock(1, time(9, 2))
    stack.pipeline.snapshots.mark_missed_snapshot()
    result = failed_run("morning_alerts", open_instance(stack))
    assert "RuntimeError: xxx" in error_of(result, OP)
    password = str(make_url(stack.url).password)
    assert_no_secret(
        {"the password": password, "its beginning": password[:10]}, databases=[dagster_url]
    )

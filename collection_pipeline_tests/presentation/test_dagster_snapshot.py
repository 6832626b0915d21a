"""The morning as Dagster runs: captured, missed, recovered, each recorded once (R36 to R40)."""

from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from collection_pipeline_tests.kit.dagster_runs import (
    checked,
    materialized,
    output_of,
    run_job,
)
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
    every_text,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, wait_until

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
JUST_BEFORE = time(8, 59, 59)
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j")
PLANTED = "pl4nted-webhook-path"


def _header(stack: Stack, number: int = 1) -> dict[str, Any]:
    (header,) = stack.rows(
        "SELECT capture_status, captured_at, miss_reason"
        " FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day",
        day=stack.day(number),
    )
    return header


def _told(stack: Stack) -> list[tuple[Any, str]]:
    rows = stack.rows("SELECT notification_date, kind FROM notification_outbox ORDER BY id")
    return [(row["notification_date"], row["kind"]) for row in rows]


def _one_of_two_is_late(open_stack: OpenStack, **settings: object) -> Stack:
    stack = open_stack(source("greenhouse", "board", 3), source("saramin", "broken", 3), **settings)
    stack.add("greenhouse", "board")
    stack.add("saramin", "broken")
    stack.simulator.add_fault({"name": "http_429", "key": "broken"})
    stack.tick()
    return stack


def test_a_run_started_ahead_captures_at_the_cutoff_and_tells(
    open_stack: OpenStack, open_instance: OpenInstance, tmp_path: Path
) -> None:
    """R36, R38, R40: the numbers are plotted, the check passes, the report follows the event."""
    stack = _one_of_two_is_late(open_stack, DAGSTER_UI_URL="https://dagster.test/ui")
    instance = open_instance(stack)
    stack.set_clock(1, JUST_BEFORE)
    result = run_job("sla_snapshot", instance)
    header = _header(stack)
    assert header["capture_status"] == "CAPTURED"
    day = stack.day(1).isoformat()
    (event,) = materialized(instance, "sla_snapshot")
    captured_at = event.pop("captured_at")
    assert captured_at.startswith(f"{day}T09:00:00")
    assert captured_at.endswith("+09:00")
    assert event == {
        "capture_status": "CAPTURED",
        "snapshot_date": day,
        "late_count": 1,
        "sources": 2,
        "link": f"https://dagster.test/ui/runs/{result.run_id}",
    }
    assert checked(result) == {"snapshot_captured": True}
    assert _told(stack) == [(stack.day(1), "MORNING_REPORT")]
    shown = output_of(result, "capture_snapshot")
    assert (shown["snapshot_date"], shown["capture_status"]) == (day, "CAPTURED")
    assert 0 <= shown["gate_held_seconds"] < 5
    (attempt,) = stack.rows(
        "SELECT dagster_run_id, outcome FROM job_posting_collection_sla_capture_attempts"
    )
    assert attempt == {"dagster_run_id": result.run_id, "outcome": "CAPTURED"}
    left = [path.name for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert left == ["dagster.yaml"]


def test_a_run_that_came_too_late_ends_well_with_a_missed_day(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R38, R40: MISSED is the day's truth and an incident, not a failed run; no number is made."""
    stack = _one_of_two_is_late(open_stack)
    instance = open_instance(stack)
    stack.set_clock(1, time(9, 0, 6))
    result = run_job("sla_snapshot", instance)
    assert result.success
    header = _header(stack)
    assert (header["capture_status"], header["captured_at"]) == ("MISSED", None)
    assert materialized(instance, "sla_snapshot") == [
        {
            "capture_status": "MISSED",
            "snapshot_date": stack.day(1).isoformat(),
            "miss_reason": header["miss_reason"],
        }
    ]
    assert checked(result) == {"snapshot_captured": False}
    assert _told(stack) == [(stack.day(1), "SNAPSHOT_MISSED")]


def test_a_run_far_ahead_of_the_cutoff_ends_at_once(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R38: nothing is final, so nothing is recorded and nobody is told."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    result = run_job("sla_snapshot", instance)
    assert output_of(result, "capture_snapshot")["capture_status"] == "PENDING"
    assert _header(stack)["capture_status"] == "PENDING"
    assert materialized(instance, "sla_snapshot") == []
    assert checked(result) == {}
    assert _told(stack) == []


def test_two_runs_at_once_capture_once_and_show_no_address(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str, tmp_path: Path
) -> None:
    """R39, R29, R40: both end well although the webhook is down; its address is nowhere."""
    stack = _one_of_two_is_late(open_stack, WEBHOOK_URL=f"http://127.0.0.1:9/{PLANTED}")
    instance = open_instance(stack)
    environment = dagster_environment(stack.environment, dagster_url, tmp_path / "home")
    log = tmp_path / "log"
    stack.set_clock(1, time(8, 58))
    other = dagster_process(environment, *EXECUTE, "sla_snapshot", output=log)
    attempts = "SELECT COUNT(*) FROM job_posting_collection_sla_capture_attempts"
    wait_until("the other run waits for the cutoff", lambda: stack.value(attempts) == 1)
    stack.set_clock(1, JUST_BEFORE)
    result = run_job("sla_snapshot", instance)
    assert other.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
    attempts = "SELECT outcome FROM job_posting_collection_sla_capture_attempts ORDER BY outcome"
    outcomes = [row["outcome"] for row in stack.rows(attempts)]
    # A run that comes when all is over finds the header final and begins no attempt.
    assert outcomes in (["CAPTURED"], ["ALREADY_FINAL", "CAPTURED"])
    assert output_of(result, "capture_snapshot")["capture_status"] == "CAPTURED"
    header = _header(stack)
    again = run_job("sla_snapshot", instance)
    assert output_of(again, "capture_snapshot")["captured_here"] == "no"
    assert _header(stack) == header
    assert checked(again) == {}
    assert {event["snapshot_date"] for event in materialized(instance, "sla_snapshot")} == {
        stack.day(1).isoformat()
    }
    (told,) = stack.rows("SELECT kind, state, last_error FROM notification_outbox")
    assert (told["kind"], told["state"]) == ("MORNING_REPORT", "WAITING")
    assert told["last_error"]
    shown = [log.read_text(encoding="utf-8"), *(value for _, value in every_text(dagster_url))]
    assert any("notify_morning" in text for text in shown)
    assert not any(PLANTED in text for text in shown)


def test_recovery_records_and_tells_each_morning_that_nobody_captured(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R38, R40: once; the second run finds nothing to do."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    stack.set_clock(2, time(9, 2))
    result = run_job("sla_snapshot_recovery", instance)
    days = [stack.day(1), stack.day(2)]
    assert output_of(result, "recover_snapshots")["made_final"] == ", ".join(
        f"MISSED {day}" for day in days
    )
    events = materialized(instance, "sla_snapshot")
    assert [event["snapshot_date"] for event in reversed(events)] == [str(day) for day in days]
    assert {event["capture_status"] for event in events} == {"MISSED"}
    assert [one.passed for one in result.get_asset_check_evaluations()] == [False, False]
    assert _told(stack) == [(day, "SNAPSHOT_MISSED") for day in days]
    again = run_job("sla_snapshot_recovery", instance)
    assert output_of(again, "recover_snapshots")["made_final"] == ""
    assert len(materialized(instance, "sla_snapshot")) == 2
    assert len(_told(stack)) == 2


def test_a_tick_that_recovers_a_morning_records_and_tells_it(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R38, R40: recovery is part of every tick, also where both of the morning's runs were lost."""
    stack = open_stack(source("greenhouse", "board", 3))
    stack.add("greenhouse", "board")
    stack.pipeline.creation.create_daily_cycles()
    instance = open_instance(stack)
    stack.set_clock(1, time(9, 5))
    result = run_job("collection_dispatch", instance, {"drain": True})
    assert _header(stack)["capture_status"] == "MISSED"
    (event,) = materialized(instance, "sla_snapshot")
    assert event["capture_status"] == "MISSED"
    assert checked(result) == {"snapshot_captured": False}
    assert _told(stack) == [(stack.day(1), "SNAPSHOT_MISSED")]


def test_a_header_that_was_final_when_it_was_made_has_its_event_too(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R37: the first deployment came after the cutoff; not an incident, and the check passes."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    stack.set_clock(1, time(10, 0))
    stack.pipeline.creation.create_daily_cycles()
    result = run_job("sla_snapshot_recovery", instance)
    (event,) = materialized(instance, "sla_snapshot")
    assert event["capture_status"] == "NOT_APPLICABLE"
    assert "late_count" not in event
    assert event["miss_reason"] == _header(stack)["miss_reason"]
    assert checked(result) == {"snapshot_captured": True}
    assert _told(stack) == []


def test_an_event_that_a_killed_run_owed_is_written_by_the_next_one(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: the capture was committed and the process died; what waits for the event is not lost."""
    stack = _one_of_two_is_late(open_stack)
    instance = open_instance(stack)
    stack.set_clock(1, JUST_BEFORE)
    assert stack.pipeline.snapshots.capture_at_nine(worker="died").captured_here
    assert materialized(instance, "sla_snapshot") == []
    result = run_job("sla_snapshot_recovery", instance)
    (event,) = materialized(instance, "sla_snapshot")
    assert (event["capture_status"], event["late_count"], event["sources"]) == ("CAPTURED", 1, 2)
    assert checked(result) == {"snapshot_captured": True}
    assert _told(stack) == [(stack.day(1), "MORNING_REPORT")]

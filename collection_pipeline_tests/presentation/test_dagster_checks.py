"""Asset checks by hand: the newest morning that is due, and what the cleanup left (R31, R45)."""

from collections.abc import Callable
from datetime import time

import dagster as dg
import pytest

from collection_pipeline.definitions import defs
from collection_pipeline_tests.kit.dagster_runs import plain, run_job
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]


def _by_hand(instance: dg.DagsterInstance) -> dict[str, dg.AssetCheckEvaluation]:
    """Both checks, executed as the UI does it."""
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(instance=instance)
    found = {
        one.check_name: one
        for one in result.get_asset_check_evaluations()
        if one.check_name in {"snapshot_captured", "no_seen_row_older_than_48_hours"}
    }
    assert len(found) == 2
    assert all(one.severity is dg.AssetCheckSeverity.ERROR for one in found.values())
    return found


def _morning(instance: dg.DagsterInstance) -> tuple[bool, str]:
    check = _by_hand(instance)["snapshot_captured"]
    return check.passed, check.description or ""


def test_the_check_is_about_the_newest_morning_that_is_due(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R38, R45: a day before its cutoff is not judged, a PENDING one past its time fails."""
    stack = open_stack()
    stack.add("greenhouse", "board")
    instance = open_instance(stack)
    stack.pipeline.creation.create_daily_cycles()
    first, second = stack.day(1), stack.day(2)
    passed, words = _morning(instance)
    assert passed
    assert "no cutoff has passed" in words
    stack.set_clock(1, time(9, 0, 30))
    assert _morning(instance) == (True, f"{first} is being captured")
    stack.set_clock(1, time(9, 1, 30))
    assert _morning(instance) == (False, f"{first} is still PENDING after its time")
    stack.pipeline.snapshots.mark_missed_snapshot()
    stack.set_clock(2, time(8, 30))
    passed, words = _morning(instance)
    assert not passed
    assert words.startswith(f"{first} was missed: ")
    stack.set_clock(2, time(8, 59, 59))
    assert stack.pipeline.snapshots.capture_at_nine(worker="test").captured_here
    check = _by_hand(instance)["snapshot_captured"]
    assert check.passed
    assert plain(check.metadata) == {
        "snapshot_date": second.isoformat(),
        "capture_status": "CAPTURED",
    }


def test_a_day_for_which_nothing_ran_fails_the_check(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R45: no header at all is not a good morning, unless there never was one before."""
    stack = open_stack()
    instance = open_instance(stack)
    stack.pipeline.creation.create_daily_cycles()
    stack.set_clock(3, time(9, 0, 1))
    passed, words = _morning(instance)
    assert not passed
    assert f"{stack.day(3)} has no header" in words


def test_a_day_that_was_not_applicable_passes(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R37: the header was first made after the cutoff."""
    stack = open_stack()
    instance = open_instance(stack)
    stack.set_clock(1, time(10))
    stack.pipeline.creation.create_daily_cycles()
    passed, words = _morning(instance)
    assert passed
    assert "nothing to capture" in words


def _seen_rows(instance: dg.DagsterInstance) -> tuple[bool, int]:
    check = _by_hand(instance)["no_seen_row_older_than_48_hours"]
    return check.passed, plain(check.metadata)["seen_rows_older_than_48_hours"]


def test_seen_rows_count_only_once_a_cleanup_should_have_deleted_them(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R31: yesterday's unfinished cycle keeps its rows until 10:15, and not a minute longer."""
    stack = open_stack(source("saramin", "long", 900))
    stack.add("saramin", "long")
    stack.tick(drain=False)
    instance = open_instance(stack)
    assert _seen_rows(instance) == (True, 0)
    stack.set_clock(2, time(10, 14))
    assert _seen_rows(instance) == (True, 0)
    stack.set_clock(2, time(10, 15))
    assert _seen_rows(instance) == (False, 440)
    result = run_job("seen_row_cleanup", instance)
    assert [one.passed for one in result.get_asset_check_evaluations()] == [True]
    assert _seen_rows(instance) == (True, 0)


def test_rows_that_the_cleanup_leaves_fail_the_check_and_are_told(
    open_stack: OpenStack, open_instance: OpenInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R31, R40: the number is in the check, in the run and in a notification."""
    stack = open_stack(source("saramin", "long", 900))
    stack.add("saramin", "long")
    stack.tick(drain=False)
    stack.set_clock(2, time(10, 15))
    instance = open_instance(stack)
    cleanup = type(stack.pipeline.cleanup)
    monkeypatch.setattr(cleanup, "_delete_chunk", lambda *_: 0)
    result = run_job("seen_row_cleanup", instance)
    (check,) = result.get_asset_check_evaluations()
    assert not check.passed
    assert plain(check.metadata) == {"seen_rows_older_than_48_hours": 440}
    (told,) = stack.rows("SELECT kind, notification_date FROM notification_outbox")
    assert told == {"kind": "SEEN_ROWS_OLD", "notification_date": stack.day(2)}

"""``snapshot show|capture|recover``: the morning by hand, with the documented exit codes (R42)."""

from collections.abc import Callable
from datetime import time, timedelta
from typing import Any

import pytest

from collection_pipeline.domain.kst import utc_of_kst, utc_text
from collection_pipeline_tests.kit.command_line import CommandLine, Said
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
ITEM_KEYS = set(
    [
        "job_source_id",
        "source_label",
        "platform",
        "source_type",
        "cycle_status",
        "is_complete",
        "fetched_count",
        "list_page_count",
        "detail_request_count",
        "abnormal",
        "close_guarded",
        "reason",
    ]
)


@pytest.fixture
def stack(open_stack: OpenStack) -> Stack:
    """One source that was collected, and one that is not started yet."""
    made = open_stack(source("greenhouse", "good", 3), source("greenhouse", "late", 3))
    made.add("greenhouse", "good")
    made.tick()
    made.add("greenhouse", "late")
    return made


def snapshot(stack: Stack, *arguments: object) -> Said:
    """One ``snapshot`` command."""
    return CommandLine(stack.environment)("snapshot", *arguments)


def shown(stack: Stack, *options: object) -> dict[str, Any]:
    """What ``snapshot show --json`` prints."""
    document: dict[str, Any] = snapshot(stack, "show", "--json", *options).json
    return document


def to_nine(stack: Stack, seconds: float) -> None:
    """The clock is so many seconds after the cutoff of the first day."""
    stack.move_clock_to(utc_of_kst(stack.day(1), time(9)) + timedelta(seconds=seconds))


def test_a_captured_morning_is_shown_with_its_items(stack: Stack) -> None:
    """R42, section 3: snake_case, times in UTC, the late ones counted; exit code 0."""
    to_nine(stack, 0.2)
    captured = snapshot(stack, "capture")
    assert captured.code == 0
    assert "CAPTURED, captured 2 source(s)" in captured.out
    document = shown(stack)
    assert document["snapshot_date"] == stack.day(1).isoformat()
    assert document["scheduled_at"] == utc_text(utc_of_kst(stack.day(1), time(9)))
    assert document["captured_at"].endswith("Z")
    assert (document["capture_status"], document["miss_reason"]) == ("CAPTURED", None)
    assert document["late_before_notification_count"] == 1
    good, late = document["items"]
    assert set(good) == ITEM_KEYS
    assert (good["cycle_status"], good["fetched_count"]) == ("SUCCESS", 3)
    assert (good["abnormal"], good["close_guarded"]) == (False, False)
    assert (late["cycle_status"], late["close_guarded"]) == ("NOT_STARTED", True)
    told = snapshot(stack, "show").out
    assert "1 of 2 late" in told
    assert "greenhouse late" in told
    again = snapshot(stack, "capture")
    assert (again.code, "final already" in again.out) == (0, True)


def test_before_the_cutoff_nothing_is_shown_as_known(stack: Stack) -> None:
    """R42: PENDING counts 0 and has no items; too early to capture means try later (75)."""
    early = snapshot(stack, "capture")
    assert early.code == 75
    assert "too early" in early.out
    document = shown(stack)
    assert (document["capture_status"], document["late_before_notification_count"]) == (
        "PENDING",
        0,
    )
    assert "items" not in document


@pytest.mark.parametrize("by", ["capture", "recover"])
def test_a_missed_morning_says_why_and_counts_nothing(stack: Stack, by: str) -> None:
    """R42: count and items are null, never 0; a late capture is work that failed (4)."""
    to_nine(stack, 6 if by == "capture" else 62)
    said = snapshot(stack, by)
    assert said.code == (4 if by == "capture" else 0)
    assert "MISSED" in said.out
    document = shown(stack)
    assert document["capture_status"] == "MISSED"
    assert document["miss_reason"] in said.out
    assert document["late_before_notification_count"] is document["items"] is None
    assert document["miss_reason"] in snapshot(stack, "show").out
    assert "no snapshot is overdue" in snapshot(stack, "recover").out


def test_a_day_without_a_header_is_unavailable(stack: Stack) -> None:
    """R42: a day before the first deployment; today's is only still to come until its cutoff."""
    before = shown(stack, "--date", stack.day(0))
    assert (before["capture_status"], before["items"]) == ("UNAVAILABLE", None)
    assert before["late_before_notification_count"] is None
    stack.write("DELETE FROM job_posting_collection_sla_snapshots")
    assert shown(stack)["capture_status"] == "PENDING"
    to_nine(stack, 0)
    assert shown(stack)["capture_status"] == "UNAVAILABLE"
    assert shown(stack, "--date", stack.day(2))["capture_status"] == "UNAVAILABLE"

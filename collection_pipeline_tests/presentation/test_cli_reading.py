"""``cycles`` and ``postings``: the documented columns, times in UTC (spec sections 3 and 7)."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
CYCLE_COLUMNS = set(
    [
        "job_source_id",
        "run_date",
        "cycle_status",
        "continuation_cursor",
        "lease_token",
        "lease_until",
        "lease_owner",
        "next_eligible_at",
        "request_host",
        "attempt_count",
        "list_page_count",
        "fetched_count",
        "new_count",
        "updated_count",
        "missed_count",
        "closed_count",
        "detail_request_count",
        "detail_failure_count",
        "is_complete",
        "stated_total",
        "progress",
        "budget_exhausted_reason",
        "failure_reason",
        "failure_detail",
        "started_at",
        "finished_at",
    ]
)
POSTING_COLUMNS = set(
    [
        "source_job_id",
        "title",
        "status",
        "missed_count",
        "deadline_at",
        "deadline_kind",
        "detail_state",
    ]
)
UTC_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")


def _cli(stack: Stack) -> CommandLine:
    return CommandLine(stack.environment)


def _cycles(stack: Stack, *options: object) -> dict[int, dict[str, Any]]:
    rows: list[dict[str, Any]] = _cli(stack)("cycles", "--json", *options).json
    return {row["job_source_id"]: row for row in rows}


def test_cycles_show_every_documented_column(open_stack: OpenStack) -> None:
    """Sections 3 and 7: snake_case, times in ISO 8601 UTC with Z, dates plain, nulls as null."""
    stack = open_stack(source("greenhouse", "good", 3), source("saramin", "long", 900))
    good, long = stack.add("greenhouse", "good"), stack.add("saramin", "long")
    _cli(stack)("tick")
    rows = _cycles(stack)
    assert set(rows[good]) >= CYCLE_COLUMNS
    assert rows[good]["run_date"] == stack.day(1).isoformat()
    assert (rows[good]["is_complete"], rows[long]["is_complete"]) == (True, False)
    assert (rows[good]["fetched_count"], rows[good]["list_page_count"]) == (3, 1)
    assert rows[good]["failure_reason"] is None
    moments = [
        rows[good]["started_at"],
        rows[good]["finished_at"],
        rows[long]["started_at"],
        rows[long]["next_eligible_at"],
    ]
    assert all(UTC_MOMENT.fullmatch(moment) for moment in moments)
    assert rows[long]["stated_total"] == 900
    assert (rows[long]["lease_token"], rows[long]["lease_until"]) == (None, None)
    today = stack.now()
    started = datetime.fromisoformat(moments[0].removesuffix("Z"))
    assert timedelta() <= today - started < timedelta(minutes=1)


def test_cycles_of_another_day_are_asked_for_by_date(open_stack: OpenStack) -> None:
    """R16: a past day's cycle keeps the state in which it ended; today is the default."""
    stack = open_stack(source("greenhouse", "good", 3))
    one = stack.add("greenhouse", "good")
    _cli(stack)("create-cycles")
    stack.set_clock(2)
    _cli(stack)("tick")
    assert _cycles(stack)[one]["cycle_status"] == "SUCCESS"
    assert _cycles(stack, "--date", stack.day(1))[one]["cycle_status"] == "NOT_STARTED"
    assert _cli(stack)("cycles", "--date", stack.day(3), "--json").json == []
    assert f"no cycles on {stack.day(3)}" in _cli(stack)("cycles", "--date", stack.day(3)).out


def test_a_date_that_is_none_is_refused(cli: CommandLine) -> None:
    """Spec section 3: exit code 2."""
    assert cli("cycles", "--date", "2026-02-30").code == 2


def test_postings_show_the_documented_columns(open_stack: OpenStack) -> None:
    """Spec section 3: exactly these, deadlines as UTC moments."""
    stack = open_stack(source("saramin", "some", 12))
    some = stack.add("saramin", "some")
    _cli(stack)("tick")
    rows = _cli(stack)("postings", "--source", some, "--json").json
    assert all(set(row) == POSTING_COLUMNS for row in rows)
    assert {row["source_job_id"] for row in rows} == stack.catalogue(some)
    assert {(row["status"], row["missed_count"]) for row in rows} == {("OPEN", 0)}
    assert {row["detail_state"] for row in rows} == {"NONE"}
    dated = [row["deadline_at"] for row in rows if row["deadline_kind"] == "DATE"]
    assert dated
    assert all(UTC_MOMENT.fullmatch(moment) for moment in dated)


def test_postings_of_an_unknown_source_are_refused(cli: CommandLine) -> None:
    """Spec section 3: exit code 2, and no empty list that looks like an answer."""
    refused = cli("postings", "--source", 4711, "--json")
    assert refused.code == 2
    assert refused.out == ""
    assert "4711" in refused.sentence


def test_tables_are_readable_in_a_pipe(open_stack: OpenStack) -> None:
    """Spec section 3: a file gets whole words; markup in a title is text."""
    stack = open_stack(source("greenhouse", "good", 3))
    good = stack.add("greenhouse", "good")
    _cli(stack)("tick")
    stack.write("UPDATE job_postings SET title = '[bold]백엔드[/bold] [/]'")
    shown = _cli(stack)("postings", "--source", good).out
    assert "[bold]백엔드[/bold] [/]" in shown
    assert "SUCCESS" in _cli(stack)("cycles").out

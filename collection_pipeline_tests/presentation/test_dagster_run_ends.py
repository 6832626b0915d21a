"""How a run tells its end: one title in the list of runs, one sentence first where it failed."""

from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from collection_pipeline.collection.dispatch import TickSummary
from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.jobs import tick_result
from collection_pipeline.orchestration.run_result import MOST_RESULT_CHARS, shortened
from collection_pipeline_tests.kit.dagster_runs import (
    failed_run,
    first_line_of,
    observed,
    run_job,
    title_of,
)
from collection_pipeline_tests.kit.dagster_sensor import asked_sensor
from collection_pipeline_tests.kit.dagster_world import every_text
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
FAILURE = "dagster._core.definitions.events.Failure: "
NOWHERE = "mysql+pymysql://me:planted-password@127.0.0.1:1/queue"
PAGE = "https://operations.test/base"
TITLES = {
    "daily_cycle_creation": "{day}: cycles complete already, 2 header(s) made",
    "seen_row_cleanup": "0 seen rows deleted, 0 left over",
    "sla_snapshot_recovery": "no morning was left open",
    "morning_alerts": "COLLECTION_MORNING_HOOK is not set: nothing waits for the snapshot",
    "dagster_run_pruning": "0 old run(s) deleted; none is left",
}


def test_a_wrong_setting_is_the_first_line_of_every_jobs_failure(
    open_stack: OpenStack, open_instance: OpenInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec section 3, R29: which variable, what to write, what to do then; also as the title."""
    instance = open_instance(open_stack())
    monkeypatch.setenv("COLLECTION_LEASE_SECONDS", "5")
    jobs = [one.name for one in defs.resolve_all_job_defs() if not one.name.startswith("__")]
    assert len(jobs) > len(TITLES)
    for job in jobs:
        result = failed_run(job, instance)
        line = first_line_of(result)
        assert line.startswith(f"{FAILURE}COLLECTION_LEASE_SECONDS=5: must exceed "), job
        assert line.endswith("'collection-pipeline check' tells in advance."), job
        assert title_of(instance, result).startswith("COLLECTION_LEASE_SECONDS=5: "), job


@pytest.mark.parametrize(
    ("away", "cause", "advice"),
    [
        (
            "server",
            "MySQL error 2003 of the queue's database: ",
            "#the-database-hangs-or-is-away",
        ),
        ("database", "MySQL error 1049 of the queue's database: ", "COLLECTION_DATABASE_URL"),
        ("schema", "the database schema is at revision none, ", "docs/runbook.md#schema_current"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_by_its_cause(
    open_stack: OpenStack,
    open_instance: OpenInstance,
    monkeypatch: pytest.MonkeyPatch,
    away: str,
    cause: str,
    advice: str,
) -> None:
    """R34: unreachable, wrongly named, or behind; no password, no traceback before the cause."""
    stack = open_stack()
    instance = open_instance(stack)
    if away == "server":
        monkeypatch.setenv("COLLECTION_DATABASE_URL", NOWHERE)
    if away == "database":
        elsewhere = f"{stack.url.rpartition('/')[0]}/no_such_database"
        monkeypatch.setenv("COLLECTION_DATABASE_URL", elsewhere)
    if away == "schema":
        stack.write("RENAME TABLE collection_schema_version TO version_elsewhere")
    try:
        result = failed_run("collection_dispatch", instance)
    finally:
        if away == "schema":
            stack.write("RENAME TABLE version_elsewhere TO collection_schema_version")
    line = first_line_of(result)
    assert line.startswith(FAILURE + cause)
    assert advice in line
    assert title_of(instance, result).startswith(cause)
    assert "planted" not in line


def test_a_tick_of_the_sensor_fails_in_the_same_words(
    open_stack: OpenStack, open_instance: OpenInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R34, R29: there is no run yet; the page of automation shows the tick's first line."""
    instance = open_instance(open_stack())
    monkeypatch.setenv("COLLECTION_DATABASE_URL", NOWHERE)
    with pytest.raises(dg.Failure) as caught:
        asked_sensor(instance, "collection_dispatch_sensor")
    assert str(caught.value).startswith("MySQL error 2003 of the queue's database: ")
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert "planted" not in str(caught.value)


def test_an_unexpected_error_shows_kind_and_place_but_no_secret(
    open_stack: OpenStack,
    open_instance: OpenInstance,
    monkeypatch: pytest.MonkeyPatch,
    dagster_url: str,
) -> None:
    """R29: its words pass the redactor, and no cause or context of it reaches Dagster's tables."""
    stack = open_stack(access_key="pl4nted+key")
    instance = open_instance(stack)

    def breaking(_service: object) -> None:
        try:
            raise ConnectionError("context with pl4nted+key")
        except ConnectionError as error:
            raise KeyError("quotes pl4nted%2Bkey\nin two lines") from error

    monkeypatch.setattr(type(stack.pipeline.creation), "create_daily_cycles", breaking)
    result = failed_run("daily_cycle_creation", instance)
    line = first_line_of(result)
    assert line.startswith(f"{FAILURE}unexpected KeyError: ")
    assert "[redacted]" in line and "'where' and 'trace'" in line
    (event,) = [one for one in result.all_events if one.is_step_failure]
    assert event.step_failure_data.error_source is not None
    told = event.step_failure_data.user_failure_data
    assert told is not None
    metadata = {name: entry.value for name, entry in told.metadata.items()}
    assert metadata["kind"] == "KeyError"
    assert str(metadata["trace"]).startswith("jobs.py:")
    assert "in create_cycles" in str(metadata["trace"])
    shown = [value for _, value in every_text(dagster_url)]
    assert any("unexpected KeyError" in value for value in shown)
    assert not any("pl4nted" in value or "context with" in value for value in shown)


def test_a_dispatch_run_is_titled_and_leads_to_its_sources(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R45: how many slices ended how; each slice's event links to its source's page."""
    stack = open_stack(source("greenhouse", "board", 3), OPERATIONS_PAGE_URL=f"{PAGE}/")
    board = stack.add("greenhouse", "board")
    instance = open_instance(stack)
    result = run_job("collection_dispatch", instance, {"drain": True})
    assert title_of(instance, result) == "1 SUCCESS"
    (seen,) = observed(instance, "collection_cycles")
    assert seen["source_page"] == f"{PAGE}/sources/{board}"
    assert {row["dagster_run_id"] for row in stack.slices(board)} == {result.run_id}
    idle = run_job("collection_dispatch", instance)
    assert title_of(instance, idle) == "no slice was due"


def test_each_jobs_title_says_what_it_did(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R45: the list of runs is read without opening any of them."""
    stack = open_stack()
    instance = open_instance(stack)
    day = run_day(stack)
    for job, title in TITLES.items():
        result = run_job(job, instance)
        assert title_of(instance, result) == title.format(day=day)


def run_day(stack: Stack) -> str:
    """The KST day of the database's clock."""
    return stack.run(stack.pipeline.clock.today).isoformat()


def test_the_title_of_a_tick_names_only_what_occurred() -> None:
    """R45: recovered leases and rejected sources are told beside the slices."""
    summary = TickSummary("one", recovered=1, rejected=2, slices=3, continued=1, lost=1)
    summary.ended.update(SUCCESS=1, FAILED=1)
    assert tick_result(summary) == (
        "1 LOST, 1 FAILED, 1 SUCCESS, 1 CONTINUED; 1 recovered; 2 rejected"
    )


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("a\n b", "a b"),
        ("x" * MOST_RESULT_CHARS, "x" * MOST_RESULT_CHARS),
        ("x" * (MOST_RESULT_CHARS + 1), "x" * (MOST_RESULT_CHARS - 1) + "…"),
    ],
)
def test_a_title_is_one_short_line(words: str, title: str) -> None:
    """Spec section 1: the run's row, its tags and the list of runs stay small."""
    assert shortened(words) == title


def test_a_run_whose_process_died_is_titled_by_the_sensor(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R40: it could not do so itself; a title that it inherited from its parent is replaced."""
    stack = open_stack()
    instance = open_instance(stack)
    cursor = asked_sensor(instance, "run_failure_sensor").cursor
    run = instance.create_run_for_job(
        defs.resolve_job_def("daily_cycle_creation"),
        status=dg.DagsterRunStatus.STARTED,
        tags={"result": "inherited"},
    )
    instance.report_run_failed(run)
    asked_sensor(instance, "run_failure_sensor", cursor)
    titled = instance.get_run_by_id(run.run_id)
    assert titled is not None
    assert titled.tags["result"].startswith("no step failed: its process died")


class _StorageAway(Exception):
    """Dagster's storage refuses a tag."""


def test_a_title_that_cannot_be_written_ends_no_run(
    open_stack: OpenStack, open_instance: OpenInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R34: the work is stored already."""
    stack = open_stack()
    instance = open_instance(stack)

    def refusing(*_arguments: Any) -> None:
        raise _StorageAway

    monkeypatch.setattr(type(instance), "add_run_tags", refusing)
    result = run_job("daily_cycle_creation", instance)
    assert result.success
    logged = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert "the run could not be titled: _StorageAway" in logged

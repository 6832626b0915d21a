"""``library_ingest`` in Dagster: its schedule, runs, events and checks (R46, R48 to R51)."""

import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.schedule_definition import ScheduleExecutionData
from dagster._core.execution.validate_run_config import validate_run_config

from collection_pipeline import checkpoints
from collection_pipeline.definitions import defs
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.orchestration.library_checks import EndedIngest, deactivated_finding
from collection_pipeline.orchestration.library_job import library_ingest, trigger_of
from collection_pipeline.orchestration.library_schedule import library_ingest_schedule
from collection_pipeline.orchestration.resources import RESOURCES
from collection_pipeline.store.ingest_runs import IngestCounts, IngestRuns, IngestStatus
from collection_pipeline_tests.kit.dagster_runs import (
    checked,
    failed_run,
    materialized,
    observed,
    output_of,
    plain,
    run_job,
)
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.library_rows import csv_text, library_row, library_rows, served
from collection_pipeline_tests.kit.library_stack import (
    MONTHLY,
    SMALL,
    THREE_PAGES,
    active_libraries,
    add_library_fault,
    ends,
    ingest_runs,
    library_requests,
    register_locked,
    serve_libraries,
    switch_schedule,
)
from collection_pipeline_tests.kit.library_world import LibraryWorld
from collection_pipeline_tests.kit.stack import Stack, wait_until
from collection_pipeline_tests.kit.worker_process import WorkerProcess

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
JOB, ASSET = "library_ingest", "public_libraries"
CHECKS = ("complete_snapshot", "share_deactivated", "unparsed_cells")
COUNTS = ("fetched", "upserted", "added", "changed", "reactivated", "deactivated")
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j", JOB)


@pytest.fixture
def stack(open_stack: OpenStack) -> Stack:
    """A register of 60 libraries behind the portal, an empty one in the database."""
    return serve_libraries(open_stack())


@pytest.fixture
def instance(stack: Stack, open_instance: OpenInstance) -> dg.DagsterInstance:
    """Dagster beside it, with its settings."""
    return open_instance(stack)


def _outcome(instance: dg.DagsterInstance, run_id: str) -> tuple[dg.DagsterRunStatus, str | None]:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status, run.tags.get("library/outcome")


def _failure(result: dg.ExecuteInProcessResult) -> tuple[str, dict[str, Any]]:
    (event,) = [event for event in result.all_events if event.is_step_failure]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None and failure.description is not None
    return failure.description, plain(failure.metadata)


# --- configuration and schedule


def test_the_run_configuration_is_the_one_model() -> None:
    """R46: its fields with their defaults and words, and nothing else."""
    fields = library_ingest.config_mapping.config_schema.config_type.fields  # type: ignore[union-attr]  # it has one
    assert set(fields) == set(IngestConfig.model_fields)
    for name, field in IngestConfig.model_fields.items():
        assert fields[name].description == field.description
        assert fields[name].default_value == field.default


@pytest.mark.parametrize(
    "config",
    [
        {"source": "csv"},
        {"file": "libraries.csv"},
        {"source": "ftp"},
        {"deactivate": True},
        {"deactivate_stale": "yes"},
    ],
)
def test_a_configuration_that_the_model_refuses_starts_no_run(config: dict[str, object]) -> None:
    """R46: launchpad and `dagster job launch` are told before anything runs."""
    with pytest.raises((dg.DagsterConfigMappingFunctionError, dg.DagsterInvalidConfigError)):
        validate_run_config(library_ingest, config)


def test_the_schedule_is_created_stopped() -> None:
    """R46, R50: 04:00 in Seoul on the first; deploying it starts nothing."""
    schedule = defs.get_repository_def().get_schedule_def("library_ingest_schedule")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert (schedule.job_name, schedule.cron_schedule) == (JOB, "0 4 1 * *")
    assert schedule.execution_timezone == "Asia/Seoul"


def _ticked(instance: dg.DagsterInstance) -> ScheduleExecutionData:
    at = datetime(2026, 11, 30, 19, 0, tzinfo=UTC)
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=at, resources=RESOURCES
    ) as context:
        return library_ingest_schedule.evaluate_tick(context)


def test_the_schedule_asks_its_flag_each_time(stack: Stack, instance: dg.DagsterInstance) -> None:
    """R50: off by default; a tick that skips says how to switch it on; the flag stops it again."""
    off = _ticked(instance)
    assert not off.run_requests
    assert "flags set library.ingest-schedule on" in (off.skip_message or "")
    switch_schedule(stack)
    (request,) = _ticked(instance).run_requests or []
    assert dict(request.run_config) == MONTHLY
    result = library_ingest.execute_in_process(
        run_config=dict(request.run_config),
        tags=dict(request.tags),
        instance=instance,
        resources=RESOURCES,
    )
    assert result.success
    assert ends(stack) == [("library", "scheduled", "SUCCESS")]
    switch_schedule(stack, enabled=False)
    assert not _ticked(instance).run_requests


def test_a_run_that_a_person_repeats_is_not_a_scheduled_one() -> None:
    """R50: a re-execution inherits its parent's tags; it is no real trigger."""
    tags = {"library/trigger": "scheduled"}
    assert trigger_of(dg.DagsterRun(JOB, tags=tags)) == "scheduled"
    assert trigger_of(dg.DagsterRun(JOB)) == "manual"
    repeated = dg.DagsterRun(JOB, tags=tags, parent_run_id="p", root_run_id="p")
    assert trigger_of(repeated) == "manual"


# --- what a run shows


def test_a_success_is_an_event_of_the_asset_with_its_counts(
    stack: Stack, instance: dg.DagsterInstance
) -> None:
    """R51: numbers that the UI plots; the run's tag says how it ended; our row names the run."""
    serve_libraries(stack, changes={"2": {"remove": 6, "add": 9, "edit": 5}})
    run_job(JOB, instance, MONTHLY)
    stack.set_clock(2)
    result = run_job(JOB, instance, MONTHLY)
    new, old = materialized(instance, ASSET)
    assert tuple(old[name] for name in COUNTS) == (SMALL, SMALL, SMALL, 0, 0, 0)
    assert tuple(new[name] for name in COUNTS) == (63, 63, 9, 5, 0, 6)
    assert (new["unkeyable"], new["unparsed"], new["stated_total"]) == (0, 0, 63)
    assert new["active_rows"] == active_libraries(stack) == 63
    row = ingest_runs(stack)[-1]
    assert (row["id"], row["dagster_run_id"]) == (new["ingest_run_id"], result.run_id)
    assert row["trigger_kind"] == "manual"
    assert checked(result) == dict.fromkeys(CHECKS, True)
    assert output_of(result, "ingest_libraries")["changed"] == 5
    assert _outcome(instance, result.run_id) == (dg.DagsterRunStatus.SUCCESS, "SUCCESS")


def test_a_busy_register_is_a_success_that_says_skipped(
    stack: Stack, instance: dg.DagsterInstance
) -> None:
    """R48: visible as the run's tag, in its log and at the asset; no materialization, no check."""
    with register_locked(stack):
        result = run_job(JOB, instance, MONTHLY)
    assert _outcome(instance, result.run_id) == (dg.DagsterRunStatus.SUCCESS, "SKIPPED")
    assert ends(stack) == [("library", "manual", "SKIPPED")]
    (seen,) = observed(instance, ASSET)
    assert seen["ingest_status"] == "SKIPPED"
    assert seen["reason"].startswith("busy: ")
    assert output_of(result, "ingest_libraries")["ingest_status"] == "SKIPPED"
    logged = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert any(line.startswith("SKIPPED, busy: ") for line in logged)
    assert (materialized(instance, ASSET), checked(result)) == ([], {})
    assert library_requests(stack) == []


def test_a_failed_ingest_fails_its_run_with_the_reason_first(
    stack: Stack, instance: dg.DagsterInstance
) -> None:
    """R49: never tried again inside, also where later may help; the check of the asset fails."""
    run_job(JOB, instance, MONTHLY)
    add_library_fault(stack, "library_error", code=5)
    result = failed_run(JOB, instance, MONTHLY)
    words, metadata = _failure(result)
    assert words == "unreadable: the portal answers code 05 SERVICETIME_OUT"
    assert (metadata["ingest_status"], metadata["fetched"]) == ("FAILED", 0)
    assert _outcome(instance, result.run_id) == (dg.DagsterRunStatus.FAILURE, "FAILED")
    assert checked(result) == {"complete_snapshot": False}
    assert len(materialized(instance, ASSET)) == 1
    assert len(library_requests(stack)) == 2
    assert [end[2] for end in ends(stack)] == ["SUCCESS", "FAILED"]


def test_a_run_whose_database_stays_away_fails_with_that_reason(
    stack: Stack, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R51: the run had begun, so its number is told; its row is left to the next run."""

    def away(*_arguments: object) -> bool:
        raise DatabaseUnavailable("no answer for 50 s")

    monkeypatch.setattr(IngestRuns, "end", away)
    add_library_fault(stack, "library_error", code=5)
    words, metadata = _failure(failed_run(JOB, instance, MONTHLY))
    assert words.startswith("database: no answer for 50 s; ")
    assert metadata["ingest_run_id"] == ingest_runs(stack)[-1]["id"]
    assert [end[2] for end in ends(stack)] == ["RUNNING"]


def test_a_run_that_could_not_begin_says_what_to_set(
    stack: Stack, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R47: a key that is missing or no key, a database that is not there, in one line each."""
    monkeypatch.setenv("COLLECTION_LIBRARY_SERVICE_KEY", "doubly%252Bencoded")
    malformed, _ = _failure(failed_run(JOB, instance, MONTHLY))
    assert malformed.startswith("COLLECTION_LIBRARY_SERVICE_KEY: it is encoded more than once")
    assert "doubly" not in malformed
    elsewhere = stack.url.replace(stack.url.rsplit("/", 1)[1], "no_such_database")
    monkeypatch.setenv("COLLECTION_DATABASE_URL", elsewhere)
    result = failed_run(JOB, instance, MONTHLY)
    lost, metadata = _failure(result)
    assert "no_such_database" in lost and "\n" not in lost
    assert metadata["where"]
    assert _outcome(instance, result.run_id)[1] == "FAILED"
    assert ends(stack) == []


def test_a_csv_file_goes_the_same_way(
    stack: Stack, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """R50: by hand only; lines that are no rows are named, and the snapshot is not complete."""
    path = tmp_path / "libraries.csv"
    path.write_text(csv_text(library_rows(range(30))) + "one,field\n", "cp949")
    result = run_job(JOB, instance, {"source": "csv", "file": str(path)})
    (event,) = materialized(instance, ASSET)
    assert (event["upserted"], event["left_out"]) == (30, 1)
    assert event["problems"] == "line 32: too few fields"
    assert "stated_total" not in event
    assert checked(result)["complete_snapshot"] is False


# --- checks by hand


def _by_hand(instance: dg.DagsterInstance) -> dict[str, dg.AssetCheckEvaluation]:
    """The three checks, executed as the UI does it."""
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(instance=instance)
    evaluated = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return {name: evaluated[name] for name in CHECKS}


def test_the_checks_judge_the_newest_runs(
    instance: dg.DagsterInstance, open_store: Callable[[], Store]
) -> None:
    """R45, R49: whoever started them; warnings from above a threshold, with the numbers."""
    world = LibraryWorld(open_store())
    found = _by_hand(instance)
    assert {one.description for one in found.values()} == {"no ingest has ended yet"}

    world.ingest(served(library_rows(range(100))))
    world.ingest(served([*library_rows(range(100)), library_row(0)]))
    complete = _by_hand(instance)["complete_snapshot"]
    assert (complete.passed, "repeated rows: 1" in (complete.description or "")) == (False, True)

    world.ingest(served(library_rows(range(80))))
    found = _by_hand(instance)
    assert all(one.passed for one in found.values())
    assert plain(found["share_deactivated"].metadata)["share_percent"] == 20.0

    spoilt = [library_row(number, seat_count="many") for number in range(63)]
    world.ingest(served(spoilt), allow_shrink=True)
    found = _by_hand(instance)
    assert {name: one.passed for name, one in found.items()} == {
        "complete_snapshot": True,
        "share_deactivated": False,
        "unparsed_cells": False,
    }
    shares = {name: plain(found[name].metadata)["share_percent"] for name in CHECKS[1:]}
    assert shares == {"share_deactivated": 21.25, "unparsed_cells": round(100 / 28, 3)}
    assert {found[name].severity for name in CHECKS[1:]} == {dg.AssetCheckSeverity.WARN}

    world.ingest(served([]))
    found = _by_hand(instance)
    complete = found["complete_snapshot"]
    assert (complete.passed, complete.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "failed, empty: " in (complete.description or "")
    assert plain(found["share_deactivated"].metadata)["share_percent"] == 21.25


def test_the_share_is_of_the_rows_that_were_active_before() -> None:
    """R45: neither new rows nor returning ones were; 30 of 100 are gone here."""
    counts = IngestCounts(upserted=100, added=20, reactivated=10, deactivated=30)
    finding = deactivated_finding(EndedIngest(1, IngestStatus.SUCCESS, None, counts, 100))
    assert (finding.passed, finding.metadata["share_percent"]) == (False, 30.0)


# --- processes


def _executed(
    stack: Stack, dagster_url: str, folder: Path, *arguments: str, config: object = MONTHLY
) -> tuple[Any, Path]:
    written, log = folder / "ingest.yaml", folder / "log"
    written.write_text(yaml.safe_dump(config), encoding="utf-8")
    environment = dagster_environment(stack.environment, dagster_url, folder / "home")
    command = (*EXECUTE, "-c", str(written), *arguments)
    return dagster_process(environment, *command, output=log), log


def test_of_ingests_at_once_one_works_and_the_others_are_skipped(
    stack: Stack, instance: dg.DagsterInstance, dagster_url: str, tmp_path: Path
) -> None:
    """R48: processes by hand, by schedule and with a file; one lock for the table; all end well."""
    switch_schedule(stack)
    (request,) = _ticked(instance).run_requests or []
    path = tmp_path / "libraries.csv"
    path.write_text(csv_text(library_rows(range(30))), "utf-8")
    by_hand, by_file = ("ingest",), ("ingest", "--source", "csv", "--file", str(path))
    with WorkerProcess(
        stack.environment,
        by_hand,
        crash_at=checkpoints.AFTER_LIBRARY_PAGE,
        crash_signal=signal.SIGSTOP,
    ) as working:
        working.wait_until_stopped()
        tags = str(dict(request.tags)).replace("'", '"')
        config = dict(request.run_config)
        scheduled, log = _executed(stack, dagster_url, tmp_path, "--tags", tags, config=config)
        with WorkerProcess(stack.environment, by_file) as filed:
            assert filed.wait() == 0, filed.output
        assert scheduled.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
        working.send(signal.SIGCONT)
        assert working.wait() == 0, working.output
    assert sorted(ends(stack)) == [
        ("csv", "manual", "SKIPPED"),
        ("library", "manual", "SUCCESS"),
        ("library", "scheduled", "SKIPPED"),
    ]
    (run,) = instance.get_runs()
    assert _outcome(instance, run.run_id) == (dg.DagsterRunStatus.SUCCESS, "SKIPPED")
    assert active_libraries(stack) == SMALL


def test_an_interrupted_run_ends_after_the_page_in_flight(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str, tmp_path: Path
) -> None:
    """R18, R48: executed by a file of its configuration, terminated as the UI does it."""
    stack = serve_libraries(open_stack(HOST_MIN_DELAY_MS=2_000), THREE_PAGES)
    instance = open_instance(stack)
    process, log = _executed(stack, dagster_url, tmp_path)
    try:
        wait_until("a page was fetched", lambda: len(library_requests(stack)) >= 1)
        (run,) = instance.get_runs()
        instance.report_run_canceling(run)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    (row,) = ingest_runs(stack)
    assert row["run_status"] == "FAILED", log.read_text(encoding="utf-8")
    assert row["reason"].startswith("stopped: after the page in flight")
    assert len(library_requests(stack)) < 3
    assert run.run_config == MONTHLY
    assert _outcome(instance, run.run_id) == (dg.DagsterRunStatus.CANCELED, "FAILED")
    with register_locked(stack):
        pass

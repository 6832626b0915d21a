"""The service key is nowhere in Dagster: events, runs, ticks, exceptions, log, our tables (R29)."""

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.orchestration.library_job import library_ingest
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.dagster_runs import run_job
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.leak_search import assert_no_secret
from collection_pipeline_tests.kit.library_leaks import (
    CARRIERS,
    ENCODED,
    KEY,
    leaks_in,
    opened_portal,
    portal_settings,
)
from collection_pipeline_tests.kit.library_stack import MONTHLY, ingest_runs
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
JOB = library_ingest.name
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j", JOB)


@pytest.fixture
def portal() -> Iterator[SimulatorServer]:
    """A register that accepts the planted key only."""
    with opened_portal() as server:
        yield server


@pytest.fixture
def stack(open_stack: OpenStack, portal: SimulatorServer) -> Stack:
    """Settings that point to it, with the key in its plain form."""
    return open_stack(**portal_settings(portal, KEY))


def test_the_key_is_nowhere_after_any_carrier(
    stack: Stack,
    portal: SimulatorServer,
    open_instance: OpenInstance,
    dagster_url: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """R29, I9: runs in this process; what they raise is looked at with causes and contexts."""
    instance = open_instance(stack)
    assert run_job(JOB, instance, MONTHLY).success
    raised = []
    for fault in CARRIERS:
        portal.add_fault(fault)
        with pytest.raises(dg.Failure) as failure:
            run_job(JOB, instance, MONTHLY)
        portal.clear_faults()
        raised += traceback.format_exception(failure.value)
    ends = [run["run_status"] for run in ingest_runs(stack)]
    assert ends == ["SUCCESS"] + ["FAILED"] * len(CARRIERS)
    assert all(record["key_ok"] for record in portal.records()), "the key was not really sent"
    shown = capfd.readouterr()
    assert "unreadable: " in shown.err
    assert leaks_in([*raised, shown.out, shown.err]) == []
    assert_no_secret({"the key": KEY}, databases=(dagster_url, stack.url))


class _Unexpected(Exception):
    """What no part of the program raises."""


def test_an_error_that_nobody_expected_shows_no_key(
    stack: Stack,
    open_instance: OpenInstance,
    dagster_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R29: also where its message, its cause and its context hold the key; the kind is said."""

    def broken(*_arguments: object, **_named: object) -> object:
        try:
            raise ValueError(f"serviceKey={KEY}")
        except ValueError as cause:
            raise _Unexpected(f"cannot send ?serviceKey={ENCODED}&type=json {KEY}") from cause

    monkeypatch.setattr("collection_pipeline.ingest.service.LibraryIngest.run", broken)
    instance = open_instance(stack)
    with pytest.raises(dg.Failure) as failure:
        run_job(JOB, instance, MONTHLY)
    assert "_Unexpected: cannot send" in str(failure.value.description)
    assert leaks_in(traceback.format_exception(failure.value)) == []
    assert_no_secret({"the key": KEY}, databases=[dagster_url])


def test_a_run_of_its_own_process_leaves_no_key(
    stack: Stack,
    portal: SimulatorServer,
    open_instance: OpenInstance,
    dagster_url: str,
    tmp_path: Path,
) -> None:
    """R29: `dagster job execute -c`, its log, its run configuration and its events."""
    instance = open_instance(stack)
    log, config = tmp_path / "log", tmp_path / "ingest.yaml"
    config.write_text("source: library\ndeactivate_stale: true\n", encoding="utf-8")
    environment = dagster_environment(stack.environment, dagster_url, tmp_path / "home")
    process = dagster_process(environment, *EXECUTE, "-c", str(config), output=log)
    assert process.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
    (run,) = instance.get_runs()
    assert (run.status, run.run_config) == (dg.DagsterRunStatus.SUCCESS, MONTHLY)
    (row,) = ingest_runs(stack)
    assert (row["run_status"], row["upserted_count"]) == ("SUCCESS", 40)
    assert row["dagster_run_id"] == run.run_id
    assert portal.records()[0]["key_ok"]
    shown = log.read_text(encoding="utf-8")
    assert "public_libraries" in shown
    assert leaks_in([shown]) == []
    assert_no_secret({"the key": KEY}, databases=[dagster_url])

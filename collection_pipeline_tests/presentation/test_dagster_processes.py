"""Runs as processes of their own: executed, interrupted, launched through the queue (R18)."""

import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.orchestration.jobs import JOBS
from collection_pipeline_tests.kit.dagster_queue import enqueue
from collection_pipeline_tests.kit.dagster_sensor import skip_reason
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, wait_until

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j")
LAUNCH = ("dagster", "job", "launch", "-m", "collection_pipeline.definitions", "-j")


def _environment(stack: Stack, instance_home: Path, dagster_url: str) -> dict[str, str]:
    return dagster_environment(stack.environment, dagster_url, instance_home)


def test_the_documented_command_executes_a_run(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str, tmp_path: Path
) -> None:
    """Spec section 1: `dagster job execute -m collection_pipeline.definitions -j ... -c file`."""
    stack = open_stack(source("saramin", "long", 900))
    long = stack.add("saramin", "long")
    instance = open_instance(stack)
    config = tmp_path / "drain.yaml"
    config.write_text("drain: true\nmax_seconds: 60\n", encoding="utf-8")
    environment = _environment(stack, tmp_path / "home", dagster_url)
    log = tmp_path / "log"
    process = dagster_process(
        environment, *EXECUTE, "collection_dispatch", "-c", str(config), output=log
    )
    assert process.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert run.run_config == {"drain": True, "max_seconds": 60}
    assert stack.end_of(long) == ("SUCCESS", None)
    assert {row["dagster_run_id"] for row in stack.slices(long)} == {run.run_id}


def test_an_interrupted_run_stores_its_slice_and_frees_the_lease(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str, tmp_path: Path
) -> None:
    """R18: the next tick goes on behind the last page; no page is fetched twice."""
    stack = open_stack(source("saramin", "long", 500), HOST_MIN_DELAY_MS=700)
    long = stack.add("saramin", "long")
    instance = open_instance(stack)
    log = tmp_path / "log"
    environment = _environment(stack, tmp_path / "home", dagster_url)
    process = dagster_process(environment, *EXECUTE, "collection_dispatch", output=log)
    try:
        wait_until("a page was fetched", lambda: len(stack.requests(long)) >= 1)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    cycle = stack.cycle(long)
    assert (cycle["cycle_status"], cycle["lease_token"]) == ("PENDING", None)
    assert 1 <= cycle["list_page_count"] == len(stack.pages(long)) < 5
    (run,) = instance.get_runs()
    assert run.is_finished
    (tick,) = stack.rows("SELECT finished_at, error FROM collection_ticks")
    assert tick["finished_at"] is not None
    stack.tick(pipeline=stack.open_pipeline(HOST_MIN_DELAY_MS=10))
    assert stack.pages(long) == [0, 1, 2, 3, 4]
    assert stack.end_of(long) == ("SUCCESS", None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_launched_runs_of_every_job_wait_in_the_queue_for_the_daemon(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str, tmp_path: Path
) -> None:
    """Spec section 1: a launch only enqueues; the daemon starts it and it succeeds."""
    stack = open_stack(source("greenhouse", "board", 3))
    board = stack.add("greenhouse", "board")
    instance = open_instance(stack)
    environment = _environment(stack, tmp_path / "home", dagster_url)
    log = tmp_path / "log"
    launch = dagster_process(environment, *LAUNCH, "collection_dispatch", output=log)
    assert launch.wait(PATIENCE_SECONDS) == 0, log.read_text(encoding="utf-8")
    enqueue(instance, sorted({job.name for job in JOBS} - {"collection_dispatch"}))
    queued = instance.get_runs()
    assert {run.job_name for run in queued} == {job.name for job in JOBS}
    assert {run.status for run in queued} == {dg.DagsterRunStatus.QUEUED}
    assert "1 dispatch run(s)" in skip_reason(instance)
    assert stack.requests() == []
    daemon = dagster_process(
        environment, "dagster._daemon", "run", "-m", "collection_pipeline.definitions", output=log
    )
    try:
        for run in queued:
            wait_until(f"{run.job_name} ended", partial(_is_finished, instance, run.run_id))
    finally:
        _end(daemon)
    ended = [instance.get_run_by_id(run.run_id) for run in queued]
    succeeded = [run for run in ended if run and run.status is dg.DagsterRunStatus.SUCCESS]
    assert len(succeeded) == len(JOBS), log.read_text(encoding="utf-8")
    assert stack.end_of(board) == ("SUCCESS", None)


def _is_finished(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and run.is_finished

"""Old Dagster runs go, running ones and young ones stay, and nothing of the collection does."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.orchestration import run_pruning
from collection_pipeline.orchestration.run_pruning import Pruned, prune_runs
from collection_pipeline_tests.kit.dagster_runs import output_of, run_job
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
NOW = datetime.now(UTC)
DISPATCH, CLEANUP = "collection_dispatch", "seen_row_cleanup"
ENDED, STARTED = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.STARTED


@pytest.fixture
def instance(open_stack: OpenStack, open_instance: OpenInstance) -> dg.DagsterInstance:
    """Dagster over its real storage, beside an empty queue."""
    return open_instance(open_stack())


def a_run(
    instance: dg.DagsterInstance, job: str, status: dg.DagsterRunStatus = ENDED
) -> dg.DagsterRun:
    """A run as Dagster's storage holds it."""
    run = dg.DagsterRun(job_name=job, status=status)
    instance.add_run(run)
    return run


def pruned(instance: dg.DagsterInstance, later: float) -> tuple[Pruned, set[str]]:
    """What pruning did so many days later, and the ids of the runs that are left."""
    done = prune_runs(instance, busy_days=7, days=90, now=NOW + timedelta(days=later))
    return done, {run.run_id for run in instance.get_runs()}


def test_each_job_has_its_age_and_a_run_that_has_not_ended_stays(
    instance: dg.DagsterInstance,
) -> None:
    """A run that is STARTED may be at work, whatever its age."""
    busy, other = a_run(instance, DISPATCH), a_run(instance, CLEANUP)
    working = a_run(instance, DISPATCH, STARTED)
    kept = {busy.run_id, other.run_id, working.run_id}
    assert pruned(instance, 6.9) == (Pruned(0, is_done=True), kept)
    assert pruned(instance, 7.1) == (Pruned(1, is_done=True), kept - {busy.run_id})
    assert pruned(instance, 89.9) == (Pruned(0, is_done=True), kept - {busy.run_id})
    assert pruned(instance, 90.1) == (Pruned(1, is_done=True), {working.run_id})


def test_batches_go_on_until_none_is_left_or_the_bound_is_reached(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left over is deleted on the next day, the oldest first."""
    monkeypatch.setattr(run_pruning, "BATCH_RUNS", 2)
    monkeypatch.setattr(run_pruning, "MOST_RUNS", 3)
    runs = [a_run(instance, DISPATCH).run_id for _ in range(5)]
    assert pruned(instance, 8) == (Pruned(3, is_done=False), set(runs[3:]))
    assert pruned(instance, 8) == (Pruned(2, is_done=True), set())


def test_a_bound_in_time_ends_it(instance: dg.DagsterInstance) -> None:
    """A slow storage must not keep the run slot."""
    a_run(instance, DISPATCH)
    clock = chain([0.0], repeat(run_pruning.MOST_SECONDS))
    done = prune_runs(
        instance,
        busy_days=7,
        days=90,
        now=NOW + timedelta(days=8),
        monotonic=lambda: next(clock),
    )
    assert done == Pruned(0, is_done=False) and len(instance.get_runs()) == 1


def test_the_folder_and_the_events_of_a_run_go_with_it(instance: dg.DagsterInstance) -> None:
    """Dagster itself leaves the folder behind."""
    result = run_job(CLEANUP, instance)
    folder = Path(instance.storage_directory()) / result.run_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "left").write_text("over", encoding="utf-8")
    assert instance.all_logs(result.run_id)
    done, left = pruned(instance, 91)
    assert done.deleted_runs >= 1 and result.run_id not in left
    assert not folder.exists() and not instance.all_logs(result.run_id)


def test_the_job_keeps_what_is_young_and_tells_its_count(instance: dg.DagsterInstance) -> None:
    """The run itself is not old either."""
    young = a_run(instance, DISPATCH)
    result = run_job("dagster_run_pruning", instance)
    assert output_of(result, "delete_old_runs") == {
        "result": "0 old run(s) deleted; none is left",
        "deleted_runs": 0,
        "is_done": True,
        "deleted_check_rows": 0,
        "deleted_stray_events": 0,
    }
    assert {young.run_id, result.run_id} <= {run.run_id for run in instance.get_runs()}

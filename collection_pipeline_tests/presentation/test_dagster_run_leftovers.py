"""What Dagster leaves of deleted runs goes too, but for what its pages show."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.storage.runs.schema import RunTagsTable, SnapshotsTable
from sqlalchemy import func, select

from collection_pipeline.orchestration import run_leftovers
from collection_pipeline.orchestration.dagster_storage import PatientEventLogStorage
from collection_pipeline.orchestration.run_pruning import Pruned, prune_runs
from collection_pipeline_tests.kit.dagster_events import CHECK, evaluation_event, planned_event
from collection_pipeline_tests.kit.dagster_runs import run_job
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
NOW = datetime.now(UTC)
JOB = "seen_row_cleanup"


@pytest.fixture
def instance(open_stack: OpenStack, open_instance: OpenInstance) -> dg.DagsterInstance:
    """Dagster over its real storage, beside an empty queue."""
    return open_instance(open_stack())


def pruned(instance: dg.DagsterInstance, later: float) -> Pruned:
    """What pruning did so many days later."""
    return prune_runs(instance, busy_days=7, days=90, now=NOW + timedelta(days=later))


def a_run(
    instance: dg.DagsterInstance,
    *events: Callable[[str], dg.EventLogEntry],
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.SUCCESS,
) -> str:
    """A run with these events; returns its id."""
    run = dg.DagsterRun(job_name=JOB, status=status)
    instance.add_run(run)
    for event in events:
        instance.event_log_storage.store_event(event(run.run_id))
    return run.run_id


def evaluated(instance: dg.DagsterInstance) -> list[str]:
    """The runs whose evaluation of the check is kept, the newest first."""
    found = instance.event_log_storage.get_asset_check_execution_history(CHECK, limit=100)
    return [record.run_id for record in found]


def test_evaluations_go_with_their_runs_but_the_newest_is_still_shown(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks of half an hour each would be some 18,000 rows a year and check."""
    monkeypatch.setattr(run_leftovers, "BATCH_ROWS", 2)
    runs = [a_run(instance, evaluation_event) for _ in range(5)]
    assert pruned(instance, 89.9) == Pruned(0, is_done=True)
    assert evaluated(instance) == runs[::-1]
    assert pruned(instance, 90.1) == Pruned(5, is_done=True, check_rows=4)
    assert evaluated(instance) == runs[-1:]
    shown = instance.event_log_storage.get_latest_asset_check_execution_by_key([CHECK])
    assert shown[CHECK].run_id == runs[-1] and shown[CHECK].event is not None


def test_a_planned_evaluation_does_not_hide_the_last_that_was_made(
    instance: dg.DagsterInstance,
) -> None:
    """A run that died before its check is the newest, and says nothing of how it stands."""
    _oldest, made = (a_run(instance, evaluation_event) for _ in range(2))
    died = a_run(instance, planned_event)
    assert pruned(instance, 91).check_rows == 1
    assert evaluated(instance) == [died, made]


def test_an_evaluation_of_a_run_that_is_there_stays(instance: dg.DagsterInstance) -> None:
    """A run that has not ended is not deleted, whatever its age."""
    working = a_run(instance, evaluation_event, status=dg.DagsterRunStatus.STARTED)
    ended = a_run(instance, evaluation_event)
    assert pruned(instance, 91) == Pruned(1, is_done=True)
    assert evaluated(instance) == [ended, working]
    assert instance.all_logs(working)


def test_events_without_a_run_go_once_they_are_old(instance: dg.DagsterInstance) -> None:
    """A deletion that was killed halfway leaves them; a person in the UI makes them."""
    working = a_run(instance, evaluation_event, status=dg.DagsterRunStatus.STARTED)
    half_deleted = a_run(instance, evaluation_event)
    instance.run_storage.delete_run(half_deleted)
    instance.report_runless_asset_event(dg.AssetMaterialization("by_hand", tags={"by": "hand"}))
    assert pruned(instance, 89.9).stray_events == 0
    assert instance.all_logs(half_deleted)
    assert pruned(instance, 90.1).stray_events == 2
    assert not instance.all_logs(half_deleted)
    assert not instance.fetch_materializations(dg.AssetKey("by_hand"), 1).records
    assert instance.all_logs(working)
    assert pruned(instance, 90.1).stray_events == 0


def test_nothing_else_of_a_run_is_left(instance: dg.DagsterInstance) -> None:
    """Tags go with it; what it was made of is shared by the runs of a release."""
    storage = instance.event_log_storage
    assert isinstance(storage, PatientEventLogStorage)

    def rows() -> list[int]:
        with storage.index_connection() as connection:
            return [
                connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in (RunTagsTable, SnapshotsTable)
            ]

    run_job(JOB, instance)
    tags, snapshots = rows()
    assert tags and snapshots
    run_job(JOB, instance)
    assert rows() == [2 * tags, snapshots]
    assert pruned(instance, 91).deleted_runs == 2
    assert rows() == [0, snapshots]

"""Jobs as Dagster runs over a real MySQL storage: what they do, show, refuse and leave (R18)."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.validate_run_config import validate_run_config

from collection_pipeline.definitions import defs
from collection_pipeline_tests.kit.dagster_runs import (
    materialized,
    observed,
    output_of,
    run_job,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
DRAIN: dict[str, object] = {"drain": True, "max_seconds": 60}


def test_the_midnight_job_makes_the_databases_day(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R35, R15: the run date is the database's, whatever Dagster's clock says."""
    stack = open_stack()
    one = stack.add("greenhouse", "board")
    result = run_job("daily_cycle_creation", open_instance(stack))
    assert result.success
    assert stack.cycle(one)["cycle_status"] == "NOT_STARTED"
    headers = stack.rows("SELECT snapshot_date FROM job_posting_collection_sla_snapshots")
    assert {row["snapshot_date"] for row in headers} == {stack.day(1), stack.day(2)}


def test_a_dispatch_run_shows_each_slice_and_its_tick(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """Spec section 1, I8: events carry cycle, source, status, reason and what is stored."""
    stack = open_stack(
        source("greenhouse", "board", 3),
        source("saramin", "broken", 3),
        source("saramin", "capped", 500),
    )
    board, broken = stack.add("greenhouse", "board"), stack.add("saramin", "broken")
    capped = stack.add("saramin", "capped", list_pages=1)
    stack.simulator.add_fault({"name": "http_429", "key": "broken"})
    instance = open_instance(stack)
    result = run_job("collection_dispatch", instance, DRAIN)

    seen = {int(row["source_id"]): row for row in observed(instance, "collection_cycles")}
    assert set(seen) == {board, broken, capped}
    for source_id, status, reason in (
        (board, "SUCCESS", ""),
        (broken, "FAILED", "RATE_LIMITED"),
        (capped, "BUDGET_EXHAUSTED", "LIST_PAGES"),
    ):
        shown, cycle = seen[source_id], stack.cycle(source_id)
        assert (shown["status"], shown["reason"]) == (status, reason)
        assert (shown["cycle_id"], shown["run_date"]) == (
            str(cycle["id"]),
            stack.day(1).isoformat(),
        )
        assert shown["source"].endswith(stack.sources[source_id][1])
        assert shown["list_pages"] == cycle["list_page_count"]
        assert shown["postings"] == cycle["fetched_count"]
        assert shown["detail_requests"] == cycle["detail_request_count"]
        assert isinstance(shown["seconds"], float)
        assert isinstance(shown["seconds_waited"], float)
    assert {
        (int(row["source_id"]), row["postings"]) for row in materialized(instance, "job_postings")
    } == {
        (board, 3),
        (capped, 110),
    }
    output = output_of(result, "dispatch_slices")
    assert (output["claimed"], output["slices"], output["prepared"]) == (3, 3, 3)
    assert {row.data["end"]: row.data["slices"] for row in output["slice_ends"].records} == {
        "SUCCESS": 1,
        "FAILED": 1,
        "BUDGET_EXHAUSTED": 1,
        "CONTINUED": 0,
        "LOST": 0,
    }
    assert {row["dagster_run_id"] for row in stack.slices(board)} == {result.run_id}


def test_the_cleanup_job_shows_what_it_deleted(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R31: of a past day's unfinished cycle; the figure that alerts is 0 afterwards."""
    stack = open_stack(source("saramin", "long", 900))
    stack.add("saramin", "long")
    stack.tick(drain=False)
    stack.set_clock(2)
    result = run_job("seen_row_cleanup", open_instance(stack))
    output = output_of(result, "clean_up_seen_rows")
    assert output == {
        "result": "440 seen rows deleted, 0 left over",
        "deleted_rows": 440,
        "chunks": 1,
        "seen_rows_older_than_48_hours": 0,
    }


def test_a_run_leaves_no_file_behind(
    open_stack: OpenStack, open_instance: OpenInstance, tmp_path: Path
) -> None:
    """Spec section 1: outputs and logs in DAGSTER_HOME would grow for ever."""
    stack = open_stack(source("greenhouse", "board", 3))
    stack.add("greenhouse", "board")
    run_job("collection_dispatch", open_instance(stack), DRAIN)
    left = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["dagster.yaml"]


@pytest.mark.parametrize(
    "config", [{}, {"drain": True}, {"max_seconds": None}, {"max_seconds": 1.5}, DRAIN]
)
def test_the_run_configuration_is_flat(
    open_stack: OpenStack, open_instance: OpenInstance, config: dict[str, object]
) -> None:
    """Spec section 1: `{drain: true, max_seconds: 60}` is all of it, and all of it is optional."""
    open_instance(open_stack())
    resolved = validate_run_config(defs.resolve_job_def("collection_dispatch"), config)
    wanted = {"drain": False, "max_seconds": None} | config
    assert resolved["ops"]["dispatch_slices"]["config"] == wanted


@pytest.mark.parametrize(
    "config",
    [
        {"drain": "yes"},
        {"drain": 1},
        {"max_seconds": "soon"},
        {"max_seconds": 0},
        {"max_seconds": -1},
        {"max_seconds": float("nan")},
        {"max_second": 60},
        {"ops": {"dispatch_slices": {"config": {"drain": True}}}},
    ],
)
def test_a_wrong_run_configuration_is_refused(
    open_stack: OpenStack, open_instance: OpenInstance, config: dict[str, object]
) -> None:
    """Spec section 3: zero must not mean for ever, a misspelt key must not mean its default."""
    instance = open_instance(open_stack())
    with pytest.raises(dg.DagsterError):
        run_job("collection_dispatch", instance, config)
    assert instance.get_runs_count() == 0


def test_a_tick_that_could_not_work_is_a_failedrun_job(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """R34: an unmigrated schema ends the run, and nothing of it looks like an idle tick."""
    stack = open_stack()
    instance = open_instance(stack)
    stack.write("RENAME TABLE collection_schema_version TO version_elsewhere")
    try:
        with pytest.raises(Exception, match="collection-pipeline db migrate"):
            run_job("collection_dispatch", instance)
    finally:
        stack.write("RENAME TABLE version_elsewhere TO collection_schema_version")
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.FAILURE

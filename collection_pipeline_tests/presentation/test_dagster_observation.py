"""The observation checks in Dagster: recorded by a job, executed by hand, both the same (R45)."""

from collections.abc import Callable

import dagster as dg
import pytest
from sqlalchemy import text

from collection_pipeline.collection.observation.service import NAMES
from collection_pipeline.definitions import defs
from collection_pipeline.store.connection import open_engine
from collection_pipeline_tests.kit.dagster_runs import (
    checked,
    output_of,
    plain,
    run_job,
    title_of,
)
from collection_pipeline_tests.kit.heartbeats import beat_all
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]


def by_hand(instance: dg.DagsterInstance) -> dict[str, bool]:
    """Every observation check, executed as the UI does it."""
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    return {name: passed for name, passed in checked(result).items() if name in NAMES}


def test_the_job_records_every_check_and_keeps_the_days_sizes(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str
) -> None:
    """R45: a collected day passes them all, with numbers and history in Dagster."""
    stack = open_stack(source("saramin", "long", 300))
    stack.add("saramin", "long")
    stack.tick()
    instance = open_instance(stack)
    beat_all(dagster_url)
    result = run_job("observation_checks", instance)
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    assert tuple(found) == NAMES
    assert {name: one.description for name, one in found.items() if not one.passed} == {}
    assert plain(found["host_intervals_kept"].metadata)["nearest_delay_ms"] == 10
    assert output_of(result, "observe") == {
        "result": f"{len(NAMES)} OK",
        "ok": len(NAMES),
        "warning": 0,
        "alarm": 0,
        "unknown": 0,
        "alarms": "",
    }
    assert stack.value("SELECT COUNT(DISTINCT measured_date) FROM collection_table_sizes") == 1
    key = dg.AssetCheckKey(dg.AssetKey("collection_cycles"), "no_stuck_lease")
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=5)
    assert [one.run_id for one in history] == [result.run_id]


def test_an_alarm_is_recorded_by_a_run_that_ends_well(
    open_stack: OpenStack, open_instance: OpenInstance, dagster_url: str
) -> None:
    """R45: the job and "execute" say the same; an alarm is an error, an unknown a warning."""
    stack = open_stack()
    stack.tick()
    source_id = stack.add("greenhouse", "board", active=True)
    stack.write(
        "INSERT INTO job_source_health (job_source_id, abnormal_days, broken_since) "
        "VALUES (:id, 3, :day)",
        id=source_id,
        day=stack.day(1),
    )
    instance = open_instance(stack)
    beat_all(dagster_url)
    result = run_job("observation_checks", instance)
    failed = [one for one in result.get_asset_check_evaluations() if not one.passed]
    assert [one.check_name for one in failed] == ["no_broken_source"]
    assert failed[0].severity is dg.AssetCheckSeverity.ERROR
    assert failed[0].description == f"broken: source {source_id}"
    assert output_of(result, "observe")["alarms"] == "no_broken_source"
    assert title_of(instance, result) == f"ALARM: no_broken_source; {len(NAMES) - 1} OK"
    assert by_hand(instance) == checked(result)


def test_a_schema_that_is_behind_is_found_instead_of_failing_the_run(
    open_stack: OpenStack, open_instance: OpenInstance, database_url: str, dagster_url: str
) -> None:
    """R34: the one check that can say what is wrong says it; the others are warnings."""
    stack = open_stack()
    stack.environment["COLLECTION_DATABASE_URL"] = database_url
    instance = open_instance(stack)
    beat_all(dagster_url)
    result = run_job("observation_checks", instance)
    failed = {
        one.check_name: one.severity
        for one in result.get_asset_check_evaluations()
        if not one.passed
    }
    assert failed.pop("schema_current") is dg.AssetCheckSeverity.ERROR
    assert set(failed.values()) == {dg.AssetCheckSeverity.WARN}
    assert len(failed) == len(NAMES) - 2
    with open_engine(database_url).connect() as connection:
        assert connection.execute(text("SHOW TABLES")).all() == []

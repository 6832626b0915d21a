"""What Dagster loads: documented, never repeated, bounded, without a secret (R29)."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.dependency import NodeHandle
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager
from dagster_mysql.event_log import MySQLEventLogStorage
from dagster_mysql.run_storage import MySQLRunStorage
from dagster_mysql.schedule_storage import MySQLScheduleStorage

from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.library_checks import LIBRARY_CHECKS
from collection_pipeline.orchestration.observation_checks import OBSERVATION_CHECKS
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    ROOT,
    dagster_environment,
    opened_instance,
)

MOST_WAITING_SECONDS = 2 * 3600 + 60
"""The largest tolerance and the largest late start that the settings allow, and the lead."""

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

JOBS = {
    "collection_dispatch",
    "collection_report",
    "daily_cycle_creation",
    "library_ingest",
    "morning_alerts",
    "dagster_run_pruning",
    "retention",
    "observation_checks",
    "seen_row_cleanup",
    "sla_snapshot",
    "sla_snapshot_recovery",
}


@pytest.fixture
def repository() -> dg.RepositoryDefinition:
    """Everything that is defined, resolved as a code server does."""
    return defs.get_repository_def()


@pytest.fixture
def jobs(repository: dg.RepositoryDefinition) -> list[dg.JobDefinition]:
    """The project's jobs; Dagster's own for assets has nothing that could be run."""
    return [job for job in repository.get_all_jobs() if not job.name.startswith("__")]


def test_the_definitions_load_and_validate() -> None:
    """A misspelt resource or configuration fails here, not at midnight."""
    dg.Definitions.validate_loadable(defs)


def test_every_job_runs_in_process_and_is_never_retried(jobs: list[dg.JobDefinition]) -> None:
    """Spec section 1: the next tick finds by state what is left to do."""
    assert {job.name for job in jobs} == JOBS
    for job in jobs:
        assert job.executor_def.name == "in_process", job.name
        assert job.tags["dagster/max_retries"] == "0", job.name
        for node in job.nodes:
            handle = NodeHandle(node.name, None)
            assert job.get_retry_policy_for_handle(handle) is None, node.name


def test_every_job_has_a_longest_time_of_its_own(jobs: list[dg.JobDefinition]) -> None:
    """Spec section 1: a drain is longer than a tick; without one a dead run stays STARTED."""
    longest = {job.name: int(job.tags["dagster/max_runtime"]) for job in jobs}
    assert set(longest) == JOBS
    assert all(0 < seconds <= 24 * 3600 for seconds in longest.values())
    assert longest["collection_dispatch"] > longest["seen_row_cleanup"]
    assert longest["sla_snapshot"] > MOST_WAITING_SECONDS


def test_the_capture_leaves_the_queue_before_everything_else(
    jobs: list[dg.JobDefinition],
) -> None:
    """R38: it has a minute to start; no limit of other jobs' runs may keep it waiting."""
    priorities = {job.name: int(job.tags["dagster/priority"]) for job in jobs}
    capture = priorities.pop("sla_snapshot")
    assert capture > max(priorities.values())
    assert priorities["sla_snapshot_recovery"] == max(priorities.values())
    limited = {job.name for job in jobs if "collection/dispatch" in job.tags}
    assert limited == {"collection_dispatch"}


def test_everything_is_documented_in_the_ui(
    repository: dg.RepositoryDefinition, jobs: list[dg.JobDefinition]
) -> None:
    """Style: every op, job, schedule, sensor, asset and check has words, assets also a kind."""
    described = {
        **{job.name: job.description for job in jobs},
        **{node.name: node.definition.description for job in jobs for node in job.nodes},
        **{one.name: one.description for one in repository.schedule_defs},
        **{one.name: one.description for one in repository.sensor_defs},
        **{one.key.name: one.description for one in _check_specs()},
    }
    assert all(description and len(description) > 20 for description in described.values())
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert set(specs) == {
        "job_postings",
        "collection_cycles",
        "collection_report",
        "sla_snapshot",
        "public_libraries",
    }
    assert all(spec.description and spec.kinds for spec in specs.values())


def _check_specs() -> list[dg.AssetCheckSpec]:
    return [spec for check in [*OBSERVATION_CHECKS, *LIBRARY_CHECKS] for spec in check.check_specs]


def test_checks_watch_the_morning_the_queue_the_sources_and_the_register() -> None:
    """R45: shown at the assets that they are about, and none stops a run."""
    checks = {spec.key.name: spec for spec in _check_specs()}
    assert {name: spec.asset_key.to_user_string() for name, spec in checks.items()} == {
        "snapshot_captured": "sla_snapshot",
        "snapshot_before_notification": "sla_snapshot",
        "ticks_on_time": "collection_cycles",
        "no_stuck_lease": "collection_cycles",
        "no_seen_row_older_than_48_hours": "collection_cycles",
        "boards_fit_budget": "collection_cycles",
        "host_intervals_kept": "collection_cycles",
        "no_broken_source": "collection_cycles",
        "open_postings_confirmed": "job_postings",
        "daemon_alive": "collection_cycles",
        "schema_current": "collection_cycles",
        "clocks_agree": "collection_cycles",
        "tables_grow_slowly": "job_postings",
        "complete_snapshot": "public_libraries",
        "share_deactivated": "public_libraries",
        "unparsed_cells": "public_libraries",
    }
    assert not any(spec.blocking for spec in checks.values())


def test_every_observation_check_leads_to_its_page_of_the_runbook() -> None:
    """R45: what an alarm means, what to look at, what to type."""
    page = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    for check in OBSERVATION_CHECKS:
        for spec in check.check_specs:
            assert f"docs/runbook.md#{spec.name}" in (spec.description or "")
            assert f"\n## {spec.name}\n" in page


def test_the_sensors_ask_often_enough_and_are_on(repository: dg.RepositoryDefinition) -> None:
    """Spec section 1: the queue is asked once a minute; the code switches them on."""
    sensors = {sensor.name: sensor for sensor in repository.sensor_defs}
    assert {name: one.minimum_interval_seconds for name, one in sensors.items()} == {
        "collection_dispatch_sensor": 60,
        "morning_alerts_sensor": 30,
        "run_failure_sensor": 30,
    }
    assert sensors["collection_dispatch_sensor"].job_name == "collection_dispatch"
    assert sensors["morning_alerts_sensor"].job_name == "morning_alerts"
    assert all(one.default_status is dg.DefaultSensorStatus.RUNNING for one in sensors.values())


PLANTED = {
    "COLLECTION_SARAMIN_ACCESS_KEY": "planted+key/with%odd&chars==",
    "COLLECTION_LIBRARY_SERVICE_KEY": "planted+service/key==",
    "COLLECTION_WEBHOOK_URL": "https://hooks.test/planted/T0/B0",
    "COLLECTION_DATABASE_URL": "mysql+pymysql://me:planted-password@127.0.0.1:1/queue",
}
SNAPSHOT = """
import dagster as dg
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value
from collection_pipeline.definitions import defs
print(serialize_value(RepositorySnap.from_def(defs.get_repository_def())))
"""


def test_the_snapshot_names_variables_and_shows_no_value(tmp_path: Path) -> None:
    """R29: what the UI is given, by a code server that has the secrets in its environment."""
    snapshot = subprocess.run(
        [sys.executable, "-c", SNAPSHOT],
        env=dagster_environment(PLANTED, "mysql://127.0.0.1:1/d", tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    ).stdout
    assert all(name in snapshot for name in PLANTED)
    assert "planted" not in snapshot


@pytest.fixture
def instance(dagster_url: str, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """The project's own configuration over a real database."""
    with opened_instance(dagster_environment({}, dagster_url, tmp_path / "home")) as opened:
        yield opened


def test_dagsters_own_rows_are_in_mysql(instance: dg.DagsterInstance) -> None:
    """Spec section 1: runs, events and ticks; nothing in files of DAGSTER_HOME."""
    assert isinstance(instance.run_storage, MySQLRunStorage)
    assert isinstance(instance.event_log_storage, MySQLEventLogStorage)
    assert isinstance(instance.schedule_storage, MySQLScheduleStorage)
    assert instance.get_runs_count() == 0
    assert isinstance(instance.compute_log_manager, NoOpComputeLogManager)


def test_dagster_reads_the_plain_scheme_too(dagster_url: str, tmp_path: Path) -> None:
    """Spec section 3: `mysql://` is one of the spellings of COLLECTION_DAGSTER_DATABASE_URL."""
    plain = dagster_url.replace("mysql+pymysql://", "mysql://")
    environment = dagster_environment({}, plain, tmp_path / "home")
    with opened_instance(environment) as instance:
        assert instance.get_runs_count() == 0
        assert instance.get_ref().storage_data is not None


def test_nothing_is_reported_home_and_no_run_is_repeated(instance: dg.DagsterInstance) -> None:
    """Spec section 1: telemetry off, no run retry, no resumed run."""
    assert instance.telemetry_enabled is False
    assert instance.run_retries_enabled is False
    assert instance.run_retries_max_retries == 0
    assert instance.run_monitoring_max_resume_run_attempts == 0


def test_a_run_that_died_is_noticed(instance: dg.DagsterInstance) -> None:
    """Spec section 1: without monitoring a run stays STARTED for ever."""
    assert instance.run_monitoring_enabled is True
    assert instance.get_settings("run_monitoring")["max_runtime_seconds"] > 0


def test_old_ticks_are_purged(instance: dg.DagsterInstance) -> None:
    """Spec section 1: by default a schedule's ticks and a sensor's runs are kept for ever."""
    for kind in (InstigatorType.SCHEDULE, InstigatorType.SENSOR):
        days = instance.get_tick_retention_settings(kind)
        assert days
        assert all(0 < number <= 30 for number in days.values())


def test_the_capture_finds_a_free_slot_beside_dispatch_runs(instance: dg.DagsterInstance) -> None:
    """Spec section 1: dispatch runs may overlap, but never take all slots."""
    coordinator = instance.run_coordinator
    assert isinstance(coordinator, QueuedRunCoordinator)
    queue = coordinator.get_run_queue_config()
    assert queue is not None
    (limit,) = queue.tag_concurrency_limits
    assert limit["key"] == "collection/dispatch"
    assert 1 < limit["limit"] < queue.max_concurrent_runs


def test_what_hangs_on_a_host_that_is_cut_off_leaves_room_for_the_others(
    instance: dg.DagsterInstance,
) -> None:
    """R38: launches go side by side, and no sensor waits for those of a host that is silent."""
    coordinator = instance.run_coordinator
    assert isinstance(coordinator, QueuedRunCoordinator)
    assert coordinator.dequeue_use_threads
    assert (coordinator.dequeue_num_workers or 0) >= 6
    sensors = instance.get_settings("sensors")
    assert sensors["use_threads"]
    assert sensors["num_workers"] >= 2 * len(list(defs.sensors or ()))

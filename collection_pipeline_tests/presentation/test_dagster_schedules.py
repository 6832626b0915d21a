"""When Dagster starts what: hours in Seoul, moved by the cutoff, on from the start (R35, R38)."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from collection_pipeline.definitions import defs
from collection_pipeline.orchestration.automation import snapshot_schedules
from collection_pipeline.orchestration.sla_times import (
    capture_cron,
    recovery_cron,
    settings_or_defaults,
)
from collection_pipeline.settings import InvalidSetting, load_settings
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    ROOT,
    dagster_environment,
)

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

CUTOFF = "COLLECTION_SLA_CUTOFF"
TOLERANCE = "COLLECTION_SLA_CAPTURE_TOLERANCE_SECONDS"


def test_every_schedule_runs_at_its_hour_in_seoul() -> None:
    """R35, R38, R31: midnight, a minute ahead of 09:00, past the tolerance, 10:15,
    and Monday at 11:00; all are on.

    R45: and every half hour what is observed.

    R50: but for the register's, which is created stopped.
    """
    schedules = {one.job_name: one for one in defs.get_repository_def().schedule_defs}
    assert {name: one.cron_schedule for name, one in schedules.items()} == {
        "daily_cycle_creation": "0 0 * * *",
        "sla_snapshot": "59 8 * * *",
        "sla_snapshot_recovery": "2 9 * * *",
        "seen_row_cleanup": "15 10 * * *",
        "collection_report": "0 11 * * 1",
        "library_ingest": "0 4 1 * *",
        "observation_checks": "*/30 * * * *",
        "dagster_run_pruning": "30 4 * * *",
        "retention": "45 4 * * *",
    }
    stopped = schedules.pop("library_ingest")
    assert stopped.default_status is dg.DefaultScheduleStatus.STOPPED
    for schedule in schedules.values():
        assert schedule.execution_timezone == "Asia/Seoul"
        assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING


@pytest.mark.parametrize(
    ("cutoff", "tolerance", "capture", "recovery"),
    [
        ("09:00", "60", "59 8 * * *", "2 9 * * *"),
        ("09:00", "1", "59 8 * * *", "2 9 * * *"),
        ("09:00", "61", "59 8 * * *", "3 9 * * *"),
        ("09:00", "3600", "59 8 * * *", "1 10 * * *"),
        ("07:30", "60", "29 7 * * *", "32 7 * * *"),
        ("00:00", "60", "59 23 * * *", "2 0 * * *"),
        ("23:59", "60", "58 23 * * *", "1 0 * * *"),
    ],
)
def test_the_cutoff_moves_the_capture_and_its_recovery(
    cutoff: str, tolerance: str, capture: str, recovery: str
) -> None:
    """R38: started ahead of the cutoff, recovered once no capture can be in time any more."""
    settings = load_settings({CUTOFF: cutoff, TOLERANCE: tolerance})
    assert (capture_cron(settings), recovery_cron(settings)) == (capture, recovery)
    schedules = {one.job_name: one for one in snapshot_schedules(settings)}
    assert schedules["sla_snapshot"].cron_schedule == capture
    assert schedules["sla_snapshot_recovery"].cron_schedule == recovery


def _ticked(schedule: dg.ScheduleDefinition) -> ScheduleExecutionData:
    at = datetime(2026, 12, 1, 0, 0, tzinfo=UTC)
    with dg.build_schedule_context(scheduled_execution_time=at) as context:
        return schedule.evaluate_tick(context)


def test_a_wrong_cutoff_is_said_by_the_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec section 3: the schedule stays, at its default hour, and its tick names the variable."""
    environment = {CUTOFF: "9 o'clock"}
    assert capture_cron(settings_or_defaults(environment)) == "59 8 * * *"
    schedules = snapshot_schedules(settings_or_defaults(environment))
    monkeypatch.setenv(CUTOFF, "08:30")
    for schedule in schedules:
        (request,) = _ticked(schedule).run_requests or []
        assert not request.run_config
    monkeypatch.setenv(CUTOFF, "9 o'clock")
    for schedule in schedules:
        with pytest.raises(InvalidSetting, match=CUTOFF):
            _ticked(schedule)


CRONS = """
import importlib, os
from collection_pipeline.orchestration import automation
for cutoff in ("soon", "07:30"):
    os.environ["COLLECTION_SLA_CUTOFF"] = cutoff
    importlib.reload(automation)
    print(cutoff, [one.cron_schedule for one in automation.SCHEDULES])
import collection_pipeline.definitions
"""


def test_a_code_server_loads_with_any_cutoff(tmp_path: Path) -> None:
    """Spec section 3: one wrong value must not take every job and schedule away."""
    loaded = subprocess.run(
        [sys.executable, "-c", CRONS],
        env=dagster_environment({CUTOFF: "soon"}, "mysql://127.0.0.1:1/d", tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    ).stdout
    hours = ["0 0 * * *", "15 10 * * *"]
    later = ["0 11 * * 1", "0 4 1 * *", "*/30 * * * *", "30 4 * * *", "45 4 * * *"]
    assert loaded.splitlines() == [
        f"soon {[*hours, '59 8 * * *', '2 9 * * *', *later]}",
        f"07:30 {[*hours, '29 7 * * *', '32 7 * * *', *later]}",
    ]

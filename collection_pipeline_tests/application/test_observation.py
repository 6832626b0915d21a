"""Each observation check passes on a healthy pipeline and alarms on the fault it is for (R45)."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from collection_pipeline.collection.observation.machine_checks import host_time
from collection_pipeline.collection.observation.observed import Observation, ObservationState
from collection_pipeline.collection.observation.service import NAMES, opened_checks, worst_state
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.table_sizes import DAYS_KEPT, keep_sizes
from collection_pipeline_tests.kit import observed_world as world
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.heartbeats import beat, beat_all, opened_heartbeats
from collection_pipeline_tests.kit.observed_world import Fault, make_healthy_day, observing

OK, ALARM = ObservationState.OK, ObservationState.ALARM
GROWTH_ALARM_MB = 1
"""So that the little that a test's tables hold is much for one day."""


@pytest.fixture
def dagster_url(database_server: PrivateServer) -> Iterator[str]:
    """Dagster's database, whose daemon is alive."""
    with opened_heartbeats(database_server) as url:
        beat_all(url)
        yield url


def seen(
    store: Store, dagster_url: str | None = None, growth_alarm_mb: int = 500
) -> dict[str, Observation]:
    """Every observation by its name."""
    with observing(store, dagster_url, TABLE_GROWTH_ALARM_MB=growth_alarm_mb) as checks:
        return {one.name: one for one in checks.observe()}


def test_a_healthy_pipeline_passes_every_check(store: Store, dagster_url: str) -> None:
    """R45: each says so in a sentence, and where to read more."""
    make_healthy_day(store)
    world.keep_size(store, DAY - timedelta(days=8), 10**9)
    found = seen(store, dagster_url)
    assert tuple(found) == NAMES
    assert {one.name: one.sentence for one in found.values() if one.state is not OK} == {}
    assert all(one.sentence and one.numbers for one in found.values())
    assert found["host_intervals_kept"].numbers["slices"] == 1
    assert found["open_postings_confirmed"].numbers["unconfirmed_postings"] == 1
    assert found["tables_grow_slowly"].numbers["compared_days"] == 8


@pytest.mark.parametrize(
    ("name", "fault", "number", "expected"),
    [
        ("snapshot_captured", world.miss_morning, "capture_status", "MISSED"),
        ("snapshot_before_notification", world.capture_after_telling, "days_told_too_early", 1),
        ("ticks_on_time", world.stop_ticks, "overdue", 1),
        ("no_stuck_lease", world.strand_lease, "stuck_leases", 1),
        ("no_seen_row_older_than_48_hours", world.leave_seen_rows, None, None),
        ("boards_fit_budget", world.exhaust_board, "exhausted_boards", 1),
        ("host_intervals_kept", world.hurry, "nearest_least_interval_ms", 990.0),
        ("no_broken_source", world.break_source, "broken_sources", 1),
        ("open_postings_confirmed", world.lose_sight, "unconfirmed_postings", 20),
        ("tables_grow_slowly", world.grow, "compared_days", 1),
    ],
)
def test_a_check_alarms_on_the_fault_it_is_for(
    store: Store,
    dagster_url: str,
    name: str,
    fault: Fault,
    number: str | None,
    expected: object,
) -> None:
    """R45: and no other check does, apart from ticks, which would end what is left to recover."""
    make_healthy_day(store)
    fault(store)
    found = seen(store, dagster_url, GROWTH_ALARM_MB)
    alarms = {one.name for one in found.values() if one.state is ALARM}
    assert name in alarms, found[name].sentence
    assert alarms <= {name, "ticks_on_time"}
    assert found[name].runbook == f"docs/runbook.md#{name}"
    if number is not None:
        assert found[name].numbers[number] == expected
    assert worst_state(list(found.values())) is ALARM


def test_a_sources_own_delay_holds_from_its_change_on(store: Store) -> None:
    """R26: a slower source is judged by its own delay, its earlier slices are not."""
    source = make_healthy_day(store)
    change = "UPDATE job_sources SET min_delay_ms = 5000, updated_at = :at WHERE id = :id"
    assert store.now is not None
    store.write(change, id=source, at=store.now)
    assert seen(store)["host_intervals_kept"].state is ALARM
    store.write(change, id=source, at=store.now + timedelta(seconds=1))
    assert seen(store)["host_intervals_kept"].numbers["slices"] == 0


def test_a_board_that_ended_well_today_puts_yesterday_right(store: Store) -> None:
    """R45: the alarm ends with the fault."""
    source = make_healthy_day(store)
    state = "UPDATE job_posting_collection_cycles SET run_date = :day, cycle_status = :state "
    own = "WHERE job_source_id = :id"
    day = DAY - timedelta(days=1)
    store.write(state + own, day=day, state="BUDGET_EXHAUSTED", id=source)
    assert seen(store)["boards_fit_budget"].state is ALARM
    store.add_cycle(source, CycleStatus.SUCCESS)
    assert seen(store)["boards_fit_budget"].state is OK


def test_few_unconfirmed_postings_are_a_warning(store: Store) -> None:
    """R32a: a tenth wants a look, an inactive source none."""
    source = make_healthy_day(store)
    store.write(
        "UPDATE job_postings SET last_seen_run_date = :day WHERE source_job_id < 'old-11'",
        day=DAY - timedelta(days=9),
    )
    found = seen(store)["open_postings_confirmed"]
    assert (found.state, found.numbers["worst_source"]) == (ObservationState.WARNING, source)
    store.write("UPDATE job_sources SET active = 0 WHERE id = :id", id=source)
    assert seen(store)["open_postings_confirmed"].state is OK


def test_the_daemon_is_judged_by_its_heartbeats(store: Store, dagster_url: str) -> None:
    """R45: silent for five minutes, never seen, or unknown where nobody named its database."""
    with observing(store, dagster_url) as checks:
        assert checks.observe_one("daemon_alive").state is OK
        beat(dagster_url, "SENSOR", 301)
        assert checks.observe_one("daemon_alive").state is ALARM
    with observing(store, store.url) as checks:
        assert "no heartbeat of QUEUED" in checks.observe_one("daemon_alive").sentence
    with observing(store, "mysql://nobody@127.0.0.1:1/dagster") as checks:
        assert checks.observe_one("daemon_alive").state is ALARM
    with observing(store) as checks:
        assert checks.observe_one("daemon_alive").state is ObservationState.UNKNOWN


@pytest.mark.parametrize(
    ("seconds", "state"),
    [(0, OK), (6, ObservationState.WARNING), (31, ALARM), (-31, ALARM)],
)
def test_clocks_that_differ_are_told_apart(
    store: Store, seconds: float, state: ObservationState
) -> None:
    """R15: the host starts what the database decides; a simulated clock is never an alarm."""
    with observing(store, read_host=lambda: host_time() - timedelta(seconds=seconds)) as checks:
        assert checks.observe_one("clocks_agree").state is OK
        store.write("DELETE FROM simulation_clock")
        found = checks.observe_one("clocks_agree")
    assert found.state is state, found.sentence
    assert found.numbers["offset_seconds"] == pytest.approx(seconds, abs=1)


def test_a_schema_that_is_behind_is_an_alarm_and_nothing_else_is_asked(
    database_url: str, dagster_url: str
) -> None:
    """R34: the rest is unknown, but for Dagster's daemon."""
    with (
        world.assembled(database_url) as pipeline,
        opened_checks(pipeline, database_url, dagster_url) as checks,
    ):
        found = {one.name: one for one in checks.observe()}
    assert found.pop("schema_current").state is ALARM
    assert found.pop("daemon_alive").state is OK
    assert {one.state for one in found.values()} == {ObservationState.UNKNOWN}
    assert all(one.sentence.startswith("not asked") for one in found.values())


def test_a_database_that_is_away_cannot_be_asked() -> None:
    """R45: no observation is made up."""
    url = "mysql://nobody@127.0.0.1:1/queue"
    with (
        world.assembled(url) as pipeline,
        opened_checks(pipeline, url, None) as checks,
        pytest.raises(DatabaseUnavailable),
    ):
        checks.observe()


def test_a_check_that_is_not_answered_hides_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R45: one slow statement is one unknown."""
    make_healthy_day(store)

    def slow(*_: object) -> None:
        raise DatabaseUnavailable("a statement took longer than the service lets it")

    with observing(store) as checks:
        monkeypatch.setitem(checks._checks, "no_stuck_lease", slow)
        found = {one.name: one for one in checks.observe()}
    assert found["no_stuck_lease"].state is ObservationState.UNKNOWN
    assert not found["no_stuck_lease"].is_answered
    assert found["ticks_on_time"].state is OK


def test_sizes_are_kept_once_a_day_and_not_for_ever(store: Store) -> None:
    """R45: growth has a figure to be compared with, and the figures do not grow themselves."""
    world.keep_size(store, DAY - timedelta(days=DAYS_KEPT + 1), 5)
    assert store.run(lambda connection: keep_sizes(connection, DAY))
    assert not store.run(lambda connection: keep_sizes(connection, DAY))
    days = store.rows("SELECT DISTINCT measured_date AS day FROM collection_table_sizes")
    assert days == [{"day": DAY}]
    kept = "SELECT data_bytes FROM collection_table_sizes WHERE table_name = 'job_postings'"
    assert store.value(kept) > 0

"""Why a day has no snapshot: each cause told apart by what the database still knows (R37, R38)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.missed_snapshot import CaptureOutcome
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.sources import JobSources
from collection_pipeline.store.ticks import CollectionTicks
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.morning import (
    Morning,
    after,
    jump_to,
    recovered,
    simulated_store,
    uncaptured_morning,
)
from collection_pipeline_tests.kit.stack import wait_until

OpenStore = Callable[..., Store]
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """One process at 08:50 of simulated time."""
    return simulated_store(open_store)


@pytest.fixture
def morning(store: Store) -> Morning:
    """Nobody has captured it yet."""
    return uncaptured_morning(store)


def reason_of(morning: Morning) -> str:
    """Why recovery calls the day MISSED."""
    (header,) = recovered(morning)
    assert header.status is CaptureStatus.MISSED
    stored = morning.header()
    assert (stored["capture_status"], stored["miss_reason"]) == ("MISSED", header.miss_reason)
    assert stored["captured_at"] is None and morning.items() == []
    return header.miss_reason or ""


def attempted(
    store: Store,
    began: float,
    asked: float | None = None,
    outcome: CaptureOutcome | None = None,
    ended: float = 0,
) -> None:
    """An attempt as a worker would have left it, in seconds after the cutoff."""
    attempts = CaptureAttempts()

    def writing(connection: Any) -> None:
        one = attempts.begin(connection, DAY, "host:42", "run-1", after(began))
        if asked is not None:
            attempts.ask(connection, one, after(asked))
        if outcome is not None:
            attempts.end(connection, one, outcome, after(ended))

    store.run(writing)


def ticked(store: Store, at: float) -> None:
    """A tick's heartbeat at that moment."""
    store.run(lambda c: CollectionTicks().begin(c, f"tick {at}", "host:9", None, after(at)))


def test_a_day_whose_flag_was_off_at_the_cutoff_is_no_incident(store: Store) -> None:
    """R37, R44: activation at 10:00 on a day whose header was made before."""
    store.add_source()
    morning = Morning(store)
    morning.creation.create_daily_cycles()
    store.now = after(3_600)
    store.switch_on()
    (header,) = recovered(morning, at=3_700)
    assert header.status is CaptureStatus.NOT_APPLICABLE
    assert DISPATCH_FLAG in (header.miss_reason or "")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ([(-60, False)], CaptureStatus.NOT_APPLICABLE),
        ([(0, False)], CaptureStatus.NOT_APPLICABLE),
        ([(0.5, False)], CaptureStatus.MISSED),
        ([(-60, False), (-60, True)], CaptureStatus.MISSED),
        ([(-60, False), (30, True)], CaptureStatus.NOT_APPLICABLE),
    ],
)
def test_the_flags_last_change_up_to_the_cutoff_decides(
    morning: Morning, changes: list[tuple[float, bool]], status: CaptureStatus
) -> None:
    """R37: not what the flag says when recovery comes."""
    for at, enabled in changes:
        morning.store.now = after(at)
        morning.store.switch_on(DISPATCH_FLAG, enabled=enabled)
    (header,) = recovered(morning)
    assert header.status is status


def test_a_day_without_a_source_that_could_run_is_no_incident(store: Store) -> None:
    """R37: added later, switched off before, of a platform or system that is not ours."""
    store.switch_on(DISPATCH_FLAG)
    store.add_source("saramin")
    store.add_source("ashby")
    off, elsewhere = store.add_source(), store.add_source()
    store.run(lambda c: JobSources().switch(c, off, active=False, now=after(-300)))
    store.write(
        "INSERT INTO job_posting_collection_runs"
        " (job_source_id, run_date, run_status, created_at) VALUES (:s, :d, 'SUCCESS', :t)",
        s=elsewhere,
        d=DAY,
        t=after(-400),
    )
    morning = Morning(store)
    morning.creation.create_daily_cycles()
    store.now = after(30)
    store.add_source()
    store.switch_on(AGGREGATOR_FLAG)
    (header,) = recovered(morning)
    assert header.status is CaptureStatus.NOT_APPLICABLE
    assert "no source was eligible" in (header.miss_reason or "")


def test_a_run_of_an_older_system_after_the_cutoff_excuses_nothing(morning: Morning) -> None:
    """R38, R44: at the cutoff the source was still to be collected here."""
    morning.store.write("DELETE FROM job_posting_collection_cycles")
    morning.store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status, created_at)"
        " SELECT id, :d, 'SUCCESS', :t FROM job_sources",
        d=DAY,
        t=after(10),
    )
    assert reason_of(morning)


@pytest.mark.parametrize("switched_off_at", [None, 20])
def test_a_source_that_could_run_at_the_cutoff_makes_the_day_missed(
    morning: Morning, switched_off_at: float | None
) -> None:
    """R38: also one that was switched off since; in doubt the day is MISSED."""
    if switched_off_at is not None:
        sources = morning.store.rows("SELECT id FROM job_sources")
        moment = after(switched_off_at)
        morning.store.run(
            lambda c: JobSources().switch(c, sources[0]["id"], active=False, now=moment)
        )
    assert reason_of(morning)


def test_a_gate_that_came_too_late_is_the_reason(morning: Morning) -> None:
    """R38: reason 1."""
    attempted(morning.store, -50, -0.5, CaptureOutcome.GATE_TOO_LATE, 66)
    assert "the gate came too late: worker host:42" in reason_of(morning)


def test_a_worker_that_asked_and_vanished_is_the_reason(morning: Morning) -> None:
    """R38: reason 2 names the worker and its moment."""
    attempted(morning.store, -50, -0.5)
    ticked(morning.store, 1)
    reason = reason_of(morning)
    assert "worker host:42 asked for the gate at 2026-12-01 08:59:59.5 KST" in reason
    assert "died" in reason


def test_a_worker_that_came_late_is_the_reason(morning: Morning) -> None:
    """R38: reason 3."""
    attempted(morning.store, 5.5, 6, CaptureOutcome.LATE, 6)
    assert "asked at 2026-12-01 09:00:06.0 KST, 6.0 s after the cutoff" in reason_of(morning)


def test_a_worker_that_began_in_time_is_not_called_late(morning: Morning) -> None:
    """R38: its database was away, or its host stood still; no queue and no schedule is blamed."""
    attempted(morning.store, -4.8, 9.7, CaptureOutcome.LATE, 9.7)
    reason = reason_of(morning)
    assert "began in time at 2026-12-01 08:59:55.2 KST" in reason
    assert "reached the database at 2026-12-01 09:00:09.7 KST, 9.7 s after the cutoff" in reason


def test_a_place_that_was_lost_for_a_minute_blames_no_writer(morning: Morning) -> None:
    """R38: the server was killed while the worker waited; nobody held the gate."""
    attempted(morning.store, -50, -0.5, CaptureOutcome.GATE_LOST, 62)
    reason = reason_of(morning)
    assert "lost its place in the queue" in reason and "writer" not in reason


def pending_at(store: Store, seconds_ago: float) -> Morning:
    """A morning of real time whose cutoff was so long ago, with a source and both flags on."""
    now = store.run(store.clock.now)
    cutoff = now - timedelta(seconds=seconds_ago)
    store.now = cutoff - timedelta(hours=1)
    store.switch_on()
    store.add_source()
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots"
        " (snapshot_date, scheduled_at, capture_status, created_at)"
        " VALUES (:day, :cutoff, 'PENDING', :cutoff)",
        day=run_date_of(cutoff),
        cutoff=cutoff,
    )
    store.now = None
    return Morning(store, SLA_CAPTURE_TOLERANCE_SECONDS=1, SLA_LATE_START_SECONDS=1)


def test_a_server_that_started_after_the_cutoff_is_the_reason(open_store: OpenStore) -> None:
    """R38: reason 4, from the server's own uptime, where time is not simulated."""
    store = open_store(now=None)
    morning = pending_at(store, uptime(store) + 1_800)
    (header,) = morning.service.mark_missed_snapshot()
    assert "the database server runs only since 20" in (header.miss_reason or "")


def test_while_time_is_simulated_the_servers_start_says_nothing(open_store: OpenStore) -> None:
    """R15: its uptime is of another time."""
    store = open_store(now=None)
    morning = pending_at(store, uptime(store) + 1_800)
    jump_to(store, store.run(store.clock.now) + timedelta(seconds=1))
    (header,) = morning.service.mark_missed_snapshot()
    assert "no tick ran around the cutoff" in (header.miss_reason or "")


def test_a_server_that_ran_at_the_cutoff_is_not_blamed(open_store: OpenStore) -> None:
    """R38: its uptime reaches back beyond the cutoff."""
    store = open_store(now=None)
    wait_until("the server has run for a while", lambda: uptime(store) >= 4)
    (header,) = pending_at(store, 2.5).service.mark_missed_snapshot()
    assert "no tick ran around the cutoff" in (header.miss_reason or "")


def uptime(store: Store) -> int:
    """Seconds since the server started."""
    return int(store.row("SHOW GLOBAL STATUS LIKE 'Uptime'")["Value"])


@pytest.mark.parametrize("tick_at", [-600, -20, 0, 60])
def test_ticks_around_the_cutoff_speak_for_a_schedule_that_did_not_start(
    morning: Morning, tick_at: float
) -> None:
    """R38: reason 5."""
    ticked(morning.store, tick_at)
    assert "although a tick ran at" in reason_of(morning)


@pytest.mark.parametrize("tick_at", [None, -601, 60.5])
def test_no_sign_of_life_around_the_cutoff_is_the_reason(
    morning: Morning, tick_at: float | None
) -> None:
    """R38: reason 6; ticks of another time of day say nothing."""
    if tick_at is not None:
        ticked(morning.store, tick_at)
    assert "no tick ran around the cutoff" in reason_of(morning)


def test_attempts_of_another_day_explain_nothing(morning: Morning) -> None:
    """R38: evidence is of the day itself."""
    attempts = CaptureAttempts()
    morning.store.run(
        lambda c: attempts.begin(c, DAY - timedelta(days=1), "host:42", None, after(-50))
    )
    assert "no capture was started" in reason_of(morning)

"""``/healthz``: what is fit and what is not, within two seconds whatever hangs."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy.pool import QueuePool

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.operations.single_flight import SingleFlight
from collection_pipeline.settings import load_settings
from collection_pipeline.store.views.tick_due import stale_after_seconds
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.operations_client import (
    RUNS_PATH,
    Operations,
    make_idle_day,
    opened_operations,
)
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.stack import wait_until

BOUND_SECONDS = 2.0
LATER = NOON + timedelta(hours=2)
"""Two hours after every row that a store writes at ``NOON``."""


@pytest.fixture
def idle(store: Store) -> Store:
    """A store at noon whose day is made and has nothing to do; the service asks two hours later."""
    make_idle_day(store, LATER)
    return store


def health(operations: Operations) -> tuple[int, dict[str, Any]]:
    """Status and document; slower than the bound fails the test."""
    began = time.monotonic()
    found = operations.health()
    assert time.monotonic() - began < BOUND_SECONDS
    return found


def asked(store: Store) -> tuple[int, str, dict[str, Any]]:
    """HTTP status, the word, and the check of the last tick."""
    with opened_operations(store.url) as operations:
        status, document = operations.health()
    return status, document["status"], document["checks"]["lastTick"]


def add_tick(store: Store, started_at: datetime, finished_at: datetime | None = None) -> None:
    """A heartbeat."""
    store.write(
        "INSERT INTO collection_ticks (tick_id, worker, started_at, finished_at) "
        "VALUES (UUID(), 'worker', :started_at, :finished_at)",
        started_at=started_at,
        finished_at=finished_at,
    )


def test_an_idle_pipeline_is_fit_however_old_its_last_tick_is(idle: Store) -> None:
    """An idle minute starts no tick, so its age alone is no alarm."""
    add_tick(idle, NOON, NOON)
    with opened_operations(idle.url) as operations:
        status, document = operations.health()
    assert (status, document["status"]) == (200, "ok")
    assert list(document["checks"]) == ["database", "migrations", "lastTick", "daemon"]
    checks = document["checks"]
    assert {name: check["state"] for name, check in checks.items()} == {
        "database": "ok",
        "migrations": "ok",
        "lastTick": "ok",
        "daemon": "unknown",
    }
    assert 0 < checks["database"]["seconds"] < 2
    assert 7_200 <= checks["lastTick"]["seconds"] < 7_230
    assert "COLLECTION_DAGSTER_DATABASE_URL" in checks["daemon"]["detail"]


def due_cycle(store: Store) -> None:
    store.due_cycle()


def expired_lease(store: Store) -> None:
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)


def unprepared_cycle(store: Store) -> None:
    store.add_cycle(store.add_source(), CycleStatus.NOT_STARTED)


def missing_cycle(store: Store) -> None:
    store.add_source()


def missing_header(store: Store) -> None:
    store.write("DELETE FROM job_posting_collection_sla_snapshots")


def pending_snapshot(store: Store) -> None:
    store.write(
        "UPDATE job_posting_collection_sla_snapshots SET capture_status = 'PENDING' "
        "WHERE snapshot_date = :day",
        day=DAY,
    )


WORK: dict[str, Callable[[Store], None]] = {
    "cycles are due": due_cycle,
    "leases have expired": expired_lease,
    "cycles wait to be prepared": unprepared_cycle,
    "today's cycles are missing": missing_cycle,
    "today's snapshot header is missing": missing_header,
    "a snapshot waits for its end": pending_snapshot,
}


@pytest.mark.parametrize("words", WORK)
def test_work_that_no_tick_takes_up_is_an_alarm(idle: Store, words: str) -> None:
    """Something only a tick can do has waited for two hours, and none was heard of."""
    WORK[words](idle)
    add_tick(idle, NOON - timedelta(minutes=1), NOON)
    status, word, check = asked(idle)
    assert (status, word, check["state"]) == (503, "degraded", "stale")
    assert check["detail"].endswith(f"although {words}.")
    assert check["seconds"] >= 7_260


def test_no_tick_at_all_is_an_alarm_once_there_is_work(idle: Store) -> None:
    """A daemon that was never started."""
    idle.due_cycle()
    status, _, check = asked(idle)
    assert (status, check["seconds"]) == (503, None)
    assert "No tick has ever begun" in check["detail"]


@pytest.mark.parametrize("sign", ["began", "ended", "slice"])
def test_any_sign_of_a_tick_is_a_sign_of_life(idle: Store, sign: str) -> None:
    """More is due than one tick takes, and a tick may be long: what was stored tells."""
    idle.due_cycle()
    recent = LATER - timedelta(seconds=200)
    if sign == "began":
        add_tick(idle, recent)
    elif sign == "ended":
        add_tick(idle, NOON, recent)
    else:
        add_tick(idle, NOON)
        idle.write(
            "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token, "
            "worker, outcome, seconds, seconds_waited, created_at) "
            "VALUES (1, 1, :day, 't', 'w', 'PENDING', 1, 0, :at)",
            day=DAY,
            at=recent,
        )
    assert asked(idle)[:2] == (200, "ok")


def switched_off_source(store: Store) -> None:
    store.add_cycle(store.add_source(active=False))


def switched_off_flag(store: Store) -> None:
    store.due_cycle()
    store.switch_on("posting.collection-dispatch-v2", enabled=False)


def held_back_host(store: Store) -> None:
    store.due_cycle()
    store.throttle.hold_back("board.test", 3 * 3600)


def not_due_yet(store: Store) -> None:
    store.due_cycle(next_eligible_at=LATER - timedelta(seconds=100))


def another_day(store: Store) -> None:
    store.add_cycle(store.add_source(active=False), run_date=YESTERDAY)


def just_switched(store: Store) -> None:
    store.due_cycle()
    store.now = LATER - timedelta(seconds=60)
    store.switch_on()


def just_added(store: Store) -> None:
    store.now = LATER - timedelta(seconds=60)
    store.add_source()


@pytest.mark.parametrize(
    "work",
    [
        switched_off_source,
        switched_off_flag,
        held_back_host,
        not_due_yet,
        another_day,
        just_switched,
        just_added,
    ],
)
def test_what_no_tick_would_touch_now_is_no_alarm(
    idle: Store, work: Callable[[Store], None]
) -> None:
    """Switched off (R3), told to wait (R26), not due for long, of another day (R16), just begun."""
    work(idle)
    assert asked(idle)[:2] == (200, "ok")


def test_a_slice_may_take_its_time_before_ticks_count_as_stopped() -> None:
    """At least five minutes, and longer than a slice with its last request."""
    assert stale_after_seconds(load_settings({})) == 360
    short = {"COLLECTION_SLICE_MAX_SECONDS": "60"}
    assert stale_after_seconds(load_settings(short)) == 300


def test_an_older_schema_is_down(database_url: str) -> None:
    """R34: with what to run; the rest is not asked."""
    with opened_operations(database_url) as operations:
        status, document = operations.health()
    checks = document["checks"]
    assert (status, document["status"]) == (503, "down")
    assert checks["database"]["state"] == "ok"
    assert checks["migrations"]["state"] == "behind"
    assert "collection-pipeline db migrate" in checks["migrations"]["detail"]
    assert checks["lastTick"]["state"] == "unknown"


def test_an_absent_database_is_down() -> None:
    """Nobody listens: said at once, without the URL's password (R29)."""
    with opened_operations("mysql://me:hidden-word@127.0.0.1:1/queue") as operations:
        status, document = health(operations)
    assert (status, document["status"]) == (503, "down")
    assert {name: one["state"] for name, one in document["checks"].items()} == {
        "database": "down",
        "migrations": "unknown",
        "lastTick": "unknown",
        "daemon": "unknown",
    }
    assert "hidden-word" not in str(document)


@pytest.fixture
def line(database_server: PrivateServer) -> Iterator[DatabaseProxy]:
    """A line to the database that can fall silent."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        yield proxy


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_silent_database_is_told_within_two_seconds(
    idle: Store, line: DatabaseProxy, is_connected: bool
) -> None:
    """It accepts and says nothing, to an open connection and to a new one."""
    with opened_operations(line.url(idle.url)) as operations:
        if is_connected:
            assert operations.health()[0] == 200
        line.go_silent()
        status, document = health(operations)
        assert (status, document["status"]) == (503, "down")
        assert document["checks"]["database"]["state"] == "down"
        line.restore()
        ends_at = time.monotonic() + 10
        while operations.health()[0] != 200:
            assert time.monotonic() < ends_at, "it did not notice that the database is back"


def test_requests_that_hang_take_nothing_from_the_health_check(
    idle: Store, line: DatabaseProxy
) -> None:
    """50 requests wait for a silent database, and 10 checks come besides.

    Checks do not pile up either: one connection serves them all.
    """
    with opened_operations(line.url(idle.url)) as operations:
        assert operations.health()[0] == 200
        line.go_silent()
        with ThreadPoolExecutor(60) as clients:
            hanging = [clients.submit(operations.get, RUNS_PATH) for _ in range(50)]
            wait_until("requests hold every connection", lambda: are_all_held(operations))
            began = time.monotonic()
            checks = list(clients.map(lambda _: operations.health(), range(10)))
            assert time.monotonic() - began < BOUND_SECONDS
            assert {status for status, _ in checks} == {503}
            assert not all(one.done() for one in hanging)
            mine = [one for one in threading.enumerate() if one.name.startswith("health-queue")]
            assert len(mine) == 1
            assert line.connections <= operations.context.database.terms.pool_size + 2
            line.restore()
            answers = [one.result() for one in hanging]
        assert {answer.status_code for answer in answers} <= {200, 503}


def test_readers_that_hold_every_connection_do_not_make_it_unfit(idle: Store) -> None:
    """The check has a connection of its own: a busy page is no outage."""
    release = threading.Event()
    with opened_operations(idle.url) as operations, ThreadPoolExecutor(8) as readers:
        database = operations.context.database
        for _ in range(database.terms.pool_size):
            readers.submit(database.read, lambda _: release.wait(20))
        try:
            wait_until("readers hold every connection", lambda: are_all_held(operations))
            assert operations.get(RUNS_PATH).status_code == 503
            assert health(operations)[0] == 200
        finally:
            release.set()


def test_a_question_that_hangs_is_asked_once() -> None:
    """Callers who come meanwhile wait for its answer, none asks again."""
    asked: list[int] = []
    hanging = threading.Event()

    def ask() -> str:
        asked.append(1)
        hanging.wait(20)
        return "answer"

    async def callers() -> list[str | None]:
        impatient = await asyncio.gather(*(flight.answer(0.02) for _ in range(10)))
        patient = [asyncio.create_task(flight.answer(20)) for _ in range(3)]
        await asyncio.sleep(0)
        hanging.set()
        return [*impatient, *await asyncio.gather(*patient)]

    flight = SingleFlight("test", ask)
    try:
        assert asyncio.run(callers()) == [None] * 10 + ["answer"] * 3
    finally:
        hanging.set()
        flight.close()
    assert asked == [1]


def are_all_held(operations: Operations) -> bool:
    """Whether every connection that requests share is in use."""
    pool = cast(QueuePool, operations.context.database.engine.pool)
    return pool.checkedout() == operations.context.database.terms.pool_size

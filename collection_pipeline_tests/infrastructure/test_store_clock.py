"""The database's clock: read after the locks, exact at midnight and at the cutoff (R15)."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.clock import ClockCannotGoBack
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.preparation import prepare_cycles
from collection_pipeline_tests.kit.database import DAY, HOST, NOON, PLATFORMS, YESTERDAY, Store
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    run_sql,
    wait_until_blocked,
    winner_then_loser,
)
from collection_pipeline_tests.kit.slices import FAILURE, store_slice, unfinished, work_of

LAST_MOMENT = datetime(2026, 12, 1, 14, 59, 59, 999600)
MIDNIGHT = datetime(2026, 12, 1, 15, 0)
BEFORE_CUTOFF = datetime(2026, 11, 30, 23, 59, 59, 999600)
CUTOFF = datetime(2026, 12, 1, 0, 0)
OpenStore = Callable[..., Store]

LOCKED_CYCLE = "SELECT id FROM job_posting_collection_cycles WHERE id = :id FOR UPDATE"
LOCKED_HOST = "SELECT host FROM collection_host_claims WHERE host = :host FOR UPDATE"
LOCKED_PACE = "SELECT host FROM external_request_host_limits WHERE host = :host FOR UPDATE"


def renewal(store: Store, cycle_id: int, day: date) -> datetime:
    """Renews; returns the moment at which the store says that it did."""
    assert store.repository.renew(cycle_id, day, "mine", 600)
    updated: datetime = store.cycle(cycle_id)["updated_at"]
    return updated


def storing(store: Store, cycle_id: int, day: date) -> datetime:
    """Stores a slice."""
    stored = store.repository.fail(cycle_id, day, SliceAttempt("mine", "worker"), FAILURE)
    assert stored is not None and stored.cycle.finished_at is not None
    return stored.cycle.finished_at


def preparing(store: Store, cycle_id: int, day: date) -> datetime:
    """Prepares."""

    def prepare(connection: Any) -> int:
        return prepare_cycles(connection, day, {HOST: [cycle_id]}, PLATFORMS, store.clock)

    assert store.gate.with_daily_write_gate(day, prepare) == 1
    eligible: datetime = store.cycle(cycle_id)["next_eligible_at"]
    return eligible


def claiming(store: Store, _cycle_id: int, _day: date) -> datetime:
    """Claims; a lease begins when it was granted."""
    claimed = store.claim().cycle
    assert claimed.lease_until is not None
    return claimed.lease_until - timedelta(seconds=600)


def reserving(store: Store, _cycle_id: int, _day: date) -> datetime:
    """Reserves a moment of the host."""
    store.throttle.reserve(HOST, 1000.0, 0.5)
    return store.row("SELECT updated_at AS at FROM external_request_host_limits")["at"]  # type: ignore[no-any-return]  # an instant


@pytest.mark.parametrize(
    ("status", "locked", "write"),
    [
        (CycleStatus.RUNNING, LOCKED_CYCLE, renewal),
        (CycleStatus.RUNNING, LOCKED_CYCLE, storing),
        (CycleStatus.NOT_STARTED, LOCKED_CYCLE, preparing),
        (CycleStatus.PENDING, LOCKED_HOST, claiming),
        (CycleStatus.PENDING, LOCKED_PACE, reserving),
    ],
)
def test_a_write_that_waited_for_a_lock_reads_the_clock_after_it(
    open_store: OpenStore, status: CycleStatus, locked: str, write: Callable[..., datetime]
) -> None:
    """R15: ``UTC_TIMESTAMP`` is the start of its statement, so a waiting one would be stale."""
    store, holder = open_store(now=None), open_store(now=None)
    store.switch_on()
    day, now = store.run(store.clock.today), store.run(store.clock.now)
    columns: dict[str, Any] = {"next_eligible_at": now}
    if status is CycleStatus.RUNNING:
        columns = {"lease_token": "mine", "lease_until": now + timedelta(seconds=600)}
    cycle_id = store.add_cycle(store.add_source(), status, day, **columns)
    store.write(
        "INSERT INTO external_request_host_limits VALUES (:host, :now, :now)", host=HOST, now=now
    )
    store.gate.ensure_header(day)
    with rivals() as start, open_transaction(holder) as connection:
        values = {"id": cycle_id} if "id = :id" in locked else {"host": HOST}
        run_sql(connection, locked, **values)
        waiting = start(lambda: write(store, cycle_id, day))
        wait_until_blocked(holder)
        released_at = holder.clock.now(connection)
        connection.rollback()
        assert waiting.result(PATIENCE_SECONDS) >= released_at


@pytest.mark.parametrize(("now", "day"), [(LAST_MOMENT, DAY), (MIDNIGHT, DAY + timedelta(days=1))])
def test_the_day_ends_at_midnight_in_seoul_to_the_microsecond(
    open_store: OpenStore, now: datetime, day: date
) -> None:
    """R15: 23:59:59.9996 rounds up to the next day on one server and down on the other."""
    store = open_store(now=now)
    assert store.run(store.clock.now) == now
    assert store.run(store.clock.today) == day


def test_a_moment_is_stored_with_all_its_microseconds(open_store: OpenStore) -> None:
    """Section 7: DATETIME(6), so that what was before the cutoff stays before it."""
    store = open_store(now=LAST_MOMENT)
    store.switch_on()
    store.due_cycle()
    assert store.claim().cycle.started_at == LAST_MOMENT
    assert store.value("SELECT MAX(started_at) FROM job_posting_collection_cycles") == LAST_MOMENT


def test_a_cycle_can_be_claimed_until_the_last_moment_of_its_day_only(
    store: Store,
) -> None:
    """R16: at 00:00:00 the day is over."""
    for _ in range(2):
        store.due_cycle()
    store.now = LAST_MOMENT
    assert store.claim().cycle.run_date == DAY
    store.now = MIDNIGHT
    assert store.repository.claim_next(store.terms()) is None


def test_a_claim_over_midnight_takes_nothing_of_the_day_before(store: Store) -> None:
    """R16: the day is asked for again under the locks; candidates were read a moment earlier."""
    cycle_id = store.due_cycle()
    store.gate.ensure_headers()
    store.now = LAST_MOMENT

    def strike(_connection: object, cursor: Any, statement: str, *_rest: object) -> None:
        # What waits was read; then come the gate, the host's turn, the cycle's lock and the clock.
        if "sla_snapshots" in statement:
            store.now = MIDNIGHT
            with closing(cursor.connection.cursor()) as clock:
                clock.execute(f"SET SESSION timestamp = {MIDNIGHT.replace(tzinfo=UTC).timestamp()}")

    event.listen(store.engine, "after_cursor_execute", strike)
    assert store.repository.claim_next(store.terms()) is None
    assert store.status(cycle_id) == "PENDING"


def test_what_a_day_began_may_be_stored_after_midnight(store: Store) -> None:
    """R17: to its own cycle, under the gate of its own day."""
    store.due_cycle()
    store.now = LAST_MOMENT
    claimed = store.claim()
    store.now = MIDNIGHT + timedelta(seconds=5)
    stored = store_slice(store, claimed, unfinished(work_of(["1"])))
    assert stored is not None and stored.cycle.run_date == DAY


@pytest.mark.parametrize(
    ("now", "status"), [(BEFORE_CUTOFF, "PENDING"), (CUTOFF, "NOT_APPLICABLE")]
)
def test_a_header_is_late_from_the_cutoff_on(
    open_store: OpenStore, now: datetime, status: str
) -> None:
    """R37: 09:00 KST is midnight UTC, where a rounded second changes the date."""
    store = open_store(now=now)
    store.gate.ensure_header(DAY)
    header = store.row("SELECT * FROM job_posting_collection_sla_snapshots")
    assert (header["capture_status"], header["scheduled_at"]) == (status, CUTOFF)
    assert (header["miss_reason"] is None) == (status == "PENDING")


def test_every_process_adds_the_simulated_offset(store: Store, other: Store) -> None:
    """R15: one row holds it, all processes read it."""
    target = NOON + timedelta(days=3, microseconds=7)
    assert store.run(lambda connection: store.clock.move_to(connection, target)) == target
    assert other.run(other.clock.now) == target
    assert other.run(other.clock.today) == DAY + timedelta(days=3)


def test_the_simulated_clock_goes_on_from_where_it_was_put(store: Store) -> None:
    """R15: an offset, not a frozen time."""
    store.run(lambda connection: store.clock.move_to(connection, NOON + timedelta(days=1)))
    store.now = NOON + timedelta(seconds=10)
    assert store.run(store.clock.now) == NOON + timedelta(days=1, seconds=10)
    target = NOON + timedelta(days=2)
    store.run(lambda connection: store.clock.move_to(connection, target))
    assert store.run(store.clock.now) == target


def test_the_simulated_clock_never_goes_back(store: Store) -> None:
    """R15: leases and due times rely on it; a refusal changes nothing."""
    target = NOON + timedelta(days=1)
    store.run(lambda connection: store.clock.move_to(connection, target))
    with pytest.raises(ClockCannotGoBack, match="only moves forward"):
        store.run(
            lambda connection: store.clock.move_to(connection, target - timedelta(microseconds=1))
        )
    assert store.run(store.clock.now) == target


def test_two_processes_that_first_move_the_clock_at_once_both_do(
    store: Store, other: Store
) -> None:
    """R15: forward only also holds for the row's very first value."""
    later = NOON + timedelta(days=2)

    def move(mover: Store, target: datetime) -> datetime:
        return mover.run(lambda connection: mover.clock.move_to(connection, target))

    results = winner_then_loser(
        store,
        lambda: move(store, NOON + timedelta(days=1)),
        lambda: move(other, later),
        "simulation_clock",
    )
    assert results == (NOON + timedelta(days=1), later)
    assert store.run(store.clock.now) == later


def test_a_cycle_of_a_day_that_has_ended_is_not_prepared(store: Store) -> None:
    """R16: it keeps the state in which it ended the day, also when midnight falls in a tick."""
    cycle_id = store.add_cycle(store.add_source(), CycleStatus.NOT_STARTED, YESTERDAY)

    def prepare(connection: Any) -> int:
        return prepare_cycles(connection, YESTERDAY, {HOST: [cycle_id]}, PLATFORMS, store.clock)

    assert store.gate.with_daily_write_gate(YESTERDAY, prepare) == 0
    assert store.status(cycle_id) == "NOT_STARTED"


def test_a_cycle_of_a_day_that_has_ended_is_not_rejected(store: Store) -> None:
    """R16: its bad descriptor no longer matters, and no health is judged by it."""
    cycle_id = store.add_cycle(store.add_source(), CycleStatus.NOT_STARTED, YESTERDAY)
    store.gate.ensure_header(YESTERDAY)
    before = store.tables()
    assert not store.repository.reject(cycle_id, YESTERDAY, FAILURE)
    assert store.tables() == before

"""Transactions that may run twice: conflicts, lost connections, unknown commits (R19a)."""

import threading
import time
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.store.transaction import (
    NO_ROOM_CODES,
    READ_ONLY_CODES,
    TransactionRunner,
    is_conflict,
    is_lost,
    mysql_error_code,
)
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    run_sql,
)

NOTE = "INSERT INTO companies (normalised_name, display_name) VALUES (:name, 'x')"
PACE = "external_request_host_limits"
OpenStore = Callable[..., Store]


def notes(store: Store) -> list[str]:
    """What the attempts left."""
    return [
        row["n"] for row in store.rows("SELECT normalised_name AS n FROM companies ORDER BY id")
    ]


def write_note(connection: Connection, name: str) -> None:
    """Something that must be rolled back with a failed attempt, and stored once."""
    connection.execute(text(NOTE), {"name": name})


def test_a_deadlock_runs_the_whole_function_again(store: Store, other: Store) -> None:
    """1213: two real transactions that lock two rows crosswise; both end, no work is lost."""
    for host in ("a", "b"):
        store.write(f"INSERT INTO {PACE} VALUES (:host, :now, :now)", host=host, now=NOON)
    locked = {"ab": threading.Event(), "ba": threading.Event()}
    calls: list[str] = []

    def crossing(order: str) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            calls.append(order)
            write_note(connection, f"{order} {calls.count(order)}")
            for host in order:
                run_sql(connection, f"SELECT * FROM {PACE} WHERE host = :h FOR UPDATE", h=host)
                locked[order].set()
                assert locked[order[::-1]].wait(PATIENCE_SECONDS)

        return work

    with rivals() as start:
        ends = [
            start(lambda: store.run(crossing("ab"))),
            start(lambda: other.run(crossing("ba"))),
        ]
        for end in ends:
            end.result(PATIENCE_SECONDS)
    assert len(calls) == 3
    assert len(notes(store)) == 2
    assert any(note.endswith("2") for note in notes(store))


def test_a_lock_wait_timeout_rolls_back_everything_before_it_is_tried_again(
    store: Store, other: Store
) -> None:
    """1205 rolls back only its statement; what came before must not be committed."""
    store.write(f"INSERT INTO {PACE} VALUES ('a', :now, :now)", now=NOON)
    calls: list[int] = []
    tried_again = threading.Event()

    def work(connection: Connection) -> None:
        calls.append(1)
        write_note(connection, f"attempt {len(calls)}")
        if len(calls) == 2:
            tried_again.set()
        run_sql(connection, "SET SESSION innodb_lock_wait_timeout = 1")
        run_sql(connection, f"SELECT * FROM {PACE} FOR UPDATE")

    with rivals() as start, open_transaction(other) as holder:
        run_sql(holder, f"SELECT * FROM {PACE} FOR UPDATE")
        working = start(lambda: store.run(work))
        assert tried_again.wait(PATIENCE_SECONDS)
        holder.rollback()
        working.result(PATIENCE_SECONDS)
    assert notes(store) == ["attempt 2"]


@pytest.mark.parametrize("code", [1213, 1205, 1020])
def test_every_conflict_is_run_again_a_few_times(store: Store, code: int) -> None:
    """mysql.md: the three codes, here signalled by the server; the last attempt counts."""
    calls: list[int] = []

    def work(connection: Connection) -> int:
        calls.append(1)
        write_note(connection, f"attempt {len(calls)}")
        if len(calls) < 4:
            signal = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'test'"
            connection.exec_driver_sql(signal)
        return len(calls)

    assert store.run(work) == 4
    assert notes(store) == ["attempt 4"]


@pytest.mark.parametrize("code", sorted(READ_ONLY_CODES))
def test_a_server_that_only_reads_for_a_moment_is_asked_again_over_another_connection(
    store: Store, code: int
) -> None:
    """R19a: in a failover the connection still leads to the primary that was demoted."""
    sessions: list[int] = []

    def work(connection: Connection) -> None:
        sessions.append(run_sql(connection, "SELECT CONNECTION_ID()").scalar_one())
        write_note(connection, f"attempt {len(sessions)}")
        if len(sessions) < 3:
            signal = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'test'"
            connection.exec_driver_sql(signal)

    store.run(work)
    assert len(set(sessions)) == 3 and notes(store) == ["attempt 3"]

    def refused(connection: Connection) -> None:
        sessions.clear()
        work(connection)

    with pytest.raises(DatabaseUnavailable, match=str(code)):
        store.transactions.run(refused, until=time.monotonic() + 0.2)


@pytest.mark.parametrize("code", sorted(NO_ROOM_CODES))
def test_a_server_that_is_short_of_room_is_asked_again(store: Store, code: int) -> None:
    """R19a: room may be made while the lease holds; an hour of pages is not thrown away for it."""
    calls: list[int] = []

    def work(connection: Connection) -> None:
        calls.append(1)
        write_note(connection, f"attempt {len(calls)}")
        if len(calls) < 3:
            signal = f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'test'"
            connection.exec_driver_sql(signal)

    store.run(work)
    assert notes(store) == ["attempt 3"]

    def refused(connection: Connection) -> None:
        calls.clear()
        work(connection)

    with pytest.raises(DatabaseUnavailable, match=str(code)):
        store.transactions.run(refused, until=time.monotonic() + 0.2)


def test_other_errors_are_the_callers(store: Store) -> None:
    """One attempt, rolled back, the error passed on."""
    calls: list[int] = []

    def work(connection: Connection) -> None:
        calls.append(1)
        write_note(connection, "first")
        write_note(connection, "first")

    with pytest.raises(IntegrityError):
        store.run(work)
    assert (len(calls), notes(store)) == (1, [])


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_fault_in_the_function_rolls_back(
    store: Store, interruption: type[BaseException]
) -> None:
    """R18: also when the process is asked to end in the middle."""

    def work(connection: Connection) -> None:
        write_note(connection, "half")
        raise interruption

    with pytest.raises(interruption):
        store.run(work)
    assert notes(store) == []


def test_trying_ends_at_the_callers_time(store: Store) -> None:
    """mysql.md: until trust in the lease ends, not a fixed number of times; with growing pauses."""
    now, pauses = [1000.0], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    runner = TransactionRunner(store.engine, monotonic=lambda: now[0], sleep=sleep)

    def work(connection: Connection) -> None:
        connection.exec_driver_sql("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205")

    with pytest.raises(DatabaseUnavailable, match="1205"):
        runner.run(work, until=1010.0)
    assert 1005.0 < now[0] <= 1010.0
    assert len(pauses) > 8 and max(pauses) <= 1.5 and pauses[0] < 0.05


def test_a_session_that_is_killed_before_commit_runs_again_on_a_new_one(
    store: Store, other: Store
) -> None:
    """2006, 2013, 2055: nothing of the first attempt is left."""
    sessions: list[int] = []

    def work(connection: Connection) -> None:
        sessions.append(run_sql(connection, "SELECT CONNECTION_ID()").scalar_one())
        write_note(connection, f"attempt {len(sessions)}")
        if len(sessions) == 1:
            other.write(f"KILL {sessions[0]}")
        run_sql(connection, "SELECT 1")

    store.run(work)
    assert notes(store) == ["attempt 2"] and len(set(sessions)) == 2


def test_an_error_that_the_driver_raises_keeps_its_number(store: Store) -> None:
    """The runner decides by number, so a wrapped error must not hide it."""
    with pytest.raises(DBAPIError) as caught:
        store.run(lambda connection: connection.exec_driver_sql("SELECT * FROM nowhere"))
    assert mysql_error_code(caught.value) == 1146
    assert not is_conflict(caught.value) and not is_lost(caught.value)

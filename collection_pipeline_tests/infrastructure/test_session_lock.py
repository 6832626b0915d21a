"""The register's named lock and the one session that holds it (R48), on real sessions."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from sqlalchemy import NullPool, event, text
from sqlalchemy.exc import DBAPIError

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.ingest.assembly import IDLE_MARGIN_SECONDS, idle_seconds
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline.store.session_lock import HeldLock, SessionLock, SessionLockLost
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.servers import create_database, drop_database

TABLE = "public_libraries"
PATIENCE_SECONDS = 20.0
AT_ONCE_SECONDS = 3.0


def lock_of(store: Store, idle_seconds: int = 600, table: str = TABLE) -> SessionLock:
    """The lock as one process asks for it."""
    return SessionLock(store.url, table, idle_seconds)


@pytest.fixture
def held(store: Store) -> Iterator[HeldLock]:
    """The lock, held until the test ends."""
    with lock_of(store).take() as taken:
        assert taken is not None
        yield taken


def has_session(store: Store, session: int) -> bool:
    """Whether the server still knows the session."""
    asked = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = :id"
    return bool(store.value(asked, id=session))


def wait_until_gone(store: Store, session: int) -> None:
    """Returns once the server has ended the session."""
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE_SECONDS
    while has_session(store, session):
        assert time.monotonic() < deadline, "the session does not end"
        pause.wait(0.05)


def kill(store: Store, session: int) -> None:
    """Ends a session from outside and waits until it has let go of everything."""
    store.write(f"KILL {session}")
    wait_until_gone(store, session)


def holder_of(store: Store, name: str) -> int | None:
    """The session that holds a named lock, by the server's word."""
    found = store.value("SELECT IS_USED_LOCK(:name)", name=name)
    return None if found is None else int(found)


def test_a_second_taker_is_told_at_once_that_the_lock_is_busy(store: Store, held: HeldLock) -> None:
    """R48: no wait; the holder keeps it."""
    began = time.monotonic()
    with lock_of(store).take() as second:
        assert second is None
    assert time.monotonic() - began < AT_ONCE_SECONDS
    assert held.holds() and holder_of(store, held.name) == held.session


def test_databases_of_one_server_do_not_exclude_each_other(
    store: Store, held: HeldLock, database_server: PrivateServer
) -> None:
    """R48: lock names are server-wide, so the schema is part of it, of any length."""
    longest = create_database(database_server, "a" * 64)
    try:
        with SessionLock(longest, TABLE, 600).take() as other:
            assert other is not None
            assert len(other.name) <= 64 and other.name != held.name
    finally:
        drop_database(database_server, longest)


def test_tables_of_one_database_do_not_exclude_each_other(store: Store, held: HeldLock) -> None:
    """R48: the name is of the schema and the target table."""
    with lock_of(store, table="another").take() as other:
        assert other is not None


def test_leaving_ends_the_session_and_frees_the_lock(store: Store) -> None:
    """R48: the session belongs to no pool, so nobody gets it next."""
    with lock_of(store).take() as first:
        assert first is not None
        session = first.session
    wait_until_gone(store, session)
    with lock_of(store).take() as second:
        assert second is not None and second.session != session


def test_the_next_run_never_meets_the_last_ones_shadow(store: Store) -> None:
    """R48: the server notices a closed session late; by then a next run would have been skipped."""
    holders: list[int | None] = []
    with lock_of(store).take() as taken:
        assert taken is not None
        name = taken.name

        def ask(*_arguments: object) -> None:
            holders.append(holder_of(store, name))

        event.listen(NullPool, "close", ask)
    event.remove(NullPool, "close", ask)
    assert holders == [None]


def test_a_pooled_connection_keeps_a_named_lock_after_its_return(store: Store) -> None:
    """R48, the trap: COMMIT and the pool's return free nothing, the next user holds the lock.

    And we are not in it: with our lock the same return to the pool never happens.
    """
    with store.engine.connect() as pooled:
        taken = pooled.execute(text("SELECT GET_LOCK('trap', 0), CONNECTION_ID()")).one()
        pooled.commit()
    assert taken[0] == 1
    assert has_session(store, taken[1]) and holder_of(store, "trap") == taken[1]
    with SessionLock(store.url, TABLE, 600).take() as ours:
        assert ours is not None
        name, session = ours.name, ours.session
    wait_until_gone(store, session)
    assert holder_of(store, name) is None
    assert holder_of(store, "trap") == taken[1]
    store.engine.dispose()


def test_a_short_session_timeout_would_lose_the_lock_during_a_slow_page(store: Store) -> None:
    """R48: the server ends the idle session without a word; ours outlives the same page."""
    with (
        lock_of(store, idle_seconds=1, table="short").take() as short,
        lock_of(store).take() as ours,
    ):
        assert short is not None and ours is not None
        # The slow page: as long as the server needs to tire of the short one.
        wait_until_gone(store, short.session)
        with lock_of(store, table="short").take() as thief:
            assert thief is not None
            with pytest.raises(SessionLockLost):
                short.require()
        ours.require()


def test_the_sessions_own_timeout_outlasts_the_slowest_page() -> None:
    """R48: a page may wait for its host's turn and then for its answer."""
    settings = load_settings({"COLLECTION_HOST_MIN_DELAY_MS": "200000"})
    slowest = 4 * 200 + settings["REQUEST_DEADLINE_SECONDS"]
    assert idle_seconds(settings) == slowest + IDLE_MARGIN_SECONDS
    assert idle_seconds(load_settings({})) > 300 + 30


def test_the_session_has_its_own_timeout_and_otherwise_the_contract(held: HeldLock) -> None:
    """R48, mysql.md: UTC, strict, READ COMMITTED, and a time-out of its own."""
    row = held.run(
        lambda connection: connection.exec_driver_sql(
            "SELECT @@session.wait_timeout, @@session.time_zone, @@session.sql_mode, "
            "@@session.innodb_lock_wait_timeout, @@session.autocommit"
        ).one()
    )
    isolation = held.run(
        lambda connection: connection.exec_driver_sql(
            "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', "
            "'tx_isolation')"
        ).one()
    )
    assert (row[0], row[1], row[3], row[4]) == (600, "+00:00", 5, 1)
    assert "STRICT_TRANS_TABLES" in row[2] and isolation[1] == "READ-COMMITTED"


def test_a_killed_session_is_noticed_and_never_replaced(store: Store, held: HeldLock) -> None:
    """R48: SQLAlchemy would open a new session, which holds nothing; lost stays lost."""
    kill(store, held.session)
    assert not held.holds()
    with lock_of(store).take() as next_one:
        assert next_one is not None
    assert not held.holds()
    with pytest.raises(SessionLockLost):
        held.run(lambda connection: connection.exec_driver_sql("DO 1"))


def test_a_lock_that_was_let_go_is_noticed_though_the_session_lives(held: HeldLock) -> None:
    """R48: possession is asked of the server, not concluded from a live connection."""
    held.run(lambda connection: connection.exec_driver_sql("DO RELEASE_ALL_LOCKS()"))
    with pytest.raises(SessionLockLost):
        held.require()


def write_row(connection: Any) -> None:
    """Something that only a committed transaction leaves."""
    connection.exec_driver_sql(
        "INSERT INTO feature_flags (name, enabled, changed_at, changed_by) "
        "VALUES ('written', 1, '2026-12-01', 'test')"
    )


def written(store: Store) -> int:
    """How many rows ``write_row`` left."""
    return int(store.value("SELECT COUNT(*) FROM feature_flags WHERE name = 'written'"))


def test_work_without_the_lock_is_not_begun(store: Store, held: HeldLock) -> None:
    """R48: possession is asked before each write step."""
    held.run(lambda connection: connection.exec_driver_sql("DO RELEASE_ALL_LOCKS()"))
    with pytest.raises(SessionLockLost):
        held.run(write_row)
    assert written(store) == 0


def test_a_session_lost_inside_its_work_stores_nothing(store: Store, held: HeldLock) -> None:
    """R48: losing the session rolls back, since the work is the session's own."""

    def lose_it_after_writing(connection: Any) -> None:
        write_row(connection)
        kill(store, held.session)

    with pytest.raises(SessionLockLost):
        held.run(lose_it_after_writing)
    assert written(store) == 0


def test_work_that_raises_is_rolled_back_and_the_lock_kept(store: Store, held: HeldLock) -> None:
    """An error of the work is its own; the session goes on."""

    def fail(connection: Any) -> None:
        write_row(connection)
        raise KeyError("a fault of the work")

    with pytest.raises(KeyError):
        held.run(fail)
    assert written(store) == 0
    held.run(write_row)
    assert written(store) == 1


def test_a_deadlock_runs_the_whole_work_again(store: Store, held: HeldLock) -> None:
    """mysql.md: 1213 and 1205 roll back and repeat; other errors do not."""
    tries: list[int] = []

    def lose_the_first_time(connection: Any) -> int:
        tries.append(1)
        write_row(connection)
        if len(tries) == 1:
            connection.exec_driver_sql("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213")
        return len(tries)

    assert held.run(lose_the_first_time) == 2
    assert written(store) == 1
    with pytest.raises(DBAPIError):
        held.run(lambda connection: connection.exec_driver_sql("SIGNAL SQLSTATE '45000'"))
    assert held.holds()


def test_no_transaction_is_open_between_two_pages(store: Store, held: HeldLock) -> None:
    """I3, R25: the session is in autocommit while pages are read, and says so if it is not."""

    def read_a_page_in_it(connection: Any) -> int:
        connection.exec_driver_sql("SELECT * FROM feature_flags").all()
        connection.exec_driver_sql("SELECT * FROM feature_flags FOR UPDATE").all()
        with pytest.raises(OpenTransaction):
            held.require()
        return transactions_of(store, held.session)

    assert held.run(read_a_page_in_it) == 1
    held.require()
    assert transactions_of(store, held.session) == 0


def transactions_of(store: Store, session: int) -> int:
    """Open transactions of a session; the server's list is at most 100 ms old."""
    threading.Event().wait(0.15)
    asked = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = :id"
    return int(store.value(asked, id=session))


def test_a_server_that_is_not_there_is_told_as_such() -> None:
    """The run cannot be recorded either, so this is an exception."""
    with (
        pytest.raises(DatabaseUnavailable),
        SessionLock("mysql://u:p@127.0.0.1:1/x", TABLE, 600).take(),
    ):
        raise AssertionError("taken from nowhere")


def test_a_refused_login_is_not_mistaken_for_an_outage(database_server: PrivateServer) -> None:
    """A wrong account will not come right by waiting."""
    wrong = f"mysql://nobody:wrong@127.0.0.1:{database_server.port}/x"
    with pytest.raises(DBAPIError) as refused, SessionLock(wrong, TABLE, 600).take():
        raise AssertionError("let in")
    assert isinstance(refused.value.orig, pymysql.err.OperationalError)

"""The service's connections cannot write, cannot run for long, and see one moment (section 9)."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.read_only import ReadOnlyDatabase, ReadTerms
from collection_pipeline.store.transaction import mysql_error_code
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.servers import wanted_kind
from collection_pipeline_tests.kit.statement_costs import numbers_from

READ_ONLY_REFUSED = 1792
FLAGS = "feature_flags"


@pytest.fixture
def database(store: Store) -> Iterator[ReadOnlyDatabase]:
    """The service's way to the store's database."""
    opened = ReadOnlyDatabase(store.url)
    yield opened
    opened.close()


def doing(statement: str) -> Callable[[Connection], object]:
    """Work that sends one statement."""
    return lambda connection: connection.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO {FLAGS} VALUES ('x', 1, 'me', NOW())",
        f"UPDATE {FLAGS} SET enabled = 0",
        f"DELETE FROM {FLAGS}",
        f"REPLACE INTO {FLAGS} VALUES ('x', 1, 'me', NOW())",
        f"TRUNCATE TABLE {FLAGS}",
        f"DROP TABLE {FLAGS}",
    ],
)
def test_the_server_refuses_every_write(
    store: Store, database: ReadOnlyDatabase, statement: str
) -> None:
    """Section 9: read-only in the database too, in the first and in every later transaction."""
    before = store.tables()
    for _ in range(2):
        with pytest.raises(DBAPIError) as refused:
            database.read(doing(statement))
        assert mysql_error_code(refused.value) == READ_ONLY_REFUSED
    assert store.tables() == before


def test_a_session_keeps_the_contract_and_its_own_bounds(database: ReadOnlyDatabase) -> None:
    """mysql.md: UTC and strict as everywhere; besides read-only, one moment, and a time bound."""
    names = "('transaction_isolation', 'tx_isolation', 'transaction_read_only', 'tx_read_only')"

    def asking(connection: Connection) -> dict[str, str]:
        rows = connection.execute(
            text(
                "SHOW SESSION VARIABLES WHERE Variable_name IN ('time_zone', 'wait_timeout', "
                f"'max_execution_time', 'max_statement_time') OR Variable_name IN {names}"
            )
        )
        return {name.replace("tx_", "transaction_"): value for name, value in rows}

    found = database.read(asking)
    bound = (
        {"max_statement_time": "5.000000"}
        if wanted_kind() == "mariadb"
        else {"max_execution_time": "5000"}
    )
    assert found == {
        "time_zone": "+00:00",
        "wait_timeout": "20",
        "transaction_isolation": "REPEATABLE-READ",
        "transaction_read_only": "ON",
        **bound,
    }


def test_one_answer_is_one_moment(store: Store, database: ReadOnlyDatabase) -> None:
    """What several statements say belongs together; the next answer sees the write."""
    asked = text(f"SELECT COUNT(*) FROM {FLAGS}")

    def twice(connection: Connection) -> tuple[int, int]:
        first = connection.execute(asked).scalar_one()
        store.write(f"DELETE FROM {FLAGS}")
        return first, connection.execute(asked).scalar_one()

    assert database.read(twice) == (2, 2)
    assert database.read(lambda connection: connection.execute(asked).scalar_one()) == 0


def test_a_statement_that_takes_too_long_is_ended_by_the_server(store: Store) -> None:
    """Nothing that a reader asks holds the server up."""
    database = ReadOnlyDatabase(store.url, ReadTerms(statement_seconds=1))
    numbers = f"({numbers_from(0)})"
    endless = text(
        f"SELECT SUM(a.n * b.n * c.n) FROM {numbers} AS a, {numbers} AS b, {numbers} AS c"
    )
    began = time.monotonic()
    with pytest.raises(DatabaseUnavailable, match="took longer"):
        database.read(lambda connection: connection.execute(endless).scalar_one())
    assert time.monotonic() - began < 3
    assert database.read(lambda connection: connection.execute(text("SELECT 1")).scalar_one()) == 1
    database.close()


def test_no_connection_left_is_said_soon(store: Store) -> None:
    """A full pool is an answer, not a queue without an end."""
    database = ReadOnlyDatabase(store.url, ReadTerms(pool_size=1, pool_wait_seconds=0.1))
    held, release = threading.Event(), threading.Event()

    def holding(_connection: Connection) -> bool:
        held.set()
        return release.wait(10)

    holder = threading.Thread(target=lambda: database.read(holding))
    holder.start()
    try:
        assert held.wait(10)
        with pytest.raises(DatabaseUnavailable, match="in use"):
            database.read(lambda _: None)
    finally:
        release.set()
        holder.join()
    assert database.read(lambda _: "free") == "free"
    database.close()


def test_a_session_that_the_server_ended_costs_a_reader_nothing(
    store: Store, database: ReadOnlyDatabase
) -> None:
    """A restarted server must not show as errors until the pool has noticed."""
    asked = text("SELECT CONNECTION_ID()")
    session = database.read(lambda connection: connection.execute(asked).scalar_one())
    store.write(f"KILL {session}")
    assert database.read(lambda connection: connection.execute(asked).scalar_one()) != session


def test_a_silent_server_is_given_up_after_the_socket_time(
    store: Store, database_server: PrivateServer
) -> None:
    """Accepted and silent: the read ends, and is not asked a second time."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        database = ReadOnlyDatabase(proxy.url(store.url), ReadTerms(socket_seconds=1))
        assert database.read(lambda _: "answers") == "answers"
        proxy.go_silent()
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            database.read(lambda connection: connection.execute(text("SELECT 1")))
        assert 0.9 < time.monotonic() - began < 1.9
        database.close()


def test_what_is_wrong_with_the_database_is_said_without_its_password(store: Store) -> None:
    """R29: the account, its rights, the name: in words that help, without the URL."""
    refused = store.url.replace("://", "://nobody:hidden-word@", 1).split("@")
    database = ReadOnlyDatabase(f"{refused[0]}@{refused[-1]}")
    with pytest.raises(DatabaseUnavailable) as caught:
        database.read(lambda _: None)
    assert "refuses this account" in str(caught.value)
    assert "hidden-word" not in str(caught.value)
    database.close()
    missing = ReadOnlyDatabase(f"{store.url.rsplit('/', 1)[0]}/nowhere")
    with pytest.raises(DatabaseUnavailable, match="not there"):
        missing.read(lambda _: None)
    missing.close()

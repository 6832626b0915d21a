"""A migrated, empty database for each test.

Invariant: all tests of a run share one migrated database; what a test wrote is deleted when it
ends, after the sessions it left were ended.
"""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pymysql
import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import VERSION_TABLE, migrate
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.servers import create_database, drop_database
from collection_pipeline_tests.kit.slices import collect_day, complete, work_of

FEW_ROWS = 2_000


@pytest.fixture(scope="session")
def migrated_url(database_server: PrivateServer) -> Iterator[str]:
    """The run's one migrated database; tests take it through ``store``."""
    url = create_database(database_server)
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    yield url
    drop_database(database_server, url)


@pytest.fixture
def store_url(database_server: PrivateServer, migrated_url: str) -> Iterator[str]:
    """The migrated database without a row in it."""
    yield migrated_url
    _empty(database_server, migrated_url.rsplit("/", 1)[1].split("?", 1)[0])


@pytest.fixture
def open_store(store_url: str) -> Iterator[Callable[..., Store]]:
    """Opens as many processes' stores over this test's database as it needs."""
    with contextlib.ExitStack() as opened:

        def opening(url: str = store_url, **options: Any) -> Store:
            made = Store(url, **options)
            opened.callback(made.close)
            return made

        yield opening


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    """One process's store at ``NOON``, with both collection flags on."""
    made = open_store()
    made.switch_on()
    return made


@pytest.fixture
def other(open_store: Callable[..., Store], store: Store) -> Store:
    """A second process over the same database and at the same time."""
    return open_store()


def _empty(server: PrivateServer, database: str) -> None:
    """Ends left sessions (they could hold locks for ever), then empties what has rows."""
    names = [table.name for table in metadata.sorted_tables]
    asked = " UNION ALL ".join(
        f"SELECT '{name}', (SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT {FEW_ROWS + 1}) AS r)"
        for name in names
    )
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (database,))
        for (session,) in cursor.fetchall():
            with contextlib.suppress(pymysql.err.OperationalError):
                cursor.execute("KILL %s", (session,))
        cursor.execute(f"USE `{database}`")
        assert VERSION_TABLE not in names
        cursor.execute(asked)
        for name, rows in cursor.fetchall():
            # Making a table anew costs 30 ms, deleting few rows does not.
            if rows > FEW_ROWS:
                cursor.execute(f"TRUNCATE TABLE {name}")
            elif rows:
                cursor.execute(f"DELETE FROM {name}")
        connection.commit()


@pytest.fixture
def yesterdays(store: Store) -> Iterator[int]:
    """A source of three postings: one sighted yesterday, one missed once, one closed."""
    source = store.add_source()
    store.now = NOON - timedelta(days=1)
    collect_day(store, source, complete(work_of(["1", "2", "3", "4"])))
    store.write(
        "UPDATE job_postings SET status = 'MISSED', status_reason = 'MISSED', "
        "missed_count = 1 WHERE source_job_id = '3'"
    )
    store.write(
        "UPDATE job_postings SET status = 'CLOSED', status_reason = 'x', "
        "missed_count = 2, closed_at = :now WHERE source_job_id = '4'",
        now=store.now,
    )
    store.now = NOON
    yield source

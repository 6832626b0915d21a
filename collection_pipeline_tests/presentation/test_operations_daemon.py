"""``/healthz`` and Dagster's daemon: its heartbeats, read from Dagster's own table."""

from collections.abc import Iterator
from typing import Any

import pytest
from dagster._core.storage.runs.schema import DaemonHeartbeatsTable
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.connection import collection_url
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.operations_client import make_idle_day, opened_operations
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.servers import create_database, drop_database


@pytest.fixture
def idle(store: Store) -> Store:
    """A fit pipeline without work."""
    make_idle_day(store, NOON)
    return store


@pytest.fixture
def dagster_url(database_server: PrivateServer) -> Iterator[str]:
    """A database with Dagster's own table of heartbeats."""
    url = create_database(database_server)
    engine = create_engine(collection_url(url), poolclass=NullPool)
    DaemonHeartbeatsTable.create(engine)
    yield url
    drop_database(database_server, url)


def beat(url: str, daemon: str, seconds_ago: float) -> None:
    """A heartbeat as Dagster writes it: UTC, into a session of the server's own time zone."""
    engine = create_engine(collection_url(url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO daemon_heartbeats (daemon_type, daemon_id, timestamp) "
                "VALUES (:daemon, 'id', UTC_TIMESTAMP(6) - INTERVAL :ago SECOND)"
            ),
            {"daemon": daemon, "ago": seconds_ago},
        )


def daemon_check(idle: Store, url: str) -> tuple[int, str, dict[str, Any]]:
    """HTTP status, the word, and the daemon's check."""
    with opened_operations(idle.url, dagster_url=url) as operations:
        status, document = operations.health()
    return status, document["status"], document["checks"]["daemon"]


@pytest.mark.parametrize(
    ("ages", "state", "said"),
    [
        ({"SENSOR": 20, "SCHEDULER": 40, "QUEUED_RUN_COORDINATOR": 90}, "ok", "s old"),
        ({"SENSOR": 20, "SCHEDULER": 301, "QUEUED_RUN_COORDINATOR": 9}, "stale", "s old"),
        ({"SENSOR": 20, "SCHEDULER": 40, "ASSET": 1}, "stale", "QUEUED_RUN_COORDINATOR"),
        ({}, "stale", "SCHEDULER"),
    ],
)
def test_the_daemons_heartbeats_are_looked_at(
    idle: Store, dagster_url: str, ages: dict[str, float], state: str, said: str
) -> None:
    """The one that was silent for longest counts; one that never ran is named."""
    for daemon, seconds in ages.items():
        beat(dagster_url, daemon, seconds)
    status, word, check = daemon_check(idle, dagster_url)
    assert (status, word) == ((200, "ok") if state == "ok" else (503, "degraded"))
    assert check["state"] == state
    assert said in check["detail"]
    if len(ages) == 3 and "ASSET" not in ages:
        assert check["seconds"] == pytest.approx(max(ages.values()), abs=5)


def test_a_dagster_database_without_tables_has_no_daemon(idle: Store, database_url: str) -> None:
    """Dagster was never started over it."""
    status, word, check = daemon_check(idle, database_url)
    assert (status, word, check["state"]) == (503, "degraded", "stale")


def test_a_silent_dagster_database_delays_nothing(
    idle: Store, dagster_url: str, database_server: PrivateServer
) -> None:
    """Acceptance 11: the queue is fit, the daemon cannot be seen to work."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as line:
        line.go_silent()
        status, word, check = daemon_check(idle, line.url(dagster_url))
    assert (status, word, check["state"]) == (503, "degraded", "stale")
    assert "did not answer" in check["detail"] or "does not answer" in check["detail"]

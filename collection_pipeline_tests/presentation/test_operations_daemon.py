"""``/healthz`` and Dagster's daemon: its heartbeats, read from Dagster's own table."""

from collections.abc import Iterator
from typing import Any

import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.heartbeats import beat, opened_heartbeats
from collection_pipeline_tests.kit.operations_client import make_idle_day, opened_operations
from collection_pipeline_tests.kit.proxy import DatabaseProxy


@pytest.fixture
def idle(store: Store) -> Store:
    """A fit pipeline without work."""
    make_idle_day(store, NOON)
    return store


@pytest.fixture
def dagster_url(database_server: PrivateServer) -> Iterator[str]:
    """A database with Dagster's own table of heartbeats."""
    with opened_heartbeats(database_server) as url:
        yield url


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
    """The queue is fit, the daemon cannot be seen to work."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as line:
        line.go_silent()
        status, word, check = daemon_check(idle, line.url(dagster_url))
    assert (status, word, check["state"]) == (503, "degraded", "stale")
    assert "did not answer" in check["detail"] or "does not answer" in check["detail"]

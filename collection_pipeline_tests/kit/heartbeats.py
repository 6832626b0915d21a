"""A database with Dagster's own table of heartbeats, and the rows its daemons leave there."""

from collections.abc import Iterator
from contextlib import contextmanager

from dagster._core.storage.runs.schema import DaemonHeartbeatsTable
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.connection import collection_url
from collection_pipeline.store.daemon_heartbeats import NEEDED_DAEMONS
from collection_pipeline_tests.kit.servers import create_database, drop_database


@contextmanager
def opened_heartbeats(server: PrivateServer) -> Iterator[str]:
    """The database's URL; dropped at the end."""
    url = create_database(server)
    DaemonHeartbeatsTable.create(create_engine(collection_url(url), poolclass=NullPool))
    yield url
    drop_database(server, url)


def beat(url: str, daemon: str, seconds_ago: float) -> None:
    """A heartbeat as Dagster writes it: UTC, into a session of the server's own time zone."""
    engine = create_engine(collection_url(url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(
            text(
                "REPLACE INTO daemon_heartbeats (daemon_type, daemon_id, timestamp) "
                "VALUES (:daemon, 'id', UTC_TIMESTAMP(6) - INTERVAL :ago SECOND)"
            ),
            {"daemon": daemon, "ago": seconds_ago},
        )


def beat_all(url: str, seconds_ago: float = 20) -> None:
    """Every daemon that is needed was alive then."""
    for daemon in NEEDED_DAEMONS:
        beat(url, daemon, seconds_ago)

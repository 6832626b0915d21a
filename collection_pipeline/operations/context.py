"""What the service's answers are made from: settings, two read-only databases and the clock."""

from collections.abc import Collection
from dataclasses import dataclass

from collection_pipeline.operations.daemon import DaemonHeartbeats
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.read_only import ReadOnlyDatabase


@dataclass(frozen=True)
class OperationsContext:
    """Handed to every router. ``daemon`` is ``None`` where Dagster's database is not named.

    ``platforms``: the names of the supported platforms, which ``runnable`` asks for.
    """

    settings: Settings
    database: ReadOnlyDatabase
    clock: DatabaseClock
    daemon: DaemonHeartbeats | None
    platforms: frozenset[str]

    def close(self) -> None:
        """Give every connection back."""
        self.database.close()
        if self.daemon is not None:
            self.daemon.close()


def open_context(
    settings: Settings,
    database_url: str,
    dagster_database_url: str | None,
    platforms: Collection[str],
) -> OperationsContext:
    """The context over one queue's database; nothing connects before it is used."""
    return OperationsContext(
        settings,
        ReadOnlyDatabase(database_url),
        DatabaseClock(),
        DaemonHeartbeats(dagster_database_url) if dagster_database_url else None,
        frozenset(platforms),
    )

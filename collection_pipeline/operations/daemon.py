"""Whether Dagster's daemon is alive, asked through connections of the service's own."""

from collection_pipeline.store.daemon_heartbeats import DaemonAges, daemon_ages
from collection_pipeline.store.read_only import ReadOnlyDatabase, ReadTerms

TERMS = ReadTerms(statement_seconds=1, connect_seconds=1, socket_seconds=2, pool_size=1)


class DaemonHeartbeats:
    """Reads ``daemon_heartbeats`` of Dagster's database."""

    def __init__(self, url: str) -> None:
        self._database = ReadOnlyDatabase(url, TERMS)

    def read(self) -> DaemonAges:
        """The ages now; raises ``DatabaseUnavailable``."""
        return self._database.read(daemon_ages)

    def close(self) -> None:
        """Give the connections back."""
        self._database.close()

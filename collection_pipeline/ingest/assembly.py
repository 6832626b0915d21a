"""Puts the ingest together from settings: one place for tests, command line and Dagster."""

import threading
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from sqlalchemy import Engine

from collection_pipeline.domain.library import LibrarySnapshot
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.service import LibraryIngest
from collection_pipeline.platforms.library.client import LibraryClient
from collection_pipeline.platforms.library.read_permit import page_patience_seconds
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline.store.session_lock import SessionLock
from collection_pipeline.store.throttle import PersistentHostRequestThrottle
from collection_pipeline.store.transaction import TransactionRunner

TABLE = "public_libraries"
IDLE_MARGIN_SECONDS = 600


@dataclass(frozen=True)
class LibraryIngestion:
    """The service and its sources over one database; ``close`` gives the connections back."""

    settings: Settings
    engine: Engine
    transactions: TransactionRunner
    clock: DatabaseClock
    service: LibraryIngest
    connections: OpenConnections

    def snapshot(
        self, config: IngestConfig, stop: threading.Event | None = None
    ) -> LibrarySnapshot:
        """Where the configured rows come from; nothing is read yet.

        Raises ``InvalidSetting`` for a service key that is missing or cannot be one.
        """
        if config.source == "csv":
            # pandas takes half a second and 60 MB, which the other source does without.
            from collection_pipeline.ingest.csv_source import CsvSnapshot

            return CsvSnapshot(Path(config.file or ""))
        return LibraryClient(
            self.settings,
            lambda: RequestsSender(self.settings),
            PersistentHostRequestThrottle(self.transactions, self.clock),
            self.connections,
            stop,
        )

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def assemble_ingest(settings: Settings, database_url: str) -> LibraryIngestion:
    """The ingest over one database; nothing connects before it is used."""
    engine = open_engine(database_url)
    connections = OpenConnections()
    connections.watch(engine)
    transactions = TransactionRunner(engine)
    clock = DatabaseClock()
    lock = SessionLock(database_url, TABLE, idle_seconds(settings))
    service = LibraryIngest(transactions, clock, lock, settings["LIBRARY_LEAST_SHARE_PERCENT"])
    return LibraryIngestion(settings, engine, transactions, clock, service, connections)


def idle_seconds(settings: Settings) -> int:
    """Longer than the lock's session can be silent: one page's wait for its host and its request.

    Not longer than that: a holder whose machine vanished keeps the lock for so long.
    """
    longest = page_patience_seconds(settings) + settings["REQUEST_DEADLINE_SECONDS"]
    return ceil(longest) + IDLE_MARGIN_SECONDS

"""The library ingest over a test's own database, and what tests ask of it."""

import threading
import time
from typing import Any

from collection_pipeline.domain.library import LibrarySnapshot
from collection_pipeline.ingest.assembly import TABLE
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.ingest.service import IngestTrigger, LibraryIngest
from collection_pipeline.store.session_lock import SessionLock
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.library_rows import Row, served

IDLE_SECONDS = 600
PATIENCE_SECONDS = 20.0
LOCK_NAME = (
    "CONCAT('collection-ingest-', LEFT(SHA2(CONCAT(DATABASE(), '.public_libraries'), 256), 40))"
)
REGISTER = (
    "public_libraries",
    "public_library_changes",
    "public_library_sightings",
)


class LibraryWorld:
    """One process's ingest; ``lock_url`` may lead through a proxy."""

    def __init__(self, store: Store, lock_url: str | None = None) -> None:
        self.store = store
        self.lock = SessionLock(lock_url or store.url, TABLE, IDLE_SECONDS)
        self.service = LibraryIngest(
            store.transactions, store.clock, self.lock, least_share_percent=80
        )

    def ingest(
        self,
        snapshot: LibrarySnapshot,
        *,
        deactivate_stale: bool = True,
        allow_shrink: bool = False,
        trigger: IngestTrigger = "manual",
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """One run."""
        is_csv = snapshot.source == "csv"
        config = IngestConfig(
            source="csv" if is_csv else "library",
            deactivate_stale=deactivate_stale,
            allow_shrink=allow_shrink,
            file="a.csv" if is_csv else None,
        )
        return self.service.run(config, snapshot, trigger=trigger, stop=stop)

    def load(self, rows: list[Row]) -> IngestReport:
        """A run that must succeed."""
        report = self.ingest(served(rows))
        assert report.status == "SUCCESS", report.reason
        return report

    def register(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of the register's tables: what a failed run must leave as it was."""
        return {
            name: self.store.rows(
                f"SELECT * FROM {name} ORDER BY "
                + ("library_id" if name == "public_library_sightings" else "id")
            )
            for name in REGISTER
        }

    def runs(self) -> list[dict[str, Any]]:
        """Every run's row, oldest first."""
        return self.store.rows("SELECT * FROM ingest_runs ORDER BY id")

    def active(self) -> int:
        """Active rows of the register."""
        return int(self.store.value("SELECT COUNT(*) FROM public_libraries WHERE active = 1"))

    def lock_session(self) -> int | None:
        """The session that holds the register's lock now."""
        found = self.store.value(f"SELECT IS_USED_LOCK({LOCK_NAME})")
        return None if found is None else int(found)

    def kill_lock_session(self) -> None:
        """Ends the holder's session, as an administrator or a lost network would."""
        session = self.lock_session()
        assert session is not None, "nobody holds the lock"
        self.store.write(f"KILL {session}")
        self.wait_until_free()

    def wait_until_free(self) -> None:
        """Returns once the server has ended the session of a holder that is gone."""
        pause, deadline = threading.Event(), time.monotonic() + PATIENCE_SECONDS
        while self.lock_session() is not None:
            assert time.monotonic() < deadline, "the lock is not freed"
            pause.wait(0.05)

"""What a run does while it holds the lock: read all, judge, write, settle (R48, R49).

    read into the spool -> judge -> chunks, one short transaction each -> stale step and SUCCESS

Invariant: nothing is written before the whole snapshot is read and judged; rows are deactivated
only in the transaction that also ends the run as SUCCESS. Every write goes through the lock's own
session. The snapshot may be left for good between pages and between chunks; what is stored by then
is right by itself and is stored again by the next run without a change.
"""

import threading
from dataclasses import replace

from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.domain.library import LibrarySnapshot
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.plausibility import (
    SnapshotSize,
    require_plausible,
    why_absence_proves_nothing,
)
from collection_pipeline.ingest.reading import Reading, read_settled
from collection_pipeline.ingest.report import Ending, IngestRefused
from collection_pipeline.ingest.spool import LibrarySpool
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.ingest_runs import (
    IngestCounts,
    IngestEnd,
    IngestRuns,
    IngestStatus,
)
from collection_pipeline.store.libraries import PublicLibraries, SnapshotRow, StoredChunk
from collection_pipeline.store.session_lock import HeldLock, SessionLockLost

IN_READING = "after the page in flight; nothing was written"


class IngestAttempt:
    """One run under the lock. ``counts`` and ``reading`` say how far it came."""

    def __init__(
        self,
        held: HeldLock,
        clock: DatabaseClock,
        run_id: int,
        config: IngestConfig,
        least_share_percent: int,
        stop: threading.Event | None,
    ) -> None:
        self._held = held
        self._clock = clock
        self._run_id = run_id
        self._config = config
        self._least_share_percent = least_share_percent
        self._stop = stop
        self._libraries = PublicLibraries()
        self._runs = IngestRuns()
        self.counts = IngestCounts()
        self.reading = Reading(None, 0, ())
        self.success: IngestEnd | None = None
        """The end that was about to be committed, where it came so far."""

    def work(self, snapshot: LibrarySnapshot) -> IngestEnd:
        """The successful end, once it is committed.

        Raises ``IngestRefused`` and ``SessionLockLost``; then nothing was deactivated, but for a
        session lost on the last COMMIT: the run's row tells.
        """
        with LibrarySpool() as spool:
            self._read(snapshot, spool)
            self._judge(spool)
            for chunk in spool.chunks():
                self._require_no_stop("between two chunks; nothing was deactivated")
                self._note(self._store(chunk))
                checkpoints.reach(checkpoints.AFTER_LIBRARY_CHUNK)
        return self._settle()

    def _read(self, snapshot: LibrarySnapshot, spool: LibrarySpool) -> None:
        try:
            self.reading = read_settled(snapshot, spool, self._between_pages)
        except IngestRefused:
            # A source that was asked to stop says so in its own way.
            self._require_no_stop(IN_READING)
            raise
        finally:
            self.counts = _counts_of(spool)
        self.counts.left_out = self.reading.left_out

    def _between_pages(self) -> None:
        self._require_no_stop(IN_READING)
        self._held.require()

    def _require_no_stop(self, where: str) -> None:
        if self._stop is not None and self._stop.is_set():
            raise IngestRefused(Ending.STOPPED, where)

    def _judge(self, spool: LibrarySpool) -> None:
        size = SnapshotSize(
            self.counts,
            spool.distinct,
            self.reading.stated_total,
            must_state=self._config.source != "csv",
        )
        require_plausible(
            size,
            self._held.run(self._libraries.active_count),
            self._least_share_percent,
            allow_shrink=self._config.allow_shrink,
        )

    def _store(self, chunk: list[SnapshotRow]) -> StoredChunk:
        return self._held.run(
            lambda connection: self._libraries.store(
                connection, self._run_id, chunk, self._clock.now(connection)
            )
        )

    def _note(self, stored: StoredChunk) -> None:
        self.counts.upserted += stored.confirmed
        self.counts.added += stored.added
        self.counts.changed += stored.changed
        self.counts.reactivated += stored.reactivated

    def _settle(self) -> IngestEnd:
        checkpoints.reach(checkpoints.BEFORE_LIBRARY_STALE)
        return self._held.run(self._deactivate_and_succeed)

    def _deactivate_and_succeed(self, connection: Connection) -> IngestEnd:
        now = self._clock.now(connection)
        counts, reason = replace(self.counts), why_absence_proves_nothing(self.counts)
        if self._config.deactivate_stale and reason is None:
            counts.deactivated = self._libraries.deactivate_unsighted(connection, self._run_id, now)
        success = IngestEnd(IngestStatus.SUCCESS, reason, counts, self.reading.stated_total)
        if not self._runs.end(connection, self._run_id, success, now):
            raise SessionLockLost("another run has closed this one")
        self.success = success
        checkpoints.reach(checkpoints.BEFORE_LIBRARY_COMMIT)
        return success


def _counts_of(spool: LibrarySpool) -> IngestCounts:
    return IngestCounts(
        fetched=spool.fetched,
        unkeyable=spool.unkeyable,
        duplicate=spool.duplicates,
        unparsed=spool.unparsed,
    )

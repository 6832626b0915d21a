"""Residual seen rows are deleted in short transactions, never of a RUNNING cycle (R31)."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from sqlalchemy import Connection

from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.seen import SeenPostings
from collection_pipeline.store.transaction import TransactionRunner

CLEANUP_AT = time(10, 15)
"""KST, every day."""


@dataclass(frozen=True)
class CleanedUp:
    """``left_over`` is ``seenRowsOlderThan48Hours``: what should be gone and is not."""

    deleted_rows: int
    chunks: int
    left_over: int


class SeenRowCleanup:
    """The 10:15 job."""

    def __init__(
        self, transactions: TransactionRunner, clock: DatabaseClock, settings: Settings
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._chunk_rows = settings["SEEN_CLEANUP_CHUNK_ROWS"]
        self._retention = timedelta(hours=settings["SEEN_RETENTION_HOURS"])
        self._seen = SeenPostings()

    def clean_up(self) -> CleanedUp:
        """Delete residue cycle by cycle, one transaction a chunk, then count what is left."""
        deleted = chunks = 0
        for cycle_id in self._transactions.run(self._residual_cycles):
            while rows := self._delete_chunk(cycle_id):
                deleted += rows
                chunks += 1
        return CleanedUp(deleted, chunks, self._transactions.run(self.count_left_over))

    def count_left_over(self, connection: Connection) -> int:
        """Seen rows that a cleanup would delete now; alerts when not zero after one."""
        return self._seen.count_of_cycles(connection, self._residual_cycles(connection))

    def count_overdue(self, connection: Connection) -> int:
        """Seen rows that the newest 10:15 should have deleted, whether it ran or not."""
        now = self._clock.now(connection)
        return self._seen.count_of_cycles(connection, self._residue_at(connection, _cleanup(now)))

    def _residual_cycles(self, connection: Connection) -> list[int]:
        return self._residue_at(connection, self._clock.now(connection))

    def _residue_at(self, connection: Connection, instant: datetime) -> list[int]:
        return self._seen.residual_cycles(
            connection, instant - self._retention, run_date_of(instant)
        )

    def _delete_chunk(self, cycle_id: int) -> int:
        return self._transactions.run(
            lambda connection: self._seen.delete_chunk(connection, cycle_id, self._chunk_rows)
        )


def _cleanup(now: datetime) -> datetime:
    """The newest moment at or before ``now`` at which a cleanup was due."""
    due_today = utc_of_kst(run_date_of(now), CLEANUP_AT)
    return due_today if due_today <= now else due_today - timedelta(days=1)

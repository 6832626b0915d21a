"""The nightly pass that keeps the queue's tables from growing without bound.

Invariant: cycles, history, snapshots, postings and libraries are never deleted (R32); what goes is
older than its policy's age by the database's clock, in short transactions of few rows. A policy
that fails does not keep the others from their work, and fails the pass in the end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.retention.aged_rows import (
    OLD_CAPTURE_ATTEMPTS,
    OLD_DRIFT_COUNTS,
    OLD_KEY_QUOTAS,
    OLD_SLICES,
    OLD_TICKS,
    AgedRows,
)
from collection_pipeline.store.retention.chunks import Chunk
from collection_pipeline.store.retention.posting_bodies import trim_bodies
from collection_pipeline.store.retention.told_notifications import delete_told
from collection_pipeline.store.transaction import TransactionRunner, in_words

CHUNK_ROWS = 500
CHUNK_BODIES = 100
"""A body has some ten kilobytes, and a slice may wait for a row of the chunk."""
MOST_SECONDS = 90.0
"""Of one policy in one pass; what is left over goes on the next night."""

Age = date | datetime
NextChunk = Callable[[Connection, Age | None], Chunk]


@dataclass(frozen=True)
class PolicyResult:
    """What one policy did to ``table``: so many rows ``deleted`` or ``trimmed``.

    ``is_done`` is False where rows that are due are left; ``failure`` is one sentence.
    """

    table: str
    action: str
    rows: int
    is_done: bool
    failure: str | None = None


@dataclass(frozen=True)
class RetentionPass:
    """What a whole pass did, policy by policy."""

    results: tuple[PolicyResult, ...]

    def require_success(self) -> None:
        """Raise ``RetentionFailed`` where a policy failed."""
        failed = [result for result in self.results if result.failure is not None]
        if failed:
            raise RetentionFailed(
                "; ".join(f"{result.table}: {result.failure}" for result in failed)
            )


class RetentionFailed(Exception):
    """A policy could not do its work; the message names each table that is left."""


class Retention:
    """The 04:45 job. ``apply`` is its one entry, for Dagster, the command line and tests."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        settings: Settings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._raw_body_days = settings.raw_body_days
        self._history = timedelta(days=settings["HISTORY_DAYS"])
        self._ticks = timedelta(days=settings["TICK_DAYS"])
        self._monotonic = monotonic

    def apply(self) -> RetentionPass:
        """Each policy once; raises ``DatabaseUnavailable`` where not even the time is to be had."""
        now = self._transactions.run(self._clock.now)
        history, since_day = now - self._history, run_date_of(now) - self._history
        results = [
            self._delete(OLD_TICKS, now - self._ticks),
            self._delete(OLD_SLICES, history),
            self._delete(OLD_CAPTURE_ATTEMPTS, since_day),
            self._delete(OLD_DRIFT_COUNTS, since_day),
            self._delete(OLD_KEY_QUOTAS, since_day),
            self._follow(
                "notification_outbox",
                "deleted",
                CHUNK_ROWS,
                lambda connection, since: delete_told(connection, since_day, since, CHUNK_ROWS),
            ),
        ]
        if self._raw_body_days is not None:
            results.append(self._trim(now - timedelta(days=self._raw_body_days), now))
        return RetentionPass(tuple(results))

    def _delete(self, aged: AgedRows, before: Age) -> PolicyResult:
        return self._follow(
            aged.table.name,
            "deleted",
            CHUNK_ROWS,
            lambda connection, since: aged.delete_chunk(connection, before, since, CHUNK_ROWS),
        )

    def _trim(self, closed_before: datetime, now: datetime) -> PolicyResult:
        return self._follow(
            "job_postings",
            "trimmed",
            CHUNK_BODIES,
            lambda connection, since: trim_bodies(
                connection, closed_before, since, CHUNK_BODIES, now
            ),
        )

    def _follow(
        self, table: str, action: str, chunk_rows: int, next_chunk: NextChunk
    ) -> PolicyResult:
        """One transaction a chunk until nothing is due, nothing can be had or time is up."""
        ends_at = self._monotonic() + MOST_SECONDS
        rows, skipped = 0, 0
        since: Age | None = None
        try:
            while self._monotonic() < ends_at:
                chunk = self._transactions.run(
                    lambda connection, since=since: next_chunk(connection, since)  # type: ignore[misc]  # bound at once
                )
                rows += chunk.changed
                skipped += chunk.found - chunk.changed
                since = chunk.reached
                if chunk.found < chunk_rows or not chunk.changed:
                    return PolicyResult(table, action, rows, is_done=not skipped)
        except DatabaseUnavailable as error:
            return PolicyResult(table, action, rows, is_done=False, failure=str(error))
        except SQLAlchemyError as error:
            return PolicyResult(table, action, rows, is_done=False, failure=in_words(error))
        return PolicyResult(table, action, rows, is_done=False)

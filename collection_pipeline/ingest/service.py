"""``LibraryIngest.run``: one ingest of the library register, alone, recorded, reported (R46..R51).

The lock is asked for once: busy means that another run, of whatever source and starter, is at work;
this one is recorded as SKIPPED and has ended well. Every other run leaves exactly one row that
ends as SUCCESS or FAILED; one that its process could not end, killed or without its database, is
closed by the next run.
"""

import logging
import threading
import time
from typing import Literal

from collection_pipeline.domain.library import LibraryFailure, LibrarySnapshot
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.ingest.attempt import IngestAttempt
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.report import Ending, IngestRefused, IngestReport
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.ingest_runs import (
    IngestEnd,
    IngestRuns,
    IngestStatus,
    RunStart,
)
from collection_pipeline.store.session_lock import HeldLock, SessionLock, SessionLockLost
from collection_pipeline.store.transaction import TransactionRunner

IngestTrigger = Literal["manual", "scheduled", "external"]
BUSY = f"{Ending.BUSY}: another ingest of the register is at work"
_logger = logging.getLogger(__name__)


class LibraryIngest:
    """The service behind every entry point; safe to start anywhere, any number of times."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        lock: SessionLock,
        least_share_percent: int,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._lock = lock
        self._least_share_percent = least_share_percent
        self._runs = IngestRuns()

    def run(
        self,
        config: IngestConfig,
        snapshot: LibrarySnapshot,
        *,
        trigger: IngestTrigger,
        dagster_run_id: str | None = None,
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """Read ``snapshot`` and bring the register in step with it; ends when done (R46).

        ``stop`` ends the run after the page or chunk in flight. Raises ``DatabaseUnavailable``
        where no run could begin; an error nobody expected is recorded and raised.
        """
        if snapshot.source != config.source:
            raise ValueError(f"asked for {config.source}, given a snapshot of {snapshot.source}")
        began = time.monotonic()
        start = RunStart(
            config.source, trigger, config.deactivate_stale, config.allow_shrink, dagster_run_id
        )
        with self._lock.take() as held:
            if held is None:
                run_id = self._skip(start)
                end = IngestEnd(IngestStatus.SKIPPED, BUSY)
                return _report(run_id, end, began)
            run_id = self._begin(held, start)
            attempt = IngestAttempt(
                held, self._clock, run_id, config, self._least_share_percent, stop
            )
            return self._worked(attempt, run_id, snapshot, began)

    def _skip(self, start: RunStart) -> int:
        return self._transactions.run(
            lambda connection: self._runs.skip(connection, start, BUSY, self._clock.now(connection))
        )

    def _begin(self, held: HeldLock, start: RunStart) -> int:
        try:
            return held.run(
                lambda connection: self._runs.begin(connection, start, self._clock.now(connection))
            )
        except SessionLockLost as lost:
            raise DatabaseUnavailable(str(lost)) from lost

    def _worked(
        self, attempt: IngestAttempt, run_id: int, snapshot: LibrarySnapshot, began: float
    ) -> IngestReport:
        try:
            end = attempt.work(snapshot)
            return _report(run_id, end, began, problems=attempt.reading.problems)
        except IngestRefused as refused:
            reason, kind = str(refused), refused.failure_kind
        except SessionLockLost as lost:
            reason, kind = f"{Ending.LOCK_LOST}: {lost}; no row was deactivated", None
        except DatabaseUnavailable as away:
            reason, kind = f"{Ending.DATABASE}: {away}; no row was deactivated", None
        except BaseException as error:
            self._close_as_well_as_possible(attempt, run_id, error)
            raise
        try:
            end = self._failed(attempt, run_id, reason, kind)
        except DatabaseUnavailable as away:
            kind = None
            end = _unrecorded(attempt, away)
        return _report(run_id, end, began, kind, attempt.reading.problems)

    def _failed(
        self, attempt: IngestAttempt, run_id: int, reason: str, kind: LibraryFailure | None
    ) -> IngestEnd:
        """How the run ended: its row decides where the answer to the last COMMIT was lost."""
        end = IngestEnd(
            IngestStatus.FAILED, reason, attempt.counts, attempt.reading.stated_total, kind
        )
        has_ended = self._transactions.run(
            lambda connection: self._runs.end(connection, run_id, end, self._clock.now(connection))
        )
        if not has_ended and attempt.success is not None:
            status = self._transactions.run(
                lambda connection: self._runs.status(connection, run_id)
            )
            if status is IngestStatus.SUCCESS:
                return attempt.success
        return end

    def _close_as_well_as_possible(
        self, attempt: IngestAttempt, run_id: int, error: BaseException
    ) -> None:
        """The error itself matters more than its record; the next run closes what stays open."""
        is_stop = not isinstance(error, Exception)
        ending = Ending.STOPPED if is_stop else Ending.INTERNAL
        try:
            self._failed(attempt, run_id, f"{ending}: {type(error).__name__}", None)
        except Exception as unrecorded:
            _logger.warning("the ingest's end was not recorded: %s", type(unrecorded).__name__)


def _unrecorded(attempt: IngestAttempt, away: DatabaseUnavailable) -> IngestEnd:
    """The end of a run whose database stays away; its row is RUNNING until the next run."""
    outcome = "no row was deactivated, and the next run closes this one"
    if attempt.success is not None:
        outcome = "whether the last commit arrived, this run's row will tell"
    return IngestEnd(
        IngestStatus.FAILED,
        f"{Ending.DATABASE}: {away}; {outcome}",
        attempt.counts,
        attempt.reading.stated_total,
    )


def _report(
    run_id: int,
    end: IngestEnd,
    began: float,
    kind: LibraryFailure | None = None,
    problems: tuple[str, ...] = (),
) -> IngestReport:
    failed = end.status is IngestStatus.FAILED
    return IngestReport(
        run_id=run_id,
        status=end.status,
        reason=end.reason,
        counts=end.counts,
        total=end.stated_total,
        seconds=time.monotonic() - began,
        retry_later=failed and kind is LibraryFailure.RETRY_LATER,
        failure_kind=kind if failed else None,
        problems=problems,
    )

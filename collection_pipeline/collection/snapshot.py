"""The 09:00 snapshot of a day: captured once, or final with the reason why not (R35 to R39).

Any number of processes may capture and recover at the same time; the exclusive gate lets one of
them make the header final, and a final header never changes.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.snapshot_attempt import AttemptEnd, SnapshotAttempt
from collection_pipeline.domain.kst import kst_text, run_date_of
from collection_pipeline.domain.missed_snapshot import CaptureOutcome
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.snapshot import (
    CaptureStatus,
    CaptureWindow,
    SnapshotHeader,
    late_count,
)
from collection_pipeline.settings import Settings
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.gate import hold_for_capture
from collection_pipeline.store.snapshot_recovery import close_without_capture
from collection_pipeline.store.snapshots import SlaSnapshots
from collection_pipeline.store.transaction import TransactionRunner

CLOSING_SECONDS = 12.0
"""How long recovery tries for one day's gate: two lock waits, then it leaves it to a later tick."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CaptureReport:
    """How one call ended.

    ``item_count`` and ``late_count`` describe ``header`` (R42: ``None`` where it has no items by
    its nature); ``gate_held_seconds`` is how long the gate was held after the cutoff by this call,
    ``None`` where it did not get it; ``note`` is one sentence for people.
    """

    header: SnapshotHeader
    captured_here: bool
    item_count: int
    late_count: int | None
    gate_held_seconds: float | None
    note: str


class CollectionSlaSnapshotDomainService:
    """Captures snapshots, and makes those final that nobody can capture any more."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        creation: CollectionCycleDomainService,
        open_gate_engine: Callable[[], Engine],
        settings: Settings,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._creation = creation
        self._open_gate_engine = open_gate_engine
        self._tolerance = settings["SLA_CAPTURE_TOLERANCE_SECONDS"]
        self._late_start = settings["SLA_LATE_START_SECONDS"]
        self._attempts = CaptureAttempts()
        self._snapshots = SlaSnapshots()

    def capture_at_nine(
        self,
        *,
        worker: str,
        dagster_run_id: str | None = None,
        stop: threading.Event | None = None,
    ) -> CaptureReport:
        """Wait for the cutoff that is due next, and capture it unless somebody else does.

        Meant to be called a little ahead of it; more than five minutes ahead it ends at once, and
        too long after it the day is MISSED. Raises ``DatabaseUnavailable``.
        """
        self._creation.create_daily_cycles()
        header, now = self._transactions.run(self._due_header)
        window = self._window(header)
        if header.status.is_final:
            return self._report(AttemptEnd(CaptureOutcome.ALREADY_FINAL, header))
        if now < window.earliest_start:
            note = f"too early: the gate is asked for from {kst_text(window.asks_from)}"
            return CaptureReport(header, False, 0, late_count(header.status, ()), None, note)
        attempt_id = self._transactions.run(
            lambda connection: self._attempts.begin(
                connection, header.snapshot_date, worker, dagster_run_id, now
            )
        )
        end = SnapshotAttempt(
            attempt_id,
            header,
            window,
            self._transactions,
            self._clock,
            self._open_gate_engine,
            self._creation.platforms,
            stop or threading.Event(),
        ).run(now)
        return self._report(self._closed_if_too_late(end))

    def mark_missed_snapshot(self) -> list[SnapshotHeader]:
        """Make every overdue header final, of any day; returns what this call made final.

        A day whose gate cannot be had (a writer hangs) is left to the next call.
        """
        overdue = self._transactions.run(self._overdue)
        closed = [self._close(header) for header in overdue]
        return [header for header in closed if header is not None]

    def needs_recovery(self, connection: Connection) -> bool:
        """Whether ``mark_missed_snapshot`` would find a header, by plain reads."""
        return bool(self._overdue(connection))

    def _due_header(self, connection: Connection) -> tuple[SnapshotHeader, datetime]:
        """The latest day whose capture may wait already; before that, today's.

        With a cutoff at midnight the run starts on the day before.
        """
        now = self._clock.now(connection)
        today = run_date_of(now)
        ahead = self._snapshots.header(connection, today + timedelta(days=1))
        if ahead is not None and now >= self._window(ahead).earliest_start:
            return ahead, now
        header = self._snapshots.header(connection, today)
        assert header is not None, "the headers were made just before"
        return header, now

    def _window(self, header: SnapshotHeader) -> CaptureWindow:
        return CaptureWindow(header.scheduled_at, self._tolerance, self._late_start)

    def _overdue(self, connection: Connection) -> list[SnapshotHeader]:
        now = self._clock.now(connection)
        pending = self._snapshots.pending_scheduled_before(connection, now)
        return [header for header in pending if self._window(header).is_overdue(now)]

    def _closed_if_too_late(self, end: AttemptEnd) -> AttemptEnd:
        """A run that came too late settles the day, unless another one may still capture it."""
        too_late = (CaptureOutcome.LATE, CaptureOutcome.GATE_LOST, CaptureOutcome.GATE_TOO_LATE)
        if end.header.status.is_final or end.outcome not in too_late:
            return end
        day = end.header.snapshot_date
        if not self._transactions.run(lambda connection: self._is_awaited(connection, end.header)):
            self._close(end.header, at_once=True)
        header = self._transactions.run(lambda c: self._snapshots.header(c, day))
        return AttemptEnd(end.outcome, header or end.header, end.gate_held_seconds)

    def _is_awaited(self, connection: Connection, header: SnapshotHeader) -> bool:
        """Whether another attempt of the day asked in time and has not ended."""
        window = self._window(header)
        attempts = self._attempts.of_day(connection, header.snapshot_date)
        return any(attempt.is_waiting(window) for attempt in attempts)

    def _close(self, header: SnapshotHeader, *, at_once: bool = False) -> SnapshotHeader | None:
        """Under the exclusive gate: the final header, ``None`` where somebody else's turn it is."""
        day, window = header.snapshot_date, self._window(header)
        meant: list[SnapshotHeader | None] = []

        def closing(connection: Connection) -> SnapshotHeader | None:
            meant.append(None)
            current = hold_for_capture(connection, day).header
            is_awaited = at_once and self._is_awaited(connection, current)
            if not current.status.is_final and not is_awaited:
                meant[-1] = close_without_capture(
                    connection, current, window, self._creation.platforms, self._clock
                )
            return meant[-1]

        try:
            return self._transactions.run(
                closing,
                until=time.monotonic() + CLOSING_SECONDS,
                was_committed=lambda c: self._snapshots.header(c, day) == meant[-1],
            )
        except DatabaseUnavailable:
            _log.warning("the gate of %s cannot be had; a later tick settles its snapshot", day)
            return None

    def _report(self, end: AttemptEnd) -> CaptureReport:
        header = end.header
        items, late = 0, late_count(header.status, ())
        if header.status is CaptureStatus.CAPTURED:
            items, late = self._transactions.run(
                lambda c: (
                    self._snapshots.item_count(c, header.snapshot_id),
                    self._snapshots.late_count(c, header.snapshot_id),
                )
            )
        captured_here = end.outcome is CaptureOutcome.CAPTURED
        note = _note(end, items, late)
        return CaptureReport(header, captured_here, items, late, end.gate_held_seconds, note)


def _note(end: AttemptEnd, items: int, late: int | None) -> str:
    header = end.header
    if header.status is CaptureStatus.PENDING:
        if end.outcome is CaptureOutcome.STOPPED:
            return "stopped before the capture; another run or recovery settles the day"
        return "too late, and the day is not settled yet; recovery does that"
    said = {
        CaptureStatus.CAPTURED: (
            f"captured {items} source(s) at {kst_text(header.captured_at)}, {late} of them late"
        ),
        CaptureStatus.MISSED: f"missed: {header.miss_reason}",
        CaptureStatus.NOT_APPLICABLE: f"nothing to capture: {header.miss_reason}",
    }[header.status]
    return f"final already: {said}" if end.outcome is CaptureOutcome.ALREADY_FINAL else said

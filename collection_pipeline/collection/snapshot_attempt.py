"""One attempt at the capture: wait, ask for the gate, capture at the cutoff (R36 to R39).

The gate is asked for at most a second ahead, on a session of its own, and never again once that
would be late: before a request that arrives late, writes of after the cutoff may have landed. When
it arrived is the server's word, not ours. What the attempt came to is written in the transaction
that decides, so that a lost answer to COMMIT hides nothing.
"""

import math
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from collection_pipeline import checkpoints
from collection_pipeline.domain.missed_snapshot import CaptureOutcome
from collection_pipeline.domain.snapshot import (
    CAPTURE_LEAD_SECONDS,
    CaptureStatus,
    CaptureWindow,
    SnapshotHeader,
)
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.connection import (
    LOCK_WAIT_SECONDS,
    SOCKET_TIMEOUT_SECONDS,
    SessionTerms,
)
from collection_pipeline.store.gate import HeldGate, hold_for_capture
from collection_pipeline.store.snapshot_capture import capture
from collection_pipeline.store.snapshot_recovery import close_without_capture
from collection_pipeline.store.transaction import (
    DEFAULT_TRY_SECONDS,
    LOCK_WAIT_CODE,
    TransactionRunner,
    mysql_error_code,
)

LONGEST_WAIT_SECONDS = 1.0
"""Between two readings of the clock: a simulated one may jump."""


@dataclass(frozen=True)
class AttemptEnd:
    """``header`` as the attempt left it; ``gate_held_seconds`` counts from the cutoff on."""

    outcome: CaptureOutcome
    header: SnapshotHeader
    gate_held_seconds: float | None = None


def gate_session_terms(tolerance_seconds: float, late_start_seconds: float) -> SessionTerms:
    """A session that waits for the gate as long as a grant could still be in time (R38)."""
    lock_wait = math.ceil(tolerance_seconds + CAPTURE_LEAD_SECONDS + late_start_seconds)
    return SessionTerms(
        lock_wait_seconds=lock_wait,
        socket_timeout_seconds=lock_wait + SOCKET_TIMEOUT_SECONDS,
        pool_size=1,
        pool_overflow=0,
    )


class SnapshotAttempt:
    """Runs once; ``stop`` is obeyed while it waits for a moment, not while it waits for the gate.

    That wait is bounded by the tolerance, and a worker that is stopped in it may as well capture.
    """

    def __init__(
        self,
        attempt_id: int,
        header: SnapshotHeader,
        window: CaptureWindow,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        open_gate_engine: Callable[[], Engine],
        platforms: Collection[str],
        stop: threading.Event,
    ) -> None:
        self._attempt_id = attempt_id
        self._header = header
        self._window = window
        self._transactions = transactions
        self._clock = clock
        self._open_gate_engine = open_gate_engine
        self._platforms = platforms
        self._stop = stop
        self._attempts = CaptureAttempts()
        self._cutoff_passed: float | None = None
        self._has_asked = False
        self._waited_in_vain = False

    def run(self, now: datetime) -> AttemptEnd:
        """How it ended; ``now`` is the clock's reading when it began.

        Raises ``DatabaseUnavailable`` where the database stayed away for too long.
        """
        seconds = (self._window.scheduled_at - now).total_seconds()
        # An outage is sat out as long as the gate could still be asked for in time.
        give_up = time.monotonic() + max(seconds, 0.0) + DEFAULT_TRY_SECONDS
        if not self._wait_to_ask(give_up):
            return self._transactions.run(lambda c: self._end(c, CaptureOutcome.STOPPED))
        refused = self._transactions.run(self._ask, until=give_up)
        return refused or self._capture()

    def _wait_to_ask(self, give_up: float) -> bool:
        while True:
            now = self._transactions.run(self._clock.now, until=give_up)
            wait = (self._window.asks_from - now).total_seconds()
            if wait <= 0:
                return True
            if self._stop.wait(min(wait, LONGEST_WAIT_SECONDS)):
                return False

    def _ask(self, connection: Connection) -> AttemptEnd | None:
        """Commits the asking before it is done; an end where it would be too late."""
        now = self._clock.now(connection)
        self._attempts.ask(connection, self._attempt_id, now)
        if self._window.is_late_to_ask(now):
            return self._end(connection, CaptureOutcome.LATE)
        return None

    def _capture(self) -> AttemptEnd:
        window = self._window
        waiting = CAPTURE_LEAD_SECONDS + window.tolerance_seconds + window.late_start_seconds
        engine = self._open_gate_engine()
        try:
            end = TransactionRunner(engine).run(
                self._under_gate,
                until=time.monotonic() + waiting + SOCKET_TIMEOUT_SECONDS,
                was_committed=self._has_ended,
            )
            held = None
            if self._cutoff_passed is not None:
                held = time.monotonic() - self._cutoff_passed
        finally:
            engine.dispose()
        return AttemptEnd(end.outcome, end.header, held)

    def _under_gate(self, connection: Connection) -> AttemptEnd:
        """The one transaction of R36; may run again after a conflict or a lost connection."""
        self._cutoff_passed = None
        if refusal := self._why_not_ask(connection):
            return self._end(connection, refusal)
        offset = self._clock.offset(connection)
        gate = self._take_gate(connection)
        header, asked_at = gate.header, gate.asked_at + offset
        checkpoints.reach(checkpoints.BEFORE_CAPTURE)
        if header.status.is_final:
            return self._end(connection, CaptureOutcome.ALREADY_FINAL, header)
        if self._window.is_late_to_ask(asked_at):
            self._attempts.ask(connection, self._attempt_id, asked_at)
            return self._end(connection, CaptureOutcome.LATE)
        # Nothing after the gate may wait that long: every writer waits behind it.
        connection.execute(text(f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}"))
        now = self._wait_for_cutoff(connection)
        if now is None:
            return self._end(connection, CaptureOutcome.STOPPED)
        self._cutoff_passed = time.monotonic()
        end = self._decide(connection, header, now)
        checkpoints.reach(checkpoints.BEFORE_CAPTURE_COMMIT)
        return end

    def _why_not_ask(self, connection: Connection) -> CaptureOutcome | None:
        """Asked each time: the connection may have come late, or been lost while it waited."""
        now = self._clock.now(connection)
        if not self._window.is_late_to_ask(now):
            return CaptureOutcome.STOPPED if self._stop.is_set() else None
        if self._waited_in_vain:
            return CaptureOutcome.GATE_TOO_LATE
        if self._has_asked:
            return CaptureOutcome.GATE_LOST
        self._attempts.ask(connection, self._attempt_id, now)
        return CaptureOutcome.LATE

    def _take_gate(self, connection: Connection) -> HeldGate:
        self._has_asked = True
        try:
            return hold_for_capture(connection, self._header.snapshot_date)
        except DBAPIError as error:
            # Only this one says that somebody held the gate; a lost connection says nothing.
            self._waited_in_vain = mysql_error_code(error) == LOCK_WAIT_CODE
            raise

    def _wait_for_cutoff(self, connection: Connection) -> datetime | None:
        """The first reading at or after the cutoff; ``None`` when stopped before it."""
        while (now := self._clock.now(connection)) < self._window.scheduled_at:
            wait = (self._window.scheduled_at - now).total_seconds()
            if self._stop.wait(min(wait, LONGEST_WAIT_SECONDS)):
                return None
        return now

    def _decide(self, connection: Connection, header: SnapshotHeader, now: datetime) -> AttemptEnd:
        if self._window.is_late_to_capture(now):
            self._end(connection, CaptureOutcome.GATE_TOO_LATE)
            missed = close_without_capture(
                connection, header, self._window, self._platforms, self._clock
            )
            return AttemptEnd(CaptureOutcome.GATE_TOO_LATE, missed)
        final = capture(connection, header, self._platforms, now)
        is_captured = final.status is CaptureStatus.CAPTURED
        outcome = CaptureOutcome.CAPTURED if is_captured else CaptureOutcome.NOT_APPLICABLE
        return self._end(connection, outcome, final)

    def _end(
        self,
        connection: Connection,
        outcome: CaptureOutcome,
        header: SnapshotHeader | None = None,
    ) -> AttemptEnd:
        self._attempts.end(connection, self._attempt_id, outcome, self._clock.now(connection))
        return AttemptEnd(outcome, header or self._header)

    def _has_ended(self, connection: Connection) -> bool:
        return self._attempts.outcome(connection, self._attempt_id) is not None

"""Why a day has no snapshot: one sentence from what the attempts and heartbeats left (R38).

What is known best is said first: a gate that came too late, then a worker that began in time and
vanished, then one that came late, then what speaks for a database or a daemon that was away.
Nothing here guesses beyond its evidence, and nothing is rebuilt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from collection_pipeline.domain.kst import KST_OFFSET
from collection_pipeline.domain.snapshot import CaptureWindow

MOST_REASON_CHARS = 300
MOST_WORKER_CHARS = 100


class CaptureOutcome(StrEnum):
    """How an attempt ended; one that was killed or lost the database has none."""

    CAPTURED = "CAPTURED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    ALREADY_FINAL = "ALREADY_FINAL"
    LATE = "LATE"
    GATE_TOO_LATE = "GATE_TOO_LATE"
    GATE_LOST = "GATE_LOST"
    STOPPED = "STOPPED"


@dataclass(frozen=True)
class CaptureAttempt:
    """One run that meant to capture; instants are naive UTC."""

    attempt_id: int
    worker: str
    began_at: datetime
    asked_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: CaptureOutcome | None = None

    def is_waiting(self, window: CaptureWindow) -> bool:
        """Asked in time and not ended: it may still be granted the gate, or be dead."""
        return (
            self.asked_at is not None
            and self.ended_at is None
            and not window.is_late_to_ask(self.asked_at)
        )


@dataclass(frozen=True)
class MissEvidence:
    """What is known of a morning whose header is still PENDING.

    ``server_started_at`` is ``None`` where it says nothing (simulated time). ``last_tick_before``
    and ``tick_within_tolerance`` are starts of ticks close to the cutoff.
    """

    attempts: Sequence[CaptureAttempt] = ()
    server_started_at: datetime | None = None
    last_tick_before: datetime | None = None
    tick_within_tolerance: datetime | None = None


def miss_reason(window: CaptureWindow, evidence: MissEvidence) -> str:
    """At most 300 characters, times in KST."""
    for explain in (
        _gate_came_late,
        _gate_was_lost,
        _worker_vanished,
        _worker_was_stopped,
        _came_late,
    ):
        if reason := explain(window, evidence.attempts):
            return reason[:MOST_REASON_CHARS]
    return _without_attempt(window, evidence)


def _gate_came_late(window: CaptureWindow, attempts: Sequence[CaptureAttempt]) -> str | None:
    one = _first(attempts, lambda attempt: attempt.outcome is CaptureOutcome.GATE_TOO_LATE)
    if one is None:
        return None
    return (
        f"the gate came too late: {_name(one)} asked for it at {_at(one.asked_at)} and a writer "
        f"held it for more than {window.tolerance_seconds:g} s after the cutoff"
    )


def _gate_was_lost(window: CaptureWindow, attempts: Sequence[CaptureAttempt]) -> str | None:
    one = _first(attempts, lambda attempt: attempt.outcome is CaptureOutcome.GATE_LOST)
    if one is None:
        return None
    return (
        f"{_name(one)} asked for the gate at {_at(one.asked_at)}, lost its place in the queue with "
        f"its connection, and could ask again only at {_at(one.ended_at)}, more than "
        f"{window.latest_ask_seconds:g} s after the cutoff"
    )


def _worker_vanished(window: CaptureWindow, attempts: Sequence[CaptureAttempt]) -> str | None:
    """In time to ask as far as is known; it left no word of its end."""
    waiting = _first(attempts, lambda attempt: attempt.is_waiting(window))
    if waiting:
        return (
            f"{_name(waiting)} asked for the gate at {_at(waiting.asked_at)} and never ended: it "
            "died, hung, or lost the database"
        )
    one = _first(
        attempts,
        lambda attempt: (
            attempt.asked_at is None
            and attempt.ended_at is None
            and not window.is_late_to_ask(attempt.began_at)
        ),
    )
    if one is None:
        return None
    return (
        f"{_name(one)} began at {_at(one.began_at)} and never asked for the gate: it died, hung, "
        "or lost the database"
    )


def _worker_was_stopped(_window: CaptureWindow, attempts: Sequence[CaptureAttempt]) -> str | None:
    one = _first(attempts, lambda attempt: attempt.outcome is CaptureOutcome.STOPPED)
    if one is None:
        return None
    return f"{_name(one)} was stopped at {_at(one.ended_at)}, before it could capture"


def _came_late(window: CaptureWindow, attempts: Sequence[CaptureAttempt]) -> str | None:
    if not attempts:
        return None
    one = min(attempts, key=lambda attempt: attempt.asked_at or attempt.began_at)
    moment = one.asked_at or one.began_at
    seconds = (moment - window.scheduled_at).total_seconds()
    if one.asked_at and one.began_at <= window.scheduled_at:
        return (
            f"{_name(one)} began in time at {_at(one.began_at)}, but its request for the gate "
            f"reached the database at {_at(moment)}, {seconds:.1f} s after the cutoff, and "
            f"{window.latest_ask_seconds:g} s are allowed: the database was away or the host stood"
        )
    return (
        f"the capture came late: {_name(one)} {'asked' if one.asked_at else 'began'} at "
        f"{_at(moment)}, {seconds:.1f} s after the cutoff, and {window.latest_ask_seconds:g} s "
        "are allowed"
    )


def _without_attempt(window: CaptureWindow, evidence: MissEvidence) -> str:
    started_at = evidence.server_started_at
    if evidence.tick_within_tolerance is None and started_at and started_at > window.scheduled_at:
        return (
            f"no capture was started, and the database server runs only since {_at(started_at)}: "
            "it was away at the cutoff, or was started anew since"
        )
    tick = evidence.tick_within_tolerance or evidence.last_tick_before
    if tick is not None:
        return (
            f"no capture was started although a tick ran at {_at(tick)}: the snapshot's schedule "
            "was off or its run could not start"
        )
    return (
        "no capture was started and no tick ran around the cutoff: the daemon was stopped, or the "
        "database could not be reached"
    )


def _first(
    attempts: Sequence[CaptureAttempt], matches: Callable[[CaptureAttempt], bool]
) -> CaptureAttempt | None:
    return next((attempt for attempt in attempts if matches(attempt)), None)


def _name(attempt: CaptureAttempt) -> str:
    return f"worker {attempt.worker[:MOST_WORKER_CHARS]}"


def _at(instant: datetime | None) -> str:
    """Korean time with tenths, cut and not rounded: 08:59:59.96 is not 09:00:00."""
    if instant is None:
        return "an unknown time"
    local = instant + KST_OFFSET
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 100_000} KST"

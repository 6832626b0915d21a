"""The capture's window, the late count, and the sentence that says why a day was missed."""

from datetime import datetime, timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.missed_snapshot import (
    MOST_REASON_CHARS,
    CaptureAttempt,
    CaptureOutcome,
    MissEvidence,
    miss_reason,
)
from collection_pipeline.domain.snapshot import (
    CaptureStatus,
    CaptureWindow,
    SnapshotItem,
    late_count,
)

NINE = datetime(2026, 12, 1)
WINDOW = CaptureWindow(NINE, tolerance_seconds=60, late_start_seconds=5)
MICROSECOND = timedelta(microseconds=1)


def after(seconds: float) -> datetime:
    """So many seconds after the cutoff."""
    return NINE + timedelta(seconds=seconds)


def attempt(
    worker: str = "host:1",
    began: float = -50,
    asked: float | None = None,
    ended: float | None = None,
    outcome: CaptureOutcome | None = None,
) -> CaptureAttempt:
    """An attempt whose moments are seconds after the cutoff."""
    return CaptureAttempt(
        1,
        worker,
        after(began),
        None if asked is None else after(asked),
        None if ended is None else after(ended),
        outcome,
    )


def item(status: CycleStatus) -> SnapshotItem:
    """An item in that state."""
    return SnapshotItem(1, "a", status, False, 0, 0, 0, False, True)


def test_the_gate_is_asked_for_a_second_ahead_and_at_most_late_start_after() -> None:
    """R38: both ends belong to the window."""
    assert WINDOW.asks_from == after(-1)
    assert WINDOW.earliest_start == after(-300)
    assert not WINDOW.is_late_to_ask(after(5))
    assert WINDOW.is_late_to_ask(after(5) + MICROSECOND)


def test_a_grant_is_in_time_up_to_the_tolerance_and_recovery_begins_a_second_later() -> None:
    """R38: nobody can capture any more before recovery may say MISSED."""
    assert not WINDOW.is_late_to_capture(after(60))
    assert WINDOW.is_late_to_capture(after(60) + MICROSECOND)
    assert not WINDOW.is_overdue(after(61))
    assert WINDOW.is_overdue(after(61) + MICROSECOND)


@pytest.mark.parametrize("status", CycleStatus)
def test_every_state_but_success_was_late(status: CycleStatus) -> None:
    """R42: NOT_STARTED, PENDING, RUNNING, FAILED and BUDGET_EXHAUSTED are counted."""
    expected = 0 if status is CycleStatus.SUCCESS else 1
    assert late_count(CaptureStatus.CAPTURED, [item(status)]) == expected


def test_only_a_captured_snapshot_counts() -> None:
    """R42: PENDING says 0; what has no snapshot for good says nothing, never 0."""
    late = [item(CycleStatus.FAILED)]
    counts = {status: late_count(status, late) for status in CaptureStatus}
    assert counts == {
        CaptureStatus.PENDING: 0,
        CaptureStatus.CAPTURED: 1,
        CaptureStatus.MISSED: None,
        CaptureStatus.NOT_APPLICABLE: None,
        CaptureStatus.UNAVAILABLE: None,
    }


TOO_LATE = attempt("host:7", asked=-0.5, ended=65, outcome=CaptureOutcome.GATE_TOO_LATE)
LOST = attempt("host:6", asked=-0.5, ended=12.5, outcome=CaptureOutcome.GATE_LOST)
DEAD = attempt("host:5", asked=-0.25)
UNASKED = attempt("host:4", began=-48)
STOPPED = attempt("host:3", ended=-20, outcome=CaptureOutcome.STOPPED)
LATE = attempt("host:2", began=5.5, asked=6.04, ended=6.1, outcome=CaptureOutcome.LATE)
LATE_DEAD = attempt("host:1", began=7)
ALL = [LATE_DEAD, LATE, STOPPED, UNASKED, DEAD, LOST, TOO_LATE]
EXPLAINED = [
    (ALL, "the gate came too late: worker host:7 asked for it at 2026-12-01 08:59:59.5 KST"),
    (ALL[:-1], "worker host:6 asked for the gate at 2026-12-01 08:59:59.5 KST, lost its place"),
    (ALL[:-2], "worker host:5 asked for the gate at 2026-12-01 08:59:59.7 KST and never ended"),
    (ALL[:-3], "worker host:4 began at 2026-12-01 08:59:12.0 KST and never asked"),
    (ALL[:-4], "worker host:3 was stopped at 2026-12-01 08:59:40.0 KST"),
    (ALL[:-5], "worker host:2 asked at 2026-12-01 09:00:06.0 KST, 6.0 s after the cutoff"),
    (ALL[:-6], "worker host:1 began at 2026-12-01 09:00:07.0 KST, 7.0 s after the cutoff"),
]


@pytest.mark.parametrize(("attempts", "words"), EXPLAINED)
def test_the_best_known_attempt_explains_the_miss(
    attempts: list[CaptureAttempt], words: str
) -> None:
    """R38: each cause has its own sentence; heartbeats are asked only where nobody tried."""
    evidence = MissEvidence(attempts, after(600), after(-30), after(30))
    assert words in miss_reason(WINDOW, evidence)


def test_an_attempt_that_asked_too_late_is_not_said_to_have_died() -> None:
    """R38: a late request that never ended was late all the same."""
    late = attempt("host:1", began=3, asked=5.5)
    assert "came late" in miss_reason(WINDOW, MissEvidence([late]))


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (MissEvidence((), after(190.5)), "the database server runs only since 2026-12-01 09:03:10"),
        (MissEvidence((), after(190), after(-20)), "the database server runs only since"),
        (MissEvidence((), after(190), None, after(2)), "a tick ran at 2026-12-01 09:00:02.0"),
        (MissEvidence((), after(-1), after(-20)), "a tick ran at 2026-12-01 08:59:40.0"),
        (MissEvidence((), after(-1)), "no tick ran around the cutoff"),
        (MissEvidence(), "no tick ran around the cutoff"),
    ],
)
def test_without_an_attempt_the_heartbeats_speak(evidence: MissEvidence, words: str) -> None:
    """R38: a database that was away, a schedule that was off, a daemon that was stopped."""
    reason = miss_reason(WINDOW, evidence)
    assert words in reason
    assert reason.startswith("no capture was started")


def test_a_reason_fits_its_column() -> None:
    """Section 7: at most 300 characters, whatever a worker is called."""
    for attempts, _words in EXPLAINED:
        asked = -1 if attempts[-1].asked_at else None
        one = attempt("w" * 200, outcome=attempts[-1].outcome, asked=asked)
        assert len(miss_reason(WINDOW, MissEvidence([one]))) <= MOST_REASON_CHARS

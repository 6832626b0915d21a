"""Where this release stands beside an older collector: steps, stable days, who may run (R34, R44).

Invariant: the judgement permits nothing and refuses nothing; the flag alone decides what runs. A
day counts as stable when this release left no blemish on it; what platforms did is no blemish.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.snapshot import CaptureStatus

DAYS_BEFORE_CONTRACT = 30
"""Stable days in a row after which older code may go."""


class ReleaseStep(StrEnum):
    """The steps of ``docs/release.md``; each is what the database is in, not what was planned."""

    EXPAND = "EXPAND"
    DARK_DEPLOY = "DARK_DEPLOY"
    OBSERVE = "OBSERVE"
    CONTRACT = "CONTRACT"
    ROLLED_BACK = "ROLLED_BACK"


@dataclass(frozen=True)
class DispatchSwitch:
    """The main flag: its position, its last change (naive UTC), and whether it was ever on."""

    is_on: bool
    was_ever_on: bool
    changed_by: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True)
class OlderRuns:
    """How many sources of a type an older system ran on a date; ``None``: a source not known."""

    run_date: date
    source_type: str | None
    count: int


@dataclass(frozen=True)
class ReleaseDay:
    """What a past day left behind; counts are of cycles."""

    run_date: date
    capture_status: CaptureStatus
    older_runs: int = 0
    lost_leases: int = 0
    defects: int = 0
    exhausted_boards: int = 0

    @property
    def blemishes(self) -> list[str]:
        """Why the day is not stable; empty where it is."""
        counted = (
            (self.older_runs, "source(s) run by an older system"),
            (self.lost_leases, "cycle(s) ended LEASE_EXPIRED"),
            (self.defects, "cycle(s) ended INTERNAL"),
            (self.exhausted_boards, "company board(s) out of budget"),
        )
        found = [f"{count} {words}" for count, words in counted if count]
        if self.capture_status is not CaptureStatus.CAPTURED:
            found.insert(0, f"snapshot {self.capture_status.value}")
        return found


@dataclass(frozen=True)
class ReleaseFacts:
    """What the database says at one moment.

    ``begun_today`` counts today's cycles that were ever claimed, ``running`` the live leases of any
    date. ``days`` are the days before today, newest first and without a gap. ``older_written_at``
    is the newest time in the older system's own rows, in whatever zone it writes.
    """

    today: date
    dispatch: DispatchSwitch
    begun_today: int
    running: int
    older: tuple[OlderRuns, ...] = ()
    older_written_at: datetime | None = None
    days: tuple[ReleaseDay, ...] = ()


@dataclass(frozen=True)
class ReleaseStanding:
    """The judgement. ``older_may_run_from`` is ``None`` while it must not run at all.

    ``broken_by`` is the newest past day that is not stable.
    """

    step: ReleaseStep
    stable_days: int
    broken_by: ReleaseDay | None
    older_may_run_from: date | None
    attention: tuple[str, ...]


def release_standing(facts: ReleaseFacts) -> ReleaseStanding:
    """The step of a database whose schema is current; ``EXPAND`` needs no facts."""
    stable = stable_days(facts.days)
    return ReleaseStanding(
        _step(facts.dispatch, stable),
        stable,
        facts.days[stable] if stable < len(facts.days) else None,
        older_may_run_from(facts),
        tuple(_attention(facts)),
    )


def stable_days(days: Sequence[ReleaseDay]) -> int:
    """Stable days in a row, counted back from the newest."""
    return next((n for n, day in enumerate(days) if day.blemishes), len(days))


def older_may_run_from(facts: ReleaseFacts) -> date | None:
    """The first day on which an older system asks no platform twice (R44).

    Not while the flag is on or a slice is at work; on the day itself only if nothing was begun.
    """
    if facts.dispatch.is_on or facts.running:
        return None
    return facts.today + timedelta(days=1) if facts.begun_today else facts.today


def _step(dispatch: DispatchSwitch, stable: int) -> ReleaseStep:
    if not dispatch.is_on:
        return ReleaseStep.ROLLED_BACK if dispatch.was_ever_on else ReleaseStep.DARK_DEPLOY
    return ReleaseStep.CONTRACT if stable >= DAYS_BEFORE_CONTRACT else ReleaseStep.OBSERVE


def _attention(facts: ReleaseFacts) -> list[str]:
    """An older system that runs although it should rest; told by its dates, never by its clock."""
    if not facts.dispatch.is_on or facts.dispatch.changed_at is None:
        return []
    switched = run_date_of(facts.dispatch.changed_at)
    late = sorted({one.run_date for one in facts.older if one.run_date > switched})
    if not late:
        return []
    return [
        f"an older system still runs: it left rows of {len(late)} day(s) after the flag was "
        f"switched on, the newest of {late[-1]}"
    ]

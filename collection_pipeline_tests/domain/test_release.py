"""Where a release stands: its step, stable days, and when an older system may run (R44)."""

from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from collection_pipeline.domain.release import (
    DAYS_BEFORE_CONTRACT,
    DispatchSwitch,
    OlderRuns,
    ReleaseDay,
    ReleaseFacts,
    ReleaseStep,
    older_may_run_from,
    release_standing,
    stable_days,
)
from collection_pipeline.domain.snapshot import CaptureStatus

TODAY = date(2026, 12, 1)
TOMORROW = date(2026, 12, 2)
MIDNIGHT = datetime(2026, 11, 20, 15)
"""00:00 of 21 November in Seoul, naive UTC."""
ON = DispatchSwitch(is_on=True, was_ever_on=True, changed_by="a", changed_at=MIDNIGHT)
OFF = DispatchSwitch(is_on=False, was_ever_on=True, changed_by="a", changed_at=MIDNIGHT)
NEVER = DispatchSwitch(is_on=False, was_ever_on=False)


def good_days(count: int) -> tuple[ReleaseDay, ...]:
    """Captured days before today without a blemish, newest first."""
    return tuple(
        ReleaseDay(TODAY - timedelta(days=back), CaptureStatus.CAPTURED)
        for back in range(1, count + 1)
    )


def facts(dispatch: DispatchSwitch = ON, **more: object) -> ReleaseFacts:
    """Facts of today; nothing was begun and nothing is at work unless ``more`` says so."""
    base = ReleaseFacts(TODAY, dispatch, begun_today=0, running=0)
    return replace(base, **more)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("dispatch", "stable", "step"),
    [
        (NEVER, 0, ReleaseStep.DARK_DEPLOY),
        (NEVER, DAYS_BEFORE_CONTRACT, ReleaseStep.DARK_DEPLOY),
        (OFF, 0, ReleaseStep.ROLLED_BACK),
        (OFF, DAYS_BEFORE_CONTRACT, ReleaseStep.ROLLED_BACK),
        (ON, 0, ReleaseStep.OBSERVE),
        (ON, DAYS_BEFORE_CONTRACT - 1, ReleaseStep.OBSERVE),
        (ON, DAYS_BEFORE_CONTRACT, ReleaseStep.CONTRACT),
    ],
)
def test_flag_and_stable_days_make_the_step(
    dispatch: DispatchSwitch, stable: int, step: ReleaseStep
) -> None:
    """R44, R34: contract needs the flag and 30 stable days, not 29."""
    standing = release_standing(facts(dispatch, days=good_days(stable)))
    assert (standing.step, standing.stable_days) == (step, stable)


@pytest.mark.parametrize(
    ("blemish", "word"),
    [
        ({"older_runs": 1}, "older system"),
        ({"lost_leases": 1}, "LEASE_EXPIRED"),
        ({"defects": 1}, "INTERNAL"),
        ({"exhausted_boards": 1}, "out of budget"),
        *(
            ({"capture_status": status}, status.value)
            for status in CaptureStatus
            if status is not CaptureStatus.CAPTURED
        ),
    ],
)
def test_a_day_with_any_blemish_ends_the_row(blemish: dict[str, object], word: str) -> None:
    """R45: days before it do not count any more, and it is named with its reason."""
    days = list(good_days(DAYS_BEFORE_CONTRACT))
    days[3] = replace(days[3], **blemish)  # type: ignore[arg-type]  # fields by name
    assert stable_days(days) == 3
    standing = release_standing(facts(days=tuple(days)))
    assert standing.step is ReleaseStep.OBSERVE
    assert standing.broken_by == days[3]
    assert any(word in said for said in days[3].blemishes)


@pytest.mark.parametrize(
    ("dispatch", "running", "begun", "expected"),
    [
        (ON, 0, 0, None),
        (OFF, 1, 1, None),
        (NEVER, 1, 0, None),
        (OFF, 0, 1, TOMORROW),
        (OFF, 0, 0, TODAY),
        (NEVER, 0, 0, TODAY),
    ],
)
def test_an_older_system_waits_for_leases_and_for_the_next_day(
    dispatch: DispatchSwitch, running: int, begun: int, expected: date | None
) -> None:
    """R44: never beside this one, and not on a day on which a platform was asked already."""
    assert older_may_run_from(facts(dispatch, running=running, begun_today=begun)) == expected


def test_an_older_system_that_ran_after_the_switch_wants_attention() -> None:
    """R44: its row of the day of the switch is expected, one of a later day is not."""
    on_the_day, later = date(2026, 11, 21), date(2026, 11, 22)

    def attention(dispatch: DispatchSwitch, *days: date) -> tuple[str, ...]:
        older = tuple(OlderRuns(day, "COMPANY_BOUND", 2) for day in days)
        return release_standing(facts(dispatch, older=older)).attention

    assert attention(ON, on_the_day) == ()
    assert attention(OFF, on_the_day, later) == ()
    assert attention(NEVER, later) == ()
    (said,) = attention(ON, later, on_the_day)
    assert "1 day(s)" in said and str(later) in said

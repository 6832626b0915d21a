"""A source's health: abnormal days in a row (R33)."""

from datetime import date, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.health import HealthMark, SourceHealth, health_mark

FIRST = date(2026, 12, 1)
BROKEN_AFTER = 3


def day(number: int) -> date:
    """The ``number``-th day, from 0."""
    return FIRST + timedelta(days=number)


def after(*marks: HealthMark) -> SourceHealth:
    """Health after one mark a day."""
    health = SourceHealth()
    for number, mark in enumerate(marks):
        health = health.after(mark, day(number), BROKEN_AFTER)
    return health


COUNT, RESET, IGNORE = HealthMark.COUNT, HealthMark.RESET, HealthMark.IGNORE


@pytest.mark.parametrize(
    ("status", "is_complete", "fetched"), list(product(CycleStatus, (False, True), (0, 1)))
)
def test_every_end_counts_resets_or_is_ignored(
    status: CycleStatus, is_complete: bool, fetched: int
) -> None:
    """R33: BUDGET_EXHAUSTED, incomplete SUCCESS and days without an end neither count nor reset."""
    expected = IGNORE
    if status.value == "FAILED" or (status.value == "SUCCESS" and is_complete and not fetched):
        expected = COUNT
    elif status.value == "SUCCESS" and is_complete:
        expected = RESET
    assert health_mark(status, is_complete=is_complete, fetched_count=fetched) is expected


def test_three_counted_days_in_a_row_break_a_source() -> None:
    """R33: broken from the third day on, since that day."""
    assert after(COUNT, COUNT).broken_since is None
    broken = after(COUNT, COUNT, COUNT)
    assert (broken.abnormal_days, broken.broken_since) == (3, day(2))
    assert after(COUNT, COUNT, COUNT, COUNT).broken_since == day(2)


def test_a_good_day_mends_a_broken_source() -> None:
    """R33: SUCCESS with postings resets."""
    health = after(COUNT, COUNT, COUNT, RESET)
    assert (health.abnormal_days, health.broken_since) == (0, None)
    assert after(COUNT, COUNT, RESET, COUNT, COUNT).broken_since is None


def test_ignored_days_neither_count_nor_reset() -> None:
    """R33: BUDGET_EXHAUSTED between abnormal days leaves the row of days whole."""
    assert after(COUNT, IGNORE, COUNT, IGNORE, COUNT).abnormal_days == 3
    assert after(IGNORE, IGNORE, IGNORE) == SourceHealth()
    assert after(COUNT, COUNT, COUNT, IGNORE).broken_since == day(2)


@pytest.mark.parametrize("mark", list(HealthMark))
@pytest.mark.parametrize("days_back", [0, 1, 30])
def test_an_older_or_equal_date_never_overwrites_a_newer_one(
    mark: HealthMark, days_back: int
) -> None:
    """R33: a late end of an older day, or the same day twice."""
    health = SourceHealth(2, day(40), None)
    assert health.after(mark, day(40 - days_back), BROKEN_AFTER) == health


@given(st.lists(st.sampled_from(HealthMark), max_size=30), st.integers(1, 5))
def test_abnormal_days_are_the_counted_days_since_the_last_good_one(
    marks: list[HealthMark], broken_after: int
) -> None:
    """R33, against a plain recount."""
    health = SourceHealth()
    for number, mark in enumerate(marks):
        health = health.after(mark, day(number), broken_after)
    last_reset = max((n for n, mark in enumerate(marks) if mark is RESET), default=-1)
    counted = [n for n, mark in enumerate(marks) if mark is COUNT and n > last_reset]
    assert health.abnormal_days == len(counted)
    expected = day(counted[broken_after - 1]) if len(counted) >= broken_after else None
    assert health.broken_since == expected

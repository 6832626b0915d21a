"""Korean days and instants (R15, R17, spec section 3)."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.kst import (
    KST,
    MAX_UTC_FOR_KST,
    end_of_kst_day,
    kst_text,
    naive_utc,
    run_date_of,
    utc_of_kst,
    utc_text,
)

instants = st.datetimes(min_value=datetime(1, 1, 2), max_value=MAX_UTC_FOR_KST)


@pytest.mark.parametrize(
    ("instant", "day"),
    [
        (datetime(2026, 12, 1, 14, 59, 59, 999_999), date(2026, 12, 1)),
        (datetime(2026, 12, 1, 15, 0), date(2026, 12, 2)),
        (datetime(2026, 12, 1, 14, 59, 59), date(2026, 12, 1)),
        (datetime(2026, 12, 31, 15, 0), date(2027, 1, 1)),
        (datetime(2028, 2, 28, 15, 0), date(2028, 2, 29)),
        (datetime(2026, 12, 1, 0, 0), date(2026, 12, 1)),
    ],
)
def test_the_run_date_changes_at_korean_midnight(instant: datetime, day: date) -> None:
    """R15: 23:59:59.999999 is still the day, 00:00 is the next."""
    assert run_date_of(instant) == day


def test_the_last_instant_of_the_calendar_is_a_korean_day_too() -> None:
    """Platforms write 9999-12-31 for "no deadline"."""
    assert run_date_of(MAX_UTC_FOR_KST) == date(9999, 12, 31)
    assert end_of_kst_day(date(9999, 12, 31)) <= MAX_UTC_FOR_KST
    assert kst_text(MAX_UTC_FOR_KST) == "9999-12-31T23:59:59.999999+09:00"
    far = naive_utc(datetime(9999, 12, 31, 23, 59, 59))
    assert (far, run_date_of(far)) == (datetime(9999, 12, 31, 14, 59, 59), date(9999, 12, 31))


def test_the_cutoff_is_midnight_in_utc() -> None:
    """R38: 09:00 KST."""
    assert utc_of_kst(date(2026, 12, 1), time(9, 0)) == datetime(2026, 12, 1, 0, 0)
    assert utc_of_kst(date(2026, 12, 1)) == datetime(2026, 11, 30, 15, 0)


def test_a_deadline_of_a_day_ends_with_its_last_second_in_korea() -> None:
    """platforms.md: "2026-10-31" means the end of that KST day."""
    end = end_of_kst_day(date(2026, 10, 31))
    assert end == datetime(2026, 10, 31, 14, 59, 59)
    assert run_date_of(end) == date(2026, 10, 31)
    assert run_date_of(end + timedelta(seconds=1)) == date(2026, 11, 1)


@given(instants)
def test_an_instant_lies_within_its_own_day(instant: datetime) -> None:
    """R15, R17."""
    begins = utc_of_kst(run_date_of(instant))
    assert begins <= instant < begins + timedelta(days=1)


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_a_moment_without_a_zone_is_korean_and_one_with_a_zone_keeps_it(moment: datetime) -> None:
    """platforms.md: platforms write KST without a zone."""
    assert naive_utc(moment) == moment - timedelta(hours=9)
    assert naive_utc(moment.replace(tzinfo=UTC)) == moment
    elsewhere = moment.replace(tzinfo=timezone(timedelta(hours=-5)))
    assert naive_utc(elsewhere) == moment + timedelta(hours=5)
    assert naive_utc(moment.replace(tzinfo=KST)).tzinfo is None


def test_texts_of_the_command_line_are_utc_and_of_the_api_korean() -> None:
    """Spec section 3: ``Z``; section 9: +09:00."""
    instant = datetime(2026, 12, 1, 15, 0, 0, 5)
    assert utc_text(instant) == "2026-12-01T15:00:00.000005Z"
    assert kst_text(instant) == "2026-12-02T00:00:00.000005+09:00"
    assert (utc_text(None), kst_text(None)) == (None, None)


@given(instants)
def test_both_texts_name_the_same_instant(instant: datetime) -> None:
    """Spec sections 3 and 9."""
    korean, universal = kst_text(instant), utc_text(instant)
    assert korean is not None
    assert universal is not None
    assert datetime.fromisoformat(korean) == datetime.fromisoformat(universal)
    assert naive_utc(datetime.fromisoformat(korean)) == instant

"""``Retry-After`` is a wait only when it clearly is one (R26)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.platforms.wire.retry_after import parse_retry_after

NOW = datetime(2026, 12, 1, 3, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("86400", 3600.0),
        ("999999999", 3600.0),
        ("Tue, 01 Dec 2026 03:00:40 GMT", 40.0),
        ("Tue, 01 Dec 2026 12:00:40 +0900", 40.0),
        ("Tuesday, 01-Dec-26 03:00:40 GMT", 40.0),
        ("Tue Dec  1 03:00:40 2026", 40.0),
        ("Wed, 02 Dec 2026 03:00:00 GMT", 3600.0),
    ],
)
def test_seconds_and_dates_are_waits_up_to_the_cap(value: str, seconds: float) -> None:
    """R26: both forms of the standard, all three date spellings, capped."""
    assert parse_retry_after({"Retry-After": value}, 3600, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "-1",
        "+5",
        "NaN",
        "nan",
        "inf",
        "1e3",
        "0x10",
        "soon",
        "5 seconds",
        "5, 6",
        "\u0663",
        "9" * 20,
        "9" * 400,
        "1764558040000",
        "Tue, 01 Dec 2026 02:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Tue, 41 Dec 2026 03:00:40 GMT",
        "Tue, 01 Foo 2026 03:00:40 GMT",
        "2026-12-01T03:00:40Z",
        "abc 00:00:00",
    ],
)
def test_nonsense_is_no_wish(value: str) -> None:
    """R26: what others read as NaN or as a negative wait must not reach the throttle."""
    assert parse_retry_after({"retry-after": value}, 3600, NOW) is None


def test_a_missing_header_is_no_wish() -> None:
    """R26."""
    assert parse_retry_after({"date": "Tue, 01 Dec 2026 03:00:00 GMT"}, 3600, NOW) is None


def test_a_date_counts_from_the_replys_own_date() -> None:
    """R26: the host's clock may be hours off ours; only the difference matters."""
    headers = {
        "Date": "Tue, 01 Dec 2026 09:00:00 GMT",
        "Retry-After": "Tue, 01 Dec 2026 09:00:30 GMT",
    }
    assert parse_retry_after(headers, 3600, NOW) == 30.0


def test_a_broken_date_of_the_reply_is_replaced_by_our_clock() -> None:
    """R26; naive times are UTC."""
    headers = {"Date": "yesterday", "Retry-After": "Tue, 01 Dec 2026 03:00:30 GMT"}
    assert parse_retry_after(headers, 3600, NOW.replace(tzinfo=None)) == 30.0


@given(st.text(max_size=60))
def test_whatever_a_host_writes_the_wait_is_within_bounds_or_none(value: str) -> None:
    """R26."""
    wait = parse_retry_after({"retry-after": value, "date": value}, 60, NOW)
    assert wait is None or 0 <= wait <= 60

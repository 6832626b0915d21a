"""``Retry-After``: seconds or an HTTP date, capped, and nonsense ignored (R26).

Real servers and clients have got this wrong in both directions: a date read as NaN, a negative
value that switched the throttle off. Whatever is not clearly a wait in the future is no wish.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

ABSURD_SECONDS = 100 * 365 * 86_400
"""A longer wish is a broken value (an epoch in milliseconds), not a wait to be capped."""
_SECONDS = re.compile(r"[0-9]{1,20}(\.[0-9]{1,9})?")
_HTTP_DATE = re.compile(r"[A-Za-z]{3,9},? .*[0-9]{2}:[0-9]{2}:[0-9]{2}.*", re.ASCII)


def parse_retry_after(
    headers: Mapping[str, str], cap_seconds: float, now_utc: datetime
) -> float | None:
    """Seconds to wait, 0 to ``cap_seconds``, or ``None`` when the header says nothing usable.

    A date counts from the reply's own ``Date`` where it has one, so that the two clocks need not
    agree, else from ``now_utc`` (naive means UTC). Header names are matched without case.
    """
    by_name = {name.lower(): value.strip() for name, value in headers.items()}
    text = by_name.get("retry-after", "")
    seconds = float(text) if _SECONDS.fullmatch(text) else _until(text, by_name, now_utc)
    if seconds is None or not 0 <= seconds <= ABSURD_SECONDS:
        return None
    return min(seconds, float(cap_seconds))


def _until(text: str, headers: Mapping[str, str], now_utc: datetime) -> float | None:
    moment = _http_date(text)
    if moment is None:
        return None
    start = _http_date(headers.get("date", "")) or _as_utc(now_utc)
    return (moment - start).total_seconds()


def _http_date(text: str) -> datetime | None:
    if not _HTTP_DATE.fullmatch(text):
        return None
    try:
        return _as_utc(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _as_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

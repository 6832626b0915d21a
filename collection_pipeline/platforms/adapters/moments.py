"""Instants and deadlines of the wires as naive UTC that a DATETIME column can hold.

Times without a zone are KST (platforms.md sections 1 to 3). A deadline that names only a day, or
midnight of a day, lasts until that day ends in Korea. A year from 9000 on means "no deadline":
9999-12-31 plus nine hours would leave the calendar.
"""

import re
from datetime import date, datetime, timedelta

from collection_pipeline.domain.kst import end_of_kst_day, naive_utc
from collection_pipeline.domain.posting import Deadline, DeadlineKind

FIRST_SENTINEL_YEAR = 9_000
FIRST_YEAR = 1_000
ALWAYS_OPEN = Deadline(DeadlineKind.ALWAYS_OPEN)
UNTIL_FILLED = Deadline(DeadlineKind.UNTIL_FILLED)

_EPOCH = datetime(1970, 1, 1)
_LAST_SECOND = (datetime.max - _EPOCH) // timedelta(seconds=1)
_FIRST_SENTINEL_SECOND = (datetime(FIRST_SENTINEL_YEAR, 1, 1) - _EPOCH) // timedelta(seconds=1)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)


def day_of(text: str) -> date | None:
    """The calendar day that ``text`` (``YYYY-MM-DD``) names, or ``None``."""
    if not _DAY.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def stated_moment(text: str) -> datetime | None:
    """``text`` as the wire says it, with its zone if it has one; ``T`` or a space between."""
    if not _MOMENT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-"))
    except ValueError:
        return None


def instant_of(text: str) -> datetime | None:
    """``text`` as naive UTC; a day alone is its KST midnight. ``None`` when it does not parse."""
    day = day_of(text)
    stated = stated_moment(text) if day is None else datetime.combine(day, datetime.min.time())
    return None if stated is None else _storable(stated)


def instant_of_epoch(count: int, *, per_second: int = 1) -> datetime | None:
    """``count`` seconds (or milliseconds, ``per_second=1000``) since 1970 as naive UTC."""
    try:
        instant = _EPOCH + timedelta(microseconds=count * (1_000_000 // per_second))
    except OverflowError:
        return None
    return instant if count > 0 and instant.year < FIRST_SENTINEL_YEAR else None


def deadline_of_epoch(seconds: int) -> Deadline | None:
    """The deadline at unix ``seconds``; milliseconds or nonsense are ``None``."""
    if _FIRST_SENTINEL_SECOND <= seconds <= _LAST_SECOND:
        return ALWAYS_OPEN
    instant = instant_of_epoch(seconds)
    return None if instant is None else Deadline(DeadlineKind.DATE, instant)


def deadline_of(text: str) -> Deadline | None:
    """The deadline that ``text`` states, or ``None`` when it does not parse."""
    day = day_of(text)
    stated = stated_moment(text) if day is None else None
    if stated is not None and stated.tzinfo is None and stated.time() == datetime.min.time():
        day = stated.date()
    if day is not None:
        return _until_end_of(day)
    if stated is None:
        return None
    if stated.year >= FIRST_SENTINEL_YEAR:
        return ALWAYS_OPEN
    instant = _storable(stated)
    return None if instant is None else Deadline(DeadlineKind.DATE, instant)


def _until_end_of(day: date) -> Deadline | None:
    if day.year >= FIRST_SENTINEL_YEAR:
        return ALWAYS_OPEN
    if day.year <= FIRST_YEAR:
        return None
    return Deadline(DeadlineKind.DATE, end_of_kst_day(day))


def _storable(stated: datetime) -> datetime | None:
    if not FIRST_YEAR < stated.year < FIRST_SENTINEL_YEAR:
        return None
    return naive_utc(stated)

"""Calendar days in Asia/Seoul and the time spellings of the platforms.

A run date is a KST calendar day; day 1 is the scenario's first run date. KST has no summer time,
so a fixed offset is exact.
"""

from datetime import UTC, date, datetime, time, timedelta, timezone

KST = timezone(timedelta(hours=9))
MINUTES_PER_DAY = 24 * 60


def kst_today() -> date:
    """Today's KST calendar day by this machine's clock."""
    return datetime.now(KST).date()


def day_number(run_date: date, first: date) -> int:
    """1 for the first run date; an earlier date counts as the first."""
    return max(1, (run_date - first).days + 1)


def kst_moment(first: date, minutes: int) -> datetime:
    """The moment `minutes` after 00:00 KST of the first run date (may be negative)."""
    return datetime.combine(first, time(), KST) + timedelta(minutes=minutes)


def end_of_day(day: date) -> datetime:
    """23:59:59 KST, which is how Saramin and Jumpit spell a deadline."""
    return datetime.combine(day, time(23, 59, 59), KST)


def unix_text(moment: datetime) -> str:
    """Unix seconds as text (Saramin's `*-timestamp`)."""
    return str(int(moment.timestamp()))


def unix_ms(moment: datetime) -> int:
    """Unix milliseconds (Lever's `createdAt`)."""
    return int(moment.timestamp() * 1000)


def compact_offset(moment: datetime) -> str:
    """`2022-01-26T14:15:50+0900` (Saramin's `*-date`, no colon in the offset)."""
    return moment.astimezone(KST).strftime("%Y-%m-%dT%H:%M:%S%z")


def us_east(moment: datetime) -> str:
    """`2026-07-17T08:48:22-04:00` (Greenhouse): -04:00 from April to October, else -05:00."""
    hours = -4 if 4 <= moment.astimezone(UTC).month <= 10 else -5
    return moment.astimezone(timezone(timedelta(hours=hours))).isoformat(timespec="seconds")

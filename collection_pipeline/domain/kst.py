"""Days and instants in Asia/Seoul, which has no daylight saving time (R15, R17).

Instants inside the project are naive UTC datetimes, as MySQL's ``DATETIME(6)`` hands them out;
only this module turns them into Korean calendar days and back.
"""

from datetime import UTC, date, datetime, time, timedelta, timezone

KST = timezone(timedelta(hours=9), "KST")
KST_OFFSET = timedelta(hours=9)
MAX_UTC_FOR_KST = datetime(9999, 12, 31, 14, 59, 59, 999999)


def run_date_of(instant: datetime) -> date:
    """The KST calendar day of a naive UTC ``instant``."""
    return (instant + KST_OFFSET).date()


def utc_of_kst(day: date, at: time = time.min) -> datetime:
    """The naive UTC instant of ``at`` o'clock KST on ``day``."""
    return datetime.combine(day, at) - KST_OFFSET


def end_of_kst_day(day: date) -> datetime:
    """The last second of ``day`` in KST as naive UTC: what "deadline: that day" means in Korea."""
    return utc_of_kst(day, time(23, 59, 59))


def naive_utc(moment: datetime) -> datetime:
    """``moment`` as naive UTC; a moment without a zone is KST, as platforms write it."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=KST)
    return aware.astimezone(UTC).replace(tzinfo=None)


def utc_text(instant: datetime | None) -> str | None:
    """ISO 8601 in UTC with ``Z``, as the command line prints it (spec section 3)."""
    return None if instant is None else instant.isoformat() + "Z"


def kst_text(instant: datetime | None) -> str | None:
    """ISO 8601 with +09:00, as the operations API prints it (spec section 9)."""
    if instant is None:
        return None
    return instant.replace(tzinfo=UTC).astimezone(KST).isoformat()

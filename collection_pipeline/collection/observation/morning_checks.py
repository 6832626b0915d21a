"""Is the morning known, and was it known before it was told (R38, R40, R45)?"""

from datetime import date, datetime, time, timedelta

from collection_pipeline.collection.observation.observed import (
    Asked,
    Observation,
    alarm_if,
    some,
)
from collection_pipeline.domain.kst import kst_text, run_date_of, utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus, CaptureWindow, SnapshotHeader
from collection_pipeline.store.snapshots import SlaSnapshots
from collection_pipeline.store.views.observed import told_too_early

CAPTURED = "snapshot_captured"
BEFORE_NOTIFICATION = "snapshot_before_notification"
DAYS_LOOKED_AT = timedelta(days=7)


def captured_observation(header: SnapshotHeader, *, is_overdue: bool = False) -> Observation:
    """MISSED fails, and a header that is PENDING although its time has passed (``is_overdue``)."""
    status, day = header.status, header.snapshot_date
    texts = {
        CaptureStatus.CAPTURED: f"{day} was captured at {kst_text(header.captured_at)}",
        CaptureStatus.NOT_APPLICABLE: f"{day} had nothing to capture: {header.miss_reason}",
        CaptureStatus.MISSED: f"{day} was missed: {header.miss_reason}",
    }
    waiting = "is still PENDING after its time" if is_overdue else "is being captured"
    return alarm_if(
        status is CaptureStatus.MISSED or is_overdue,
        CAPTURED,
        texts.get(status, f"{day} {waiting}"),
        {"snapshot_date": day.isoformat(), "capture_status": status.value},
    )


def snapshot_captured(asked: Asked) -> Observation:
    """About the newest morning whose cutoff has passed by the database's clock."""
    day = _newest_due_day(asked.now, asked.settings.sla_cutoff)
    header = SlaSnapshots().newest_until(asked.connection, day)
    numbers: dict[str, str | int | float] = {"snapshot_date": day.isoformat()}
    if header is None:
        words = f"no cutoff has passed since the first header was made; the last was {day}'s"
        return alarm_if(False, CAPTURED, words, numbers)
    if header.snapshot_date < day:
        words = f"{day} has no header: nothing of the pipeline ran on the day before, nor since"
        return alarm_if(True, CAPTURED, words, numbers)
    window = CaptureWindow(
        header.scheduled_at,
        asked.settings["SLA_CAPTURE_TOLERANCE_SECONDS"],
        asked.settings["SLA_LATE_START_SECONDS"],
    )
    is_overdue = not header.status.is_final and window.is_overdue(asked.now)
    return captured_observation(header, is_overdue=is_overdue)


def snapshot_before_notification(asked: Asked) -> Observation:
    """A morning that was told before it was final may have been told wrong."""
    days = told_too_early(asked.connection, asked.today - DAYS_LOOKED_AT)
    words = "every morning of the last week was final before it was told"
    if days:
        words = f"told without a final snapshot: {some(days)}"
    numbers = {"days_told_too_early": len(days), "days_looked_at": DAYS_LOOKED_AT.days}
    return alarm_if(bool(days), BEFORE_NOTIFICATION, words, numbers)


def _newest_due_day(now: datetime, cutoff: time) -> date:
    today = run_date_of(now)
    return today if utc_of_kst(today, cutoff) <= now else today - timedelta(days=1)

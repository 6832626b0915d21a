"""The other messages: no snapshot, broken sources, old seen rows, a failed run (R31, R33, R40).

Each says what happened, what it means, and where to look, in that order.
"""

from collections.abc import Sequence
from datetime import date

from collection_pipeline.domain.kst import utc_text
from collection_pipeline.domain.notification import (
    LABEL_MAX_CHARS,
    SEEN_ROWS_OLD,
    SNAPSHOT_MISSED,
    Notification,
    Severity,
    plain_text,
    run_failed_kind,
)
from collection_pipeline.domain.snapshot import SnapshotHeader
from collection_pipeline.notification.phrases import counted, day_words, kst_clock, source_words
from collection_pipeline.store.broken_sources import BrokenSource

MOST_BROKEN_SHOWN = 50
REASON_MAX_CHARS = 300
MESSAGE_MAX_CHARS = 300
NAME_MAX_CHARS = 100


def snapshot_missed(header: SnapshotHeader) -> Notification:
    """The incident of a MISSED header, with its reason."""
    reason = plain_text(header.miss_reason or "", REASON_MAX_CHARS) or "not recorded"
    when = f"{kst_clock(header.scheduled_at)} KST, {day_words(header.snapshot_date)}"
    return Notification(
        SNAPSHOT_MISSED,
        header.snapshot_date,
        Severity.INCIDENT,
        f"No collection snapshot at {when}",
        (
            f"Why: {reason}",
            "How many sources were late that morning is unknown and stays unknown: nothing is "
            "reconstructed afterwards. Collection itself goes on.",
        ),
        {
            "snapshot_date": header.snapshot_date.isoformat(),
            "capture_status": header.status.value,
            "scheduled_at": utc_text(header.scheduled_at),
            "miss_reason": reason,
            "late_before_notification_count": None,
        },
    )


def sources_broken(kind: str, day: date, sources: Sequence[BrokenSource]) -> Notification:
    """Sources that broke since the last such message; ``kind`` numbers it within the day."""
    shown = sources[:MOST_BROKEN_SHOWN]
    left = len(sources) - len(shown)
    lines = [
        f"- {source_words(one.label, one.platform, one.job_source_id)}: "
        f"{counted(one.abnormal_days, 'abnormal day')} in a row"
        for one in shown
    ]
    if left:
        lines.append(f"- and {left:,} more")
    lines.append(
        "Abnormal means failed, or ended without a single posting. "
        "Each is told again only after it has recovered and broken anew."
    )
    return Notification(
        kind,
        day,
        Severity.WARNING,
        f"{counted(len(sources), 'job source')} newly broken, {day_words(day)}",
        tuple(lines),
        {
            "broken_count": len(sources),
            "sources": [
                {
                    "job_source_id": one.job_source_id,
                    "source_label": plain_text(one.label, LABEL_MAX_CHARS),
                    "platform": one.platform,
                    "broken_since": one.broken_since.isoformat(),
                    "abnormal_days": one.abnormal_days,
                }
                for one in shown
            ],
            "sources_left_out": left,
        },
    )


def seen_rows_old(day: date, left_over: int, retention_hours: int) -> Notification:
    """Rows that the cleanup should have removed and did not."""
    return Notification(
        SEEN_ROWS_OLD,
        day,
        Severity.WARNING,
        f"{counted(left_over, 'seen row')} older than {retention_hours} hours, {day_words(day)}",
        (
            "The last cleanup should have removed them and did not. "
            "`collection-pipeline cleanup` runs it again and says what is left.",
        ),
        {"seen_rows_older_than_48_hours": left_over, "retention_hours": retention_hours},
    )


def run_failed(
    day: date, job_name: str, run_id: str, message: str, dagster_ui_url: str | None
) -> Notification:
    """A Dagster run that failed; ``message`` comes redacted."""
    name, run = plain_text(job_name, NAME_MAX_CHARS), plain_text(run_id, NAME_MAX_CHARS)
    said = plain_text(message, MESSAGE_MAX_CHARS)
    link = f"{dagster_ui_url}/runs/{run}" if dagster_ui_url else None
    return Notification(
        run_failed_kind(job_name),
        day,
        Severity.WARNING,
        f"Dagster job {name} failed, {day_words(day)}",
        (
            f"Why: {said or 'not said'}",
            f"Run: {link or run}",
            "Further failures of this job on this day are not told.",
        ),
        {"job_name": name, "run_id": run, "message": said, "run_url": link},
    )

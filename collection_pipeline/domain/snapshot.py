"""The 09:00 snapshot as values: header, items, and the count that R42 makes of them.

A header ends CAPTURED, MISSED or NOT_APPLICABLE and never changes again (R39). Items are the states
at the cutoff; nothing here looks at a cycle.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from collection_pipeline.domain.cycle_status import CycleStatus

CAPTURE_LEAD_SECONDS = 1.0
"""How long before the cutoff the gate is asked for (R38)."""
EARLIEST_START = timedelta(minutes=5)
"""A capture that is started longer ahead of its cutoff ends at once instead of waiting."""
SETTLING_SECONDS = 1.0
"""How long after the tolerance recovery leaves a capture that is just committing alone."""


class CaptureStatus(StrEnum):
    """``UNAVAILABLE`` is what a reader says of a day without a header; it is never stored."""

    PENDING = "PENDING"
    CAPTURED = "CAPTURED"
    MISSED = "MISSED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    UNAVAILABLE = "UNAVAILABLE"

    @property
    def is_final(self) -> bool:
        """A header in this state never changes."""
        return self in FINAL_STATUSES


FINAL_STATUSES = frozenset(
    {CaptureStatus.CAPTURED, CaptureStatus.MISSED, CaptureStatus.NOT_APPLICABLE}
)
LATE_STATUSES = frozenset(CycleStatus) - {CycleStatus.SUCCESS}
"""A source in one of these at the cutoff was late before the notification (R42)."""


@dataclass(frozen=True)
class SnapshotItem:
    """One source at the cutoff. ``reason``: the failure, or the budget that was used up.

    ``platform``, ``source_type`` and ``reason`` are ``None`` in items of older releases.
    """

    job_source_id: int
    source_label: str
    cycle_status: CycleStatus
    is_complete: bool
    fetched_count: int
    list_page_count: int
    detail_request_count: int
    abnormal: bool
    close_guarded: bool
    platform: str | None = None
    source_type: str | None = None
    reason: str | None = None

    @property
    def is_late(self) -> bool:
        """Not ended well by the cutoff."""
        return self.cycle_status in LATE_STATUSES

    @property
    def is_incomplete(self) -> bool:
        """SUCCESS short of the platform's own total (R23a)."""
        return self.cycle_status is CycleStatus.SUCCESS and not self.is_complete


@dataclass(frozen=True)
class SnapshotHeader:
    """One day's header; instants are naive UTC. ``snapshot_id`` is 0 where there is no row."""

    snapshot_id: int
    snapshot_date: date
    scheduled_at: datetime
    status: CaptureStatus
    captured_at: datetime | None = None
    miss_reason: str | None = None


@dataclass(frozen=True)
class CaptureWindow:
    """The instants of one day's capture (R38); naive UTC, durations in seconds."""

    scheduled_at: datetime
    tolerance_seconds: float
    late_start_seconds: float

    @property
    def earliest_start(self) -> datetime:
        """From here on a capturing run waits for its cutoff."""
        return self.scheduled_at - EARLIEST_START

    @property
    def asks_from(self) -> datetime:
        """The gate is not asked for before this: writers wait from then on."""
        return self.scheduled_at - timedelta(seconds=CAPTURE_LEAD_SECONDS)

    @property
    def latest_ask_seconds(self) -> float:
        """After the cutoff; a grant that comes at once must still be within the tolerance."""
        return min(self.late_start_seconds, self.tolerance_seconds)

    def is_late_to_ask(self, instant: datetime) -> bool:
        """Whether writes of after the cutoff may have come between: no capture any more."""
        return instant > self.scheduled_at + timedelta(seconds=self.latest_ask_seconds)

    def is_late_to_capture(self, instant: datetime) -> bool:
        """Whether a gate that is granted now is granted beyond the tolerance."""
        return instant > self.scheduled_at + timedelta(seconds=self.tolerance_seconds)

    def is_overdue(self, instant: datetime) -> bool:
        """Whether nobody can capture any more, so that recovery makes the header final."""
        settled = timedelta(seconds=self.tolerance_seconds + SETTLING_SECONDS)
        return instant > self.scheduled_at + settled


def late_count(status: CaptureStatus, items: Iterable[SnapshotItem]) -> int | None:
    """``lateBeforeNotificationCount``: counted if CAPTURED, 0 if PENDING, else ``None`` (R42)."""
    if status is CaptureStatus.CAPTURED:
        return sum(item.is_late for item in items)
    return 0 if status is CaptureStatus.PENDING else None

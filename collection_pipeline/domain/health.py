"""A source's health: days in a row on which its collection was abnormal (R33)."""

from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from typing import Self

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal


class HealthMark(StrEnum):
    """What one ended cycle says about its source."""

    COUNT = "COUNT"
    RESET = "RESET"
    IGNORE = "IGNORE"


def health_mark(status: CycleStatus, *, is_complete: bool, fetched_count: int) -> HealthMark:
    """FAILED and complete-zero count, complete SUCCESS with postings resets, else ignored."""
    if is_abnormal(status, is_complete=is_complete, fetched_count=fetched_count):
        return HealthMark.COUNT
    if status is CycleStatus.SUCCESS and is_complete:
        return HealthMark.RESET
    return HealthMark.IGNORE


@dataclass(frozen=True)
class SourceHealth:
    """``abnormal_days`` in a row up to ``judged_date``; broken from ``broken_after`` days on."""

    abnormal_days: int = 0
    judged_date: date | None = None
    broken_since: date | None = None

    def after(self, mark: HealthMark, run_date: date, broken_after: int) -> Self:
        """The health after a cycle of ``run_date``; an older or equal date changes nothing."""
        if mark is HealthMark.IGNORE:
            return self
        if self.judged_date is not None and run_date <= self.judged_date:
            return self
        days = 0 if mark is HealthMark.RESET else self.abnormal_days + 1
        broken_since = None if days < broken_after else self.broken_since or run_date
        return replace(self, abnormal_days=days, judged_date=run_date, broken_since=broken_since)

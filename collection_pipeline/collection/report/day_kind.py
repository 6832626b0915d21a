"""What a past day of a source can teach about its budget.

Invariant: only a day that may close postings shows what a whole day needs (R32); a day that ran out
of budget shows it where its platform stated a total. All others say how little it cannot be.
"""

from enum import StrEnum
from functools import cache

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_safe_to_apply_missed_delta


class DayKind(StrEnum):
    """How a source's day ended, as the report counts it."""

    COMPLETE = "complete"
    EXHAUSTED = "exhausted"
    INCOMPLETE = "incomplete"
    EMPTY = "empty"
    FAILED = "failed"
    UNFINISHED = "unfinished"


KINDS = [kind.value for kind in DayKind]
UNUSABLE_KINDS = [
    DayKind.INCOMPLETE.value,
    DayKind.EMPTY.value,
    DayKind.FAILED.value,
    DayKind.UNFINISHED.value,
]
"""Such a day fell short of the list, or found nothing: its counts are no measure of a need."""


@cache
def kind_of_day(status: str, is_complete: bool, has_postings: bool) -> str:
    """The kind of a day that is over; a status of a newer release counts as unfinished."""
    try:
        known = CycleStatus(status)
    except ValueError:
        return DayKind.UNFINISHED.value
    if is_safe_to_apply_missed_delta(
        known, is_complete=is_complete, fetched_count=int(has_postings)
    ):
        return DayKind.COMPLETE.value
    if known is CycleStatus.SUCCESS:
        return (DayKind.EMPTY if is_complete else DayKind.INCOMPLETE).value
    if known is CycleStatus.BUDGET_EXHAUSTED:
        return DayKind.EXHAUSTED.value
    return (DayKind.FAILED if known is CycleStatus.FAILED else DayKind.UNFINISHED).value

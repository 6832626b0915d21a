"""The truth table of a cycle: may it close postings, was its day abnormal (R7, R8, R32, R41).

``is_safe_to_apply_missed_delta`` is the only door to marking postings missed or closed. The
operations API and, where SQL needs them, generated expressions read the same table.
"""

from dataclasses import dataclass
from itertools import product

from collection_pipeline.domain.cycle_status import CycleStatus


def is_safe_to_apply_missed_delta(
    status: CycleStatus, *, is_complete: bool, fetched_count: int
) -> bool:
    """The safe close predicate: SUCCESS, complete, and more than zero postings (R32)."""
    return status is CycleStatus.SUCCESS and is_complete and fetched_count > 0


def is_abnormal(status: CycleStatus, *, is_complete: bool, fetched_count: int) -> bool:
    """True only for FAILED and for a complete SUCCESS without a posting (R41)."""
    if status is CycleStatus.FAILED:
        return True
    return status is CycleStatus.SUCCESS and is_complete and fetched_count == 0


def is_close_guarded(status: CycleStatus, *, is_complete: bool, fetched_count: int) -> bool:
    """False only where the safe close predicate holds (R41)."""
    return not is_safe_to_apply_missed_delta(
        status, is_complete=is_complete, fetched_count=fetched_count
    )


@dataclass(frozen=True)
class Judgement:
    """One line of the truth table; ``fetched`` says whether more than zero postings were kept."""

    status: CycleStatus
    is_complete: bool
    fetched: bool
    abnormal: bool
    close_guarded: bool


def truth_table() -> list[Judgement]:
    """Every combination of status, completeness and "fetched anything", judged."""
    return [
        Judgement(
            status,
            complete,
            fetched,
            is_abnormal(status, is_complete=complete, fetched_count=int(fetched)),
            is_close_guarded(status, is_complete=complete, fetched_count=int(fetched)),
        )
        for status, complete, fetched in product(CycleStatus, (False, True), (False, True))
    ]

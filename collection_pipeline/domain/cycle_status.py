"""The six states of a cycle (spec section 4)."""

from enum import StrEnum


class CycleStatus(StrEnum):
    """NOT_STARTED, PENDING and RUNNING go on; the other three are terminal (R12)."""

    NOT_STARTED = "NOT_STARTED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"

    @property
    def is_terminal(self) -> bool:
        """True for SUCCESS, FAILED and BUDGET_EXHAUSTED."""
        return self in TERMINAL_STATUSES


TERMINAL_STATUSES = frozenset(
    {CycleStatus.SUCCESS, CycleStatus.FAILED, CycleStatus.BUDGET_EXHAUSTED}
)

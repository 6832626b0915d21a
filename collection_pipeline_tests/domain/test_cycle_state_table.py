"""Every state x event of the state table, legal and illegal (spec section 4, R1 to R12)."""

from collections.abc import Callable
from itertools import product

import pytest

from collection_pipeline.domain.cycle import IllegalTransition
from collection_pipeline.domain.cycle_status import TERMINAL_STATUSES, CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline_tests.kit.cycle_cases import (
    FAILURE,
    LATER,
    NOW,
    TOKEN,
    Cycle,
    cycle_in,
    slice_complete,
    slice_end,
    slice_exhausted,
    slice_failed,
)

EVENTS: dict[str, Callable[[Cycle], Cycle]] = {
    "prepare": lambda cycle: cycle.prepare("jobs.example", NOW),
    "reject": lambda cycle: cycle.reject(FAILURE, NOW),
    "claim": lambda cycle: cycle.claim("fresh", "worker", LATER, NOW),
    "renew": lambda cycle: cycle.renew_lease(TOKEN, LATER, NOW),
    "slice end": slice_end,
    "slice complete": slice_complete,
    "slice exhausted": slice_exhausted,
    "slice failed": slice_failed,
    "complete": lambda cycle: cycle.complete(0.01, NOW),
    "exhaust": lambda cycle: cycle.exhaust_budget(CollectionBudgetLimit.POSTINGS, NOW),
    "fail": lambda cycle: cycle.fail(FAILURE, TOKEN, NOW),
    "recover": lambda cycle: cycle.recover_expired(LATER),
}
RUNNING = CycleStatus.RUNNING
TABLE: dict[tuple[CycleStatus, str], CycleStatus] = {
    (CycleStatus.NOT_STARTED, "prepare"): CycleStatus.PENDING,
    (CycleStatus.NOT_STARTED, "reject"): CycleStatus.FAILED,
    # A condition that was spoilt after preparation is bad configuration too (R2, R23b).
    (CycleStatus.PENDING, "reject"): CycleStatus.FAILED,
    (CycleStatus.PENDING, "claim"): CycleStatus.RUNNING,
    (RUNNING, "renew"): CycleStatus.RUNNING,
    (RUNNING, "slice end"): CycleStatus.PENDING,
    (RUNNING, "slice complete"): CycleStatus.SUCCESS,
    (RUNNING, "slice exhausted"): CycleStatus.BUDGET_EXHAUSTED,
    (RUNNING, "slice failed"): CycleStatus.FAILED,
    (RUNNING, "complete"): CycleStatus.SUCCESS,
    (RUNNING, "exhaust"): CycleStatus.BUDGET_EXHAUSTED,
    (RUNNING, "fail"): CycleStatus.FAILED,
    (RUNNING, "recover"): CycleStatus.FAILED,
}


@pytest.mark.parametrize(("status", "event"), sorted(product(CycleStatus, EVENTS)))
def test_every_state_and_event_follows_the_table_or_is_illegal(
    status: CycleStatus, event: str
) -> None:
    """R1 to R12: 6 states x 12 events; an entry that the table lacks raises."""
    cycle = cycle_in(status)
    expected = TABLE.get((status, event))
    if expected is None:
        with pytest.raises(IllegalTransition):
            EVENTS[event](cycle)
        return
    assert EVENTS[event](cycle).status is expected


@pytest.mark.parametrize("status", sorted(TERMINAL_STATUSES))
@pytest.mark.parametrize("event", sorted(EVENTS))
def test_a_terminal_cycle_never_changes(status: CycleStatus, event: str) -> None:
    """R12."""
    cycle = cycle_in(status)
    with pytest.raises(IllegalTransition):
        EVENTS[event](cycle)
    assert cycle == cycle_in(status)


def test_exactly_three_states_are_terminal() -> None:
    """R12, spec section 4."""
    terminal = {status for status in CycleStatus if status.is_terminal}
    assert terminal == {CycleStatus.SUCCESS, CycleStatus.FAILED, CycleStatus.BUDGET_EXHAUSTED}

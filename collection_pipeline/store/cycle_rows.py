"""A cycle's row and its domain value, both ways."""

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailureReason
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.store.schema.cycles import cycles

_OF_WAITING = (
    "status",
    "request_host",
    "next_eligible_at",
    "failure_reason",
    "failure_detail",
    "finished_at",
)
_STEPS = {
    CycleStatus.NOT_STARTED: {CycleStatus.NOT_STARTED, CycleStatus.PENDING, CycleStatus.FAILED},
    CycleStatus.PENDING: {CycleStatus.PENDING, CycleStatus.FAILED},
}


def cycle_of_row(row: Row[Any]) -> JobPostingCollectionCycle:
    """The cycle in a row that holds all columns of the cycles table."""
    return JobPostingCollectionCycle(
        id=row.id,
        job_source_id=row.job_source_id,
        run_date=row.run_date,
        status=CycleStatus(row.cycle_status),
        cursor=row.continuation_cursor,
        lease_token=row.lease_token,
        lease_until=row.lease_until,
        lease_owner=row.lease_owner,
        next_eligible_at=row.next_eligible_at,
        request_host=row.request_host,
        attempt_count=row.attempt_count,
        list_page_count=row.list_page_count,
        fetched_count=row.fetched_count,
        new_count=row.new_count,
        updated_count=row.updated_count,
        missed_count=row.missed_count,
        closed_count=row.closed_count,
        detail_request_count=row.detail_request_count,
        detail_failure_count=row.detail_failure_count,
        is_complete=bool(row.is_complete),
        stated_total=row.stated_total,
        progress=CollectionProgress.decoded(row.progress),
        budget_exhausted_reason=_limit(row.budget_exhausted_reason),
        failure_reason=_reason(row.failure_reason),
        failure_detail=row.failure_detail,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def values_of_cycle(cycle: JobPostingCollectionCycle) -> dict[str, object]:
    """The columns that transitions change, by name."""
    return {
        "cycle_status": cycle.status.value,
        "continuation_cursor": cycle.cursor,
        "lease_token": cycle.lease_token,
        "lease_until": cycle.lease_until,
        "lease_owner": cycle.lease_owner,
        "next_eligible_at": cycle.next_eligible_at,
        "request_host": cycle.request_host,
        "attempt_count": cycle.attempt_count,
        "list_page_count": cycle.list_page_count,
        "fetched_count": cycle.fetched_count,
        "new_count": cycle.new_count,
        "updated_count": cycle.updated_count,
        "missed_count": cycle.missed_count,
        "closed_count": cycle.closed_count,
        "detail_request_count": cycle.detail_request_count,
        "detail_failure_count": cycle.detail_failure_count,
        "is_complete": int(cycle.is_complete),
        "stated_total": cycle.stated_total,
        "progress": cycle.progress.encoded(),
        "budget_exhausted_reason": cycle.budget_exhausted_reason,
        "failure_reason": cycle.failure_reason,
        "failure_detail": cycle.failure_detail,
        "started_at": cycle.started_at,
        "finished_at": cycle.finished_at,
    }


def lock_cycle(connection: Connection, cycle_id: int) -> JobPostingCollectionCycle | None:
    """The cycle under its row's exclusive lock; the caller holds the gate already (R13)."""
    statement = select(cycles).where(cycles.c.id == cycle_id).with_for_update()
    row = connection.execute(statement).one_or_none()
    return None if row is None else cycle_of_row(row)


def lock_leased_cycle(
    connection: Connection, cycle_id: int, token: str
) -> JobPostingCollectionCycle | None:
    """The fence (R14): the cycle that is RUNNING under this very token, locked; else ``None``."""
    statement = (
        select(cycles)
        .where(
            cycles.c.id == cycle_id,
            cycles.c.lease_token == token,
            cycles.c.cycle_status == CycleStatus.RUNNING.value,
        )
        .with_for_update()
    )
    row = connection.execute(statement).one_or_none()
    return None if row is None else cycle_of_row(row)


def may_be_saved_over(
    changed: JobPostingCollectionCycle, stored: JobPostingCollectionCycle
) -> bool:
    """Whether ``changed`` differs from a waiting cycle only by what waiting may change (R1, R2).

    False for a copy that was read before the cycle went on: it would undo what came since.
    """
    if stored.status not in _STEPS or changed.status not in _STEPS[stored.status]:
        return False
    return replace(changed, **{name: getattr(stored, name) for name in _OF_WAITING}) == stored


def _limit(value: str | None) -> CollectionBudgetLimit | None:
    return None if value is None else CollectionBudgetLimit(value)


def _reason(value: str | None) -> CollectionFailureReason | None:
    return None if value is None else CollectionFailureReason(value)

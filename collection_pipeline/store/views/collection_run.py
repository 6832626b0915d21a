"""One row of the collection history: a cycle, or a run of an older system (spec section 9).

What a cycle is judged to be comes from the domain's truth table (R41); history that is older than
cycles has no such judgement, so its added facts are ``None``.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Row

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded

RUN_STATUS = {
    CycleStatus.SUCCESS: "SUCCESS",
    CycleStatus.BUDGET_EXHAUSTED: "SUCCESS",
    CycleStatus.FAILED: "FAILED",
}
"""For readers who know no cycles: a protective end is no failure; in progress is ``None``."""


@dataclass(frozen=True)
class RunKey:
    """What a row is known by."""

    run_date: date
    job_source_id: int

    @property
    def place(self) -> tuple[int, int]:
        """Sorts newest day first, then by source."""
        return -self.run_date.toordinal(), self.job_source_id


@dataclass(frozen=True)
class CycleState:
    """What only a cycle has; instants are naive UTC."""

    status: CycleStatus
    is_complete: bool
    list_page_count: int
    detail_request_count: int
    attempt_count: int
    next_eligible_at: datetime | None
    lease_until: datetime | None
    continuation_pending: bool
    abnormal: bool
    close_guarded: bool


@dataclass(frozen=True)
class CollectionRun:
    """``run_id``: the row of ``job_posting_collection_runs``, which a cycle has once it ended.

    Label, platform and type are ``None`` where the source's row is gone.
    """

    key: RunKey
    run_id: int | None
    source_label: str | None
    platform: str | None
    source_type: str | None
    run_status: str | None
    fetched_count: int
    new_count: int
    updated_count: int
    missed_count: int
    closed_count: int
    detail_failure_count: int
    failure_reason: str | None
    started_at: datetime | None
    finished_at: datetime | None
    cycle: CycleState | None

    @property
    def status(self) -> CycleStatus | None:
        """The cycle's status; of older history the status that its run status stands for."""
        if self.cycle is not None:
            return self.cycle.status
        return None if self.run_status is None else CycleStatus(self.run_status)


def run_of_cycle(row: Row[Any], today: date) -> CollectionRun:
    """A row of cycles with ``run_id`` and the source's columns; ``today`` is the KST day."""
    status = CycleStatus(row.cycle_status)
    judged = {"is_complete": bool(row.is_complete), "fetched_count": row.fetched_count}
    goes_on = status is CycleStatus.PENDING and row.continuation_cursor is not None
    state = CycleState(
        status=status,
        is_complete=bool(row.is_complete),
        list_page_count=row.list_page_count,
        detail_request_count=row.detail_request_count,
        attempt_count=row.attempt_count,
        next_eligible_at=row.next_eligible_at,
        lease_until=row.lease_until,
        continuation_pending=goes_on and row.run_date == today,
        abnormal=is_abnormal(status, **judged),
        close_guarded=is_close_guarded(status, **judged),
    )
    return _run(row, row.run_id, RUN_STATUS.get(status), state)


def run_without_cycle(row: Row[Any]) -> CollectionRun:
    """A row of runs with the source's columns. A run status of no known system is ``None``."""
    known = row.run_status if row.run_status in RUN_STATUS.values() else None
    return _run(row, row.id, known, None)


def _run(
    row: Row[Any], run_id: int | None, run_status: str | None, cycle: CycleState | None
) -> CollectionRun:
    return CollectionRun(
        key=RunKey(row.run_date, row.job_source_id),
        run_id=run_id,
        source_label=row.label,
        platform=row.platform,
        source_type=row.source_type,
        run_status=run_status,
        fetched_count=row.fetched_count,
        new_count=row.new_count,
        updated_count=row.updated_count,
        missed_count=row.missed_count,
        closed_count=row.closed_count,
        detail_failure_count=row.detail_failure_count,
        failure_reason=row.failure_reason,
        started_at=row.started_at,
        finished_at=row.finished_at,
        cycle=cycle,
    )

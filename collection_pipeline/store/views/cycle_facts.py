"""What a person is shown of one cycle, of one source, and of a source's place in a snapshot.

Rows that an operator wrote by hand (a condition that is no JSON, an unknown platform) must still be
shown, so nothing here is parsed that need not be.
"""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, RowMapping, func, select

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded
from collection_pipeline.domain.source import BudgetOverrides
from collection_pipeline.store.schema.cycles import cycles, slices

CYCLE_FACTS = (
    cycles.c.id.label("cycle_id"),
    cycles.c.run_date,
    cycles.c.cycle_status,
    cycles.c.is_complete,
    cycles.c.attempt_count,
    cycles.c.list_page_count,
    cycles.c.fetched_count,
    cycles.c.new_count,
    cycles.c.updated_count,
    cycles.c.missed_count,
    cycles.c.closed_count,
    cycles.c.detail_request_count,
    cycles.c.detail_failure_count,
    cycles.c.stated_total,
    cycles.c.budget_exhausted_reason,
    cycles.c.failure_reason,
    cycles.c.failure_detail,
    cycles.c.next_eligible_at,
    cycles.c.lease_until,
    cycles.c.lease_owner,
    cycles.c.request_host,
    cycles.c.started_at,
    cycles.c.finished_at,
)
"""The columns that ``cycle_facts`` reads."""


@dataclass(frozen=True)
class SourceFacts:
    """A row of ``job_sources`` with its health; ``broken_since`` is a run date (R33)."""

    id: int
    label: str
    platform: str
    source_type: str
    active: bool
    overrides: BudgetOverrides
    detail_mode: str
    abnormal_days: int
    broken_since: date | None


@dataclass(frozen=True)
class CycleFacts:
    """A cycle as stored; instants are naive UTC. ``reason``: the failure or the budget used up."""

    id: int
    run_date: date
    status: CycleStatus
    is_complete: bool
    slice_count: int
    used: BudgetUse
    new_count: int
    updated_count: int
    missed_count: int
    closed_count: int
    detail_failure_count: int
    stated_total: int | None
    reason: str | None
    detail: str | None
    next_eligible_at: datetime | None
    lease_until: datetime | None
    lease_owner: str | None
    host: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def abnormal(self) -> bool:
        """By the domain's truth table (R41)."""
        return is_abnormal(
            self.status, is_complete=self.is_complete, fetched_count=self.used.postings
        )

    @property
    def close_guarded(self) -> bool:
        """By the domain's truth table (R41)."""
        return is_close_guarded(
            self.status, is_complete=self.is_complete, fetched_count=self.used.postings
        )

    def lease_is_overdue(self, now: datetime) -> bool:
        """RUNNING past its lease: recovery has not come by yet (R11)."""
        running = self.status is CycleStatus.RUNNING
        return running and self.lease_until is not None and self.lease_until < now


@dataclass(frozen=True)
class SliceFacts:
    """One attempt (R19a); ``created_at`` is when it was stored, naive UTC."""

    id: int
    run_date: date
    outcome: str
    reason: str | None
    used: BudgetUse
    seconds: float
    seconds_waited: float
    worker: str
    dagster_run_id: str | None
    created_at: datetime


def source_facts(row: RowMapping) -> SourceFacts:
    """The source in a row of ``job_sources`` joined with its health."""
    return SourceFacts(
        id=row["id"],
        label=row["label"],
        platform=row["platform"],
        source_type=row["source_type"],
        active=bool(row["active"]),
        overrides=BudgetOverrides(
            row["daily_list_pages"],
            row["daily_postings"],
            row["daily_detail_requests"],
            row["min_delay_ms"],
        ),
        detail_mode=row["detail_mode"],
        abnormal_days=row["abnormal_days"] or 0,
        broken_since=row["broken_since"],
    )


def cycle_facts(row: RowMapping) -> CycleFacts:
    """The cycle in a row that holds ``CYCLE_FACTS``."""
    return CycleFacts(
        id=row["cycle_id"],
        run_date=row["run_date"],
        status=CycleStatus(row["cycle_status"]),
        is_complete=bool(row["is_complete"]),
        slice_count=row["attempt_count"],
        used=BudgetUse(row["list_page_count"], row["fetched_count"], row["detail_request_count"]),
        new_count=row["new_count"],
        updated_count=row["updated_count"],
        missed_count=row["missed_count"],
        closed_count=row["closed_count"],
        detail_failure_count=row["detail_failure_count"],
        stated_total=row["stated_total"],
        reason=row["failure_reason"] or row["budget_exhausted_reason"],
        detail=row["failure_detail"],
        next_eligible_at=row["next_eligible_at"],
        lease_until=row["lease_until"],
        lease_owner=row["lease_owner"],
        host=row["request_host"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


def newest_run_ids(connection: Connection, cycle_ids: list[int]) -> dict[int, str]:
    """The Dagster run of each cycle's newest slice; cycles without one are left out."""
    if not cycle_ids:
        return {}
    newest = (
        select(func.max(slices.c.id).label("id"))
        .where(slices.c.cycle_id.in_(cycle_ids))
        .group_by(slices.c.cycle_id)
        .subquery()
    )
    statement = select(slices.c.cycle_id, slices.c.dagster_run_id).join(
        newest, newest.c.id == slices.c.id
    )
    return {
        row.cycle_id: row.dagster_run_id
        for row in connection.execute(statement)
        if row.dagster_run_id
    }

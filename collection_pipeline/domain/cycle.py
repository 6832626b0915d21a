"""The cycle of one source on one day and its whole state table (R1 to R12, R20 to R23a).

::

    NOT_STARTED --prepare--> PENDING --claim--> RUNNING --slice, more to do--> PENDING
         |                                        |--list ended, details tried--> SUCCESS
         '--bad descriptor--> FAILED              |--daily budget used up--> BUDGET_EXHAUSTED
                                                  |--list request failed--> FAILED
                                                  '--lease expired--> FAILED

A terminal cycle never changes again (R12). Methods return the next value of the cycle and raise
``IllegalTransition`` where the table has no entry; nothing here reads a clock.
"""

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from math import floor
from typing import Self

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.judgement import is_safe_to_apply_missed_delta
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import Failed, SourceCollectionSliceOutcome

TOTAL_TOLERANCE_ROWS = 3
INCOMPLETE_DETAIL = "INCOMPLETE"


class IllegalTransition(Exception):
    """The state table has no entry for this event in this state."""


@dataclass(frozen=True)
class JobPostingCollectionCycle:
    """The columns of a cycle that its transitions read or write; instants are naive UTC."""

    id: int
    job_source_id: int
    run_date: date
    status: CycleStatus = CycleStatus.NOT_STARTED
    cursor: str | None = None
    lease_token: str | None = None
    lease_until: datetime | None = None
    lease_owner: str | None = None
    next_eligible_at: datetime | None = None
    request_host: str | None = None
    attempt_count: int = 0
    list_page_count: int = 0
    fetched_count: int = 0
    new_count: int = 0
    updated_count: int = 0
    missed_count: int = 0
    closed_count: int = 0
    detail_request_count: int = 0
    detail_failure_count: int = 0
    is_complete: bool = False
    stated_total: int | None = None
    progress: CollectionProgress = field(default_factory=CollectionProgress)
    budget_exhausted_reason: CollectionBudgetLimit | None = None
    failure_reason: CollectionFailureReason | None = None
    failure_detail: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def consumed(self) -> BudgetUse:
        """What the cycle has spent of its daily budget."""
        return BudgetUse(self.list_page_count, self.fetched_count, self.detail_request_count)

    @property
    def is_safe_to_apply_missed_delta(self) -> bool:
        """The safe close predicate over this cycle (R32)."""
        return is_safe_to_apply_missed_delta(
            self.status, is_complete=self.is_complete, fetched_count=self.fetched_count
        )

    def prepare(self, host: str, now: datetime) -> Self:
        """R1: ready for the queue."""
        self._require("prepare", CycleStatus.NOT_STARTED)
        return replace(self, status=CycleStatus.PENDING, request_host=host, next_eligible_at=now)

    def reject(self, failure: CollectionFailure, now: datetime) -> Self:
        """R2: a bad descriptor or configuration ends the cycle without a request."""
        self._require("reject", CycleStatus.NOT_STARTED, CycleStatus.PENDING)
        return self._failed(failure, now)

    def claim(self, token: str, owner: str, until: datetime, now: datetime) -> Self:
        """R5: due and without a lease; the token is fresh for each claim."""
        self._require("claim", CycleStatus.PENDING)
        if self.next_eligible_at is not None and self.next_eligible_at > now:
            raise IllegalTransition("claim of a cycle that is not due")
        return replace(
            self,
            status=CycleStatus.RUNNING,
            lease_token=token,
            lease_owner=owner,
            lease_until=until,
            started_at=self.started_at or now,
        )

    def renew_lease(self, token: str, until: datetime, now: datetime) -> Self:
        """The holder of a live lease prolongs it; a lease never gets shorter."""
        self._require_lease(token, now)
        return replace(self, lease_until=max(until, self.lease_until or until))

    def record_slice(
        self,
        outcome: SourceCollectionSliceOutcome,
        counts: "StoredCounts",
        token: str,
        now: datetime,
    ) -> Self:
        """The end of a slice: failure, complete, daily budget used up, slice end, in this order."""
        self._require_lease(token, now)
        counted = self._counted(outcome, counts)
        if isinstance(outcome, Failed):
            return counted._failed(outcome.failure, now)
        if outcome.is_complete:
            return counted.complete(outcome.total_tolerance, now)
        cursor = outcome.next_cursor.encoded() if outcome.next_cursor else counted.cursor
        if outcome.exhausted is not None:
            return replace(counted, cursor=cursor).exhaust_budget(outcome.exhausted, now)
        return replace(
            counted,
            cursor=cursor,
            status=CycleStatus.PENDING,
            next_eligible_at=outcome.resume_at or now,
            lease_token=None,
            lease_until=None,
            lease_owner=None,
        )

    def complete(self, total_tolerance: float, now: datetime) -> Self:
        """R7, R8, R23a: SUCCESS; with a gap or well short of the stated total not complete."""
        self._require("complete", CycleStatus.RUNNING)
        doubt = self._doubt(total_tolerance)
        return replace(
            self._ended(CycleStatus.SUCCESS, now),
            is_complete=doubt is None,
            cursor=None,
            failure_detail=None if doubt is None else f"{INCOMPLETE_DETAIL}: {doubt}",
        )

    def exhaust_budget(self, limit: CollectionBudgetLimit, now: datetime) -> Self:
        """R9: a protective end; the cursor is kept and nothing is closed."""
        self._require("exhaust", CycleStatus.RUNNING)
        return replace(
            self._ended(CycleStatus.BUDGET_EXHAUSTED, now), budget_exhausted_reason=limit
        )

    def fail(self, failure: CollectionFailure, token: str, now: datetime) -> Self:
        """R10: the holder of the lease ends the cycle as failed."""
        self._require_lease(token, now)
        return self._failed(failure, now)

    def recover_expired(self, now: datetime) -> Self:
        """R11: the lease ran out; its token is void from now on."""
        self._require("recovery", CycleStatus.RUNNING)
        if self.lease_until is not None and self.lease_until > now:
            raise IllegalTransition("recovery of a live lease")
        return self._failed(
            CollectionFailure(
                CollectionFailureReason.LEASE_EXPIRED,
                f"the lease of {self.lease_owner} ran out before its slice was stored",
            ),
            now,
        )

    def _counted(self, outcome: SourceCollectionSliceOutcome, counts: "StoredCounts") -> Self:
        work = outcome.work
        return replace(
            self,
            attempt_count=self.attempt_count + (1 if work.requests_sent else 0),
            list_page_count=self.list_page_count + work.list_page_count,
            detail_request_count=self.detail_request_count + work.detail_request_count,
            detail_failure_count=self.detail_failure_count + work.detail_failure_count,
            fetched_count=self.fetched_count + counts.new_to_cycle,
            new_count=self.new_count + counts.new,
            updated_count=self.updated_count + counts.updated,
            stated_total=work.stated_total if work.stated_total is not None else self.stated_total,
            progress=work.progress or self.progress,
        )

    def _doubt(self, tolerance: float) -> str | None:
        """Why the list's end proves nothing about what was not seen, if there is a reason."""
        if self.progress.has_gap:
            return "an empty page lay in the middle of the list"
        if self.stated_total is None:
            return None
        allowed = max(TOTAL_TOLERANCE_ROWS, floor(self.stated_total * tolerance))
        if self.fetched_count >= self.stated_total - allowed:
            return None
        return f"{self.fetched_count} distinct postings of a stated total of {self.stated_total}"

    def _failed(self, failure: CollectionFailure, now: datetime) -> Self:
        return replace(
            self._ended(CycleStatus.FAILED, now),
            failure_reason=failure.reason,
            failure_detail=failure.detail,
        )

    def _ended(self, status: CycleStatus, now: datetime) -> Self:
        return replace(
            self,
            status=status,
            finished_at=now,
            next_eligible_at=None,
            lease_token=None,
            lease_until=None,
            lease_owner=None,
        )

    def _require(self, event: str, *allowed: CycleStatus) -> None:
        if self.status not in allowed:
            raise IllegalTransition(f"{event} of a cycle that is {self.status}")

    def _require_lease(self, token: str, now: datetime) -> None:
        self._require("write", CycleStatus.RUNNING)
        if self.lease_token != token or self.lease_until is None or self.lease_until <= now:
            raise IllegalTransition("write without a live lease")


@dataclass(frozen=True)
class StoredCounts:
    """What the store counted under the cycle's lock: ids new to the cycle, new and changed rows."""

    new_to_cycle: int = 0
    new: int = 0
    updated: int = 0

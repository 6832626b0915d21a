"""The cycles of the queue: every state write is one short gated transaction (R13).

Each method runs whole in one transaction and may be called again after an error; a COMMIT whose
answer was lost is decided by the row that it would have left (R19a).
"""

import uuid
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
)
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.domain.slices import Failed, Fetched, SliceWork
from collection_pipeline.store.claim import ClaimedCycle, ClaimQueue, ClaimTerms
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_creation import create_cycle_if_absent
from collection_pipeline.store.cycle_rows import (
    cycle_of_row,
    lock_cycle,
    lock_leased_cycle,
    may_be_saved_over,
    values_of_cycle,
)
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.history import SliceAttempt, has_slice
from collection_pipeline.store.preparation import add_hosts
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.slice_end import (
    AppliedCollectionSlice,
    SliceEnd,
    StoredSlice,
)
from collection_pipeline.store.transaction import TransactionRunner

RECOVERY_BATCH_CYCLES = 500


class JobPostingCollectionCycleRepository:
    """Creation, claim, renewal, storing and recovery of cycles."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        gate: CollectionSlaCutoffGate,
        slice_end: SliceEnd,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._gate = gate
        self._slice_end = slice_end
        self._queue = ClaimQueue(transactions, clock, gate)

    def create_if_absent(self, job_source_id: int, run_date: date) -> JobPostingCollectionCycle:
        """The cycle of that source and day, made NOT_STARTED when there is none (I1)."""

        def creating(connection: Connection) -> JobPostingCollectionCycle:
            now = self._clock.now(connection)
            create_cycle_if_absent(connection, job_source_id, run_date, now)
            statement = select(cycles).where(
                cycles.c.job_source_id == job_source_id, cycles.c.run_date == run_date
            )
            return cycle_of_row(connection.execute(statement).one())

        return self._gate.with_daily_write_gate(run_date, creating)

    def save(self, cycle: JobPostingCollectionCycle) -> bool:
        """Write a transition of a cycle that no lease protects; False when it has moved on.

        Only NOT_STARTED and PENDING cycles whose day is not over may be written so (R16), by a copy
        that is not older than they are; the fenced writes have their own methods.
        """

        def saving(connection: Connection) -> bool:
            stored = lock_cycle(connection, cycle.id)
            now = self._clock.now(connection)
            is_over = cycle.run_date < run_date_of(now)
            if stored is None or is_over or not may_be_saved_over(cycle, stored):
                return False
            if cycle.status.is_terminal:
                self._slice_end.finish(connection, cycle, None, SliceWork(), StoredCounts(), now)
            else:
                connection.execute(
                    cycles.update()
                    .where(cycles.c.id == cycle.id)
                    .values(updated_at=now, **values_of_cycle(cycle))
                )
            return True

        if cycle.status is CycleStatus.PENDING and cycle.request_host is not None:
            # Before it waits: claims look for hosts there.
            hosts = [cycle.request_host]
            self._transactions.run(lambda connection: add_hosts(connection, hosts))
        return self._gate.with_daily_write_gate(cycle.run_date, saving)

    def reject(self, cycle_id: int, run_date: date, failure: CollectionFailure) -> bool:
        """R2: a cycle that cannot be prepared ends FAILED without a request, on its own day."""

        def rejecting(connection: Connection) -> bool:
            stored = lock_cycle(connection, cycle_id)
            if stored is None or stored.status is not CycleStatus.NOT_STARTED:
                return False
            now = self._clock.now(connection)
            if run_date_of(now) != run_date:
                return False
            ended = stored.reject(failure, now)
            self._slice_end.finish(connection, ended, None, SliceWork(), StoredCounts(), now)
            return True

        return self._gate.with_daily_write_gate(run_date, rejecting)

    def claim_next(
        self, terms: ClaimTerms, due_before: datetime | None = None
    ) -> ClaimedCycle | None:
        """The next due cycle under a fresh lease (R5), or ``None``."""
        return self._queue.claim_next(terms, due_before)

    def claim_ready(
        self, terms: ClaimTerms, max_items: int, due_before: datetime | None = None
    ) -> list[ClaimedCycle]:
        """Up to ``max_items`` due cycles, each under a lease of its own."""
        claimed: list[ClaimedCycle] = []
        while len(claimed) < max_items:
            one = self._queue.claim_next(terms, due_before)
            if one is None:
                break
            claimed.append(one)
        return claimed

    def has_due(self, connection: Connection, terms: ClaimTerms) -> bool:
        """Whether a claim would find something, by plain reads."""
        return self._queue.has_due(connection, terms)

    def renew(self, cycle_id: int, run_date: date, token: str, lease_seconds: int) -> bool:
        """Prolong a live lease; False when it is not ours any more."""

        def renewing(connection: Connection) -> bool:
            stored = lock_leased_cycle(connection, cycle_id, token)
            now = self._clock.now(connection)
            if stored is None or stored.lease_until is None or stored.lease_until <= now:
                return False
            renewed = stored.renew_lease(token, now + timedelta(seconds=lease_seconds), now)
            connection.execute(
                cycles.update()
                .where(cycles.c.id == cycle_id)
                .values(lease_until=renewed.lease_until, updated_at=now)
            )
            return True

        return self._gate.with_daily_write_gate(run_date, renewing)

    def apply_slice(
        self,
        cycle_id: int,
        run_date: date,
        applied: AppliedCollectionSlice,
        until: float | None = None,
    ) -> StoredSlice | None:
        """Store a slice under its lease; ``None`` for a stale worker, whose work leaves no trace.

        Tried again until monotonic ``until``, the end of the worker's trust in its lease.
        """
        return self._gate.with_daily_write_gate(
            run_date,
            lambda connection: self._slice_end.store(connection, cycle_id, applied),
            until=until,
            was_committed=lambda connection: has_slice(connection, applied.attempt.token),
        )

    def fail(
        self,
        cycle_id: int,
        run_date: date,
        attempt: SliceAttempt,
        failure: CollectionFailure,
        work: SliceWork | None = None,
        until: float | None = None,
    ) -> StoredSlice | None:
        """End a leased cycle FAILED, keeping what ``work`` holds (R10, R19)."""
        outcome = Failed(work or SliceWork(), failure)
        return self.apply_slice(cycle_id, run_date, _bare(outcome, attempt), until)

    def exhaust_budget(
        self, cycle_id: int, run_date: date, attempt: SliceAttempt, limit: CollectionBudgetLimit
    ) -> StoredSlice | None:
        """End a leased cycle BUDGET_EXHAUSTED without further rows (R9)."""
        outcome = Fetched(SliceWork(), None, is_complete=False, exhausted=limit)
        return self.apply_slice(cycle_id, run_date, _bare(outcome, attempt))

    def recover_expired(self) -> list[StoredSlice]:
        """R11: end cycles whose lease ran out; their tokens are void from then on."""
        expired = self._transactions.run(self._expired)
        recovered = (self._recover(cycle_id, run_date) for cycle_id, run_date in expired)
        return [one for one in recovered if one is not None]

    def has_expired(self, connection: Connection) -> bool:
        """Whether a lease has run out, by a plain read."""
        return bool(self._expired(connection, limit=1))

    def _expired(
        self, connection: Connection, limit: int = RECOVERY_BATCH_CYCLES
    ) -> list[tuple[int, date]]:
        now = self._clock.now(connection)
        rows = connection.execute(
            select(cycles.c.id, cycles.c.run_date)
            .where(cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until <= now)
            .order_by(cycles.c.lease_until)
            .limit(limit)
        )
        return [(row.id, row.run_date) for row in rows]

    def _recover(self, cycle_id: int, run_date: date) -> StoredSlice | None:
        def recovering(connection: Connection) -> StoredSlice | None:
            stored = lock_cycle(connection, cycle_id)
            now = self._clock.now(connection)
            if stored is None or stored.status is not CycleStatus.RUNNING:
                return None
            if stored.lease_until is not None and stored.lease_until > now:
                return None
            attempt = SliceAttempt(
                token=stored.lease_token or str(uuid.uuid4()), worker=stored.lease_owner or ""
            )
            ended = stored.recover_expired(now)
            return self._slice_end.finish(
                connection, ended, attempt, SliceWork(), StoredCounts(), now
            )

        return self._gate.with_daily_write_gate(run_date, recovering)


def _bare(outcome: Failed | Fetched, attempt: SliceAttempt) -> AppliedCollectionSlice:
    if outcome.work.postings:
        raise ValueError("rows are stored through apply_slice, which knows how they are kept")
    return AppliedCollectionSlice(outcome, attempt, DetailState.NONE, None)

"""The end of an attempt: what was fetched, the cycle's next state and its traces, all or nothing.

Order under the gate (R13, R14): the cycle by id, token and RUNNING; the clock; then children; then
the cycle's own row. Where the fence finds nothing, nothing is written and the worker is stale.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.health import SourceHealth
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.domain.slices import SliceWork, SourceCollectionSliceOutcome
from collection_pipeline.store import history
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_rows import lock_leased_cycle, values_of_cycle
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.missed import apply_missed_delta
from collection_pipeline.store.postings import JobPostings
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.seen import SeenPostings


class LostFence(RuntimeError):
    """The cycle's row changed under its lock; the transaction is rolled back."""


@dataclass(frozen=True)
class AppliedCollectionSlice:
    """What is stored at the end of a slice: the outcome, and how its rows are kept.

    ``waiting_state``: detail state of new and changed rows. ``company_id``: the owner of a
    company board, else companies come from the outcome's own map.
    """

    outcome: SourceCollectionSliceOutcome
    attempt: SliceAttempt
    waiting_state: DetailState
    company_id: int | None


@dataclass(frozen=True)
class StoredSlice:
    """The cycle as it stands after the attempt, with what the attempt counted."""

    cycle: JobPostingCollectionCycle
    counts: StoredCounts
    work: SliceWork
    health: SourceHealth | None = None


@dataclass(frozen=True)
class EndTerms:
    """``close_after`` missed cycles close a posting, ``broken_after`` abnormal days a source."""

    close_after: int
    broken_after: int


class SliceEnd:
    """Ends attempts on the connection of a gated transaction."""

    def __init__(self, clock: DatabaseClock, terms: EndTerms) -> None:
        self._clock = clock
        self._terms = terms
        self._postings = JobPostings()
        self._seen = SeenPostings()

    def store(
        self, connection: Connection, cycle_id: int, applied: AppliedCollectionSlice
    ) -> StoredSlice | None:
        """Store a slice under its lease; ``None`` when the lease is not ours any more (R14)."""
        token = applied.attempt.token
        cycle = lock_leased_cycle(connection, cycle_id, token)
        now = self._clock.now(connection)
        if cycle is None or cycle.lease_until is None or cycle.lease_until <= now:
            return None
        counts = self._store_rows(connection, cycle, applied, now)
        ended = cycle.record_slice(applied.outcome, counts, token, now)
        work = applied.outcome.work
        stored = self.finish(connection, ended, applied.attempt, work, counts, now)
        checkpoints.reach(checkpoints.BEFORE_COMMIT)
        return stored

    def finish(
        self,
        connection: Connection,
        ended: JobPostingCollectionCycle,
        attempt: SliceAttempt | None,
        work: SliceWork,
        counts: StoredCounts,
        now: datetime,
    ) -> StoredSlice:
        """Write the cycle's row, the attempt's row, and what a terminal transition brings (R30)."""
        health = None
        if ended.status.is_terminal:
            ended = self._with_delta(connection, ended, now)
            self._seen.delete_of_cycle(connection, ended.id)
            checkpoints.reach(checkpoints.INSIDE_TERMINAL)
            history.add_run(connection, ended)
            health = history.judge_health(connection, ended, self._terms.broken_after, now)
        if attempt is not None:
            history.add_slice(connection, attempt, ended, work, counts, now)
        changed = connection.execute(
            cycles.update()
            .where(cycles.c.id == ended.id)
            .values(updated_at=now, **values_of_cycle(ended))
        )
        if changed.rowcount != 1:
            raise LostFence(f"cycle {ended.id} vanished under its lock")
        return StoredSlice(ended, counts, work, health)

    def _store_rows(
        self,
        connection: Connection,
        cycle: JobPostingCollectionCycle,
        applied: AppliedCollectionSlice,
        now: datetime,
    ) -> StoredCounts:
        work = applied.outcome.work
        stored = self._postings.store_listed(
            connection,
            cycle,
            work.postings,
            work.company_ids,
            applied.company_id,
            applied.waiting_state,
            now,
        )
        sighted = {posting.listed.source_job_id for posting in work.postings}
        self._postings.settle_sightings(connection, cycle, sighted - stored.new)
        new_to_cycle = self._seen.add(connection, cycle.id, work.postings, now)
        self._postings.store_details(connection, cycle.job_source_id, work.details, now)
        self._seen.mark_tried(connection, cycle.id, [tried.source_job_id for tried in work.details])
        history.count_drift(connection, cycle, work.drift)
        return StoredCounts(new_to_cycle, len(stored.new), stored.updated)

    def _with_delta(
        self, connection: Connection, ended: JobPostingCollectionCycle, now: datetime
    ) -> JobPostingCollectionCycle:
        if not ended.is_safe_to_apply_missed_delta:
            return ended
        delta = apply_missed_delta(connection, ended, self._terms.close_after, now)
        return replace(ended, missed_count=delta.missed, closed_count=delta.closed)

"""One tick: make what is missing, recover, tell, then claim and work slices (R5, R11, R35..R40).

Ticks may overlap, in one process or in many: leases exclude. A tick finds its work by state in
MySQL, never by the minute in which it was started.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.notifications import OperationsNotifications
from collection_pipeline.collection.preparation import CyclePreparation
from collection_pipeline.collection.slice_processor import CollectionSliceProcessor, SliceReport
from collection_pipeline.collection.snapshot import CollectionSlaSnapshotDomainService
from collection_pipeline.collection.workers import SliceWorkers, WorkerFault
from collection_pipeline.domain.cycle_status import TERMINAL_STATUSES, CycleStatus
from collection_pipeline.settings import Settings
from collection_pipeline.store.claim import ClaimedCycle, ClaimTerms
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline.store.ticks import CollectionTicks, TickCounts
from collection_pipeline.store.transaction import TransactionRunner

MAX_THREADS = 32
ENDINGS = (CycleStatus.SUCCESS, CycleStatus.FAILED, CycleStatus.BUDGET_EXHAUSTED)


class TickFailed(Exception):
    """A tick could not do its work; cycles that merely ended FAILED do not raise it."""


@dataclass(frozen=True)
class TickTerms:
    """``drain``: until nothing is due. ``max_seconds``: no claim and no request after that."""

    drain: bool = False
    max_seconds: float | None = None
    worker: str = ""
    dagster_run_id: str | None = None


@dataclass
class TickSummary:
    """What a tick did; ``ended`` counts the slices by the terminal state that they reached.

    ``rejected`` are cycles that ended FAILED with CONFIG before any request (R2).
    """

    tick_id: str
    recovered: int = 0
    prepared: int = 0
    rejected: int = 0
    claimed: int = 0
    slices: int = 0
    ended: dict[str, int] = field(default_factory=lambda: {one.value: 0 for one in ENDINGS})
    continued: int = 0
    lost: int = 0
    seconds: float = 0.0

    def count(self, report: SliceReport) -> None:
        """Add one slice."""
        if report.status is None:
            self.lost += 1
            return
        self.slices += 1
        if report.status in TERMINAL_STATUSES:
            self.ended[report.status.value] += 1
        else:
            self.continued += 1

    @property
    def counts(self) -> TickCounts:
        """The part that the heartbeat row keeps."""
        return TickCounts(self.recovered, self.prepared, self.claimed, self.slices, self.lost)


class CollectionDispatchUseCase:
    """Executes ticks."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        creation: CollectionCycleDomainService,
        snapshots: CollectionSlaSnapshotDomainService,
        notifications: OperationsNotifications,
        preparation: CyclePreparation,
        repository: JobPostingCollectionCycleRepository,
        processor: CollectionSliceProcessor,
        connections: OpenConnections,
        settings: Settings,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._creation = creation
        self._snapshots = snapshots
        self._notifications = notifications
        self._preparation = preparation
        self._repository = repository
        self._processor = processor
        self._connections = connections
        self._settings = settings
        self._ticks = CollectionTicks()

    def execute_tick(
        self,
        terms: TickTerms,
        *,
        stop: threading.Event | None = None,
        on_slice: Callable[[SliceReport], None] | None = None,
    ) -> TickSummary:
        """Run one tick; ``on_slice`` is called in the caller's thread as slices end.

        Raises ``TickFailed`` when a worker met an error that was not a slice's own outcome.
        """
        began = time.monotonic()
        summary = TickSummary(tick_id=str(uuid.uuid4()))
        self._begin(summary, terms)
        error: BaseException | None = None
        try:
            self._make_ready(summary)
            self._tell(stop)
            self._work_slices(summary, terms, began, stop, on_slice)
        except BaseException as caught:
            error = caught
            raise
        finally:
            summary.seconds = round(time.monotonic() - began, 3)
            self._end(summary, error)
        return summary

    def make_ready(self) -> TickSummary:
        """Only the first half of a tick: headers, cycles, recovery, preparation."""
        summary = TickSummary(tick_id=str(uuid.uuid4()))
        self._make_ready(summary)
        return summary

    def has_work(self) -> bool:
        """Whether a tick would find something due, expired or missing; plain reads only."""

        def asking(connection: Connection) -> bool:
            return (
                self._creation.is_missing_anything(connection)
                or self._snapshots.needs_recovery(connection)
                or self._notifications.has_work(connection)
                or self._repository.has_expired(connection)
                or self._preparation.has_unprepared(connection)
                or self._repository.has_due(
                    connection, self._claim_terms("", self._settings["SLICE_MAX_SECONDS"])
                )
            )

        return self._transactions.run(asking)

    def _begin(self, summary: TickSummary, terms: TickTerms) -> None:
        def beginning(connection: Connection) -> None:
            now = self._clock.now(connection)
            self._ticks.begin(connection, summary.tick_id, terms.worker, terms.dagster_run_id, now)

        self._transactions.run(beginning)

    def _make_ready(self, summary: TickSummary) -> None:
        day = self._creation.create_daily_cycles()
        self._snapshots.mark_missed_snapshot()
        summary.recovered = len(self._repository.recover_expired())
        prepared = self._preparation.prepare(day.run_date)
        summary.prepared, summary.rejected = prepared.pending, prepared.rejected

    def _tell(self, stop: threading.Event | None) -> None:
        """What is new is put into the outbox and what is due is sent (R40)."""
        self._notifications.prepare()
        self._notifications.deliver(stop)

    def _work_slices(
        self,
        summary: TickSummary,
        terms: TickTerms,
        began: float,
        stop: threading.Event | None,
        on_slice: Callable[[SliceReport], None] | None,
    ) -> None:
        stop = stop or threading.Event()
        ends_at = began + terms.max_seconds if terms.max_seconds else float("inf")
        slice_seconds = self._settings["SLICE_MAX_SECONDS"]
        due_before = None if terms.drain else self._now()
        limit = self._settings["TICK_CLAIM_LIMIT"]

        def claim() -> ClaimedCycle | None:
            longest_wait = min(float(slice_seconds), ends_at - time.monotonic())
            claim_terms = self._claim_terms(terms.worker, longest_wait)
            claimed = self._repository.claim_next(claim_terms, due_before)
            if claimed is not None:
                checkpoints.reach(checkpoints.AFTER_CLAIM)
            return claimed

        def work(claimed: ClaimedCycle, asked_at: float) -> SliceReport:
            return self._processor.process(
                claimed,
                asked_at=asked_at,
                latest_end=ends_at,
                stop=stop,
                dagster_run_id=terms.dagster_run_id,
            )

        workers = SliceWorkers(claim, work, self._connections.slice_worker, stop)
        faults: list[WorkerFault] = []
        claims = None if terms.drain else limit
        for item in workers.run(min(limit, MAX_THREADS), claims=claims, ends_at=ends_at):
            if isinstance(item, WorkerFault):
                faults.append(item)
                continue
            summary.claimed += 1
            summary.count(item)
            if on_slice is not None:
                on_slice(item)
        if faults:
            raise TickFailed(_in_words(faults)) from None

    def _claim_terms(self, worker: str, longest_wait_seconds: float) -> ClaimTerms:
        """A host that is held back for longer than the slice could wait is not claimed (R26)."""
        return ClaimTerms(
            owner=worker,
            lease_seconds=self._settings["LEASE_SECONDS"],
            max_leases_per_host=self._settings["MAX_LEASES_PER_HOST"],
            longest_wait_seconds=longest_wait_seconds,
            platforms=self._creation.platforms,
        )

    def _now(self) -> datetime:
        return self._transactions.run(self._clock.now)

    def _end(self, summary: TickSummary, error: BaseException | None) -> None:
        words = None if error is None else f"{type(error).__name__}: {error}"[:300]
        if isinstance(error, Exception) and not isinstance(error, TickFailed):
            words = type(error).__name__

        def ending(connection: Connection) -> None:
            now = self._clock.now(connection)
            self._ticks.end(
                connection, summary.tick_id, summary.counts, summary.seconds, words, now
            )

        self._transactions.run(ending)


def _in_words(faults: list[WorkerFault]) -> str:
    kinds = sorted({type(fault.error).__name__ for fault in faults})
    return f"{len(faults)} worker(s) ended with {', '.join(kinds)}"

"""One claimed cycle, one slice: describe, collect without a transaction, store (R14, R19, R25)."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from collection_pipeline import checkpoints
from collection_pipeline.collection.permit import LeasedSlicePermit
from collection_pipeline.collection.posting_lookup import (
    CompanyDirectory,
    StoredPostingLookup,
)
from collection_pipeline.domain.budget import CollectionBudget, InvalidBudget
from collection_pipeline.domain.cursor import Cursor, InvalidCursor
from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailure, CollectionFailureReason
from collection_pipeline.domain.lease import trusted_until
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    Failed,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.domain.source import JobSource
from collection_pipeline.platforms.gateway import PlatformGateway, UnsupportedPlatform
from collection_pipeline.settings import Settings
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.slice_end import AppliedCollectionSlice, StoredSlice
from collection_pipeline.store.transaction import TransactionRunner

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SliceReport:
    """What one slice did, in numbers; ``status`` is ``None`` where its result was refused (R14)."""

    cycle_id: int
    job_source_id: int
    platform: str
    label: str
    run_date: date
    status: CycleStatus | None
    reason: str | None = None
    detail: str | None = None
    list_pages: int = 0
    postings: int = 0
    details: int = 0
    detail_failures: int = 0
    seconds: float = 0.0
    seconds_waited: float = 0.0

    @property
    def is_lost(self) -> bool:
        """True for a stale worker: nothing of its work was stored."""
        return self.status is None


class CollectionSliceProcessor:
    """Works slices for one worker; safe to call from several threads."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        repository: JobPostingCollectionCycleRepository,
        gateway: PlatformGateway,
        settings: Settings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._repository = repository
        self._gateway = gateway
        self._settings = settings
        self._monotonic = monotonic
        self._companies = CompanyDirectory(transactions, clock)

    def process(
        self,
        claimed: ClaimedCycle,
        *,
        asked_at: float,
        latest_end: float,
        stop: threading.Event,
        dagster_run_id: str | None = None,
    ) -> SliceReport:
        """Collect and store one slice.

        ``asked_at``: monotonic time before the claim; ``latest_end``: monotonic end that the tick
        allows. Raises ``DatabaseUnavailable`` when the result could not be stored in time; the
        lease then runs out and recovery ends the cycle (R11).
        """
        began = self._monotonic()
        trust = trusted_until(asked_at, self._settings["LEASE_SECONDS"])
        permit = LeasedSlicePermit(
            self._transactions,
            self._clock,
            claimed,
            self._gateway.platforms,
            ends_at=self._slice_end(asked_at, trust, latest_end),
            stop=stop,
            monotonic=self._monotonic,
        )
        outcome = self._collect(claimed, permit)
        checkpoints.reach(checkpoints.BEFORE_STORE)
        attempt = SliceAttempt(
            token=claimed.token,
            worker=claimed.cycle.lease_owner or "",
            seconds=self._monotonic() - began,
            dagster_run_id=dagster_run_id,
        )
        stored = self._repository.apply_slice(
            claimed.cycle.id,
            claimed.cycle.run_date,
            self._applied(claimed, outcome, attempt),
            trust,
        )
        checkpoints.reach(checkpoints.AFTER_STORE)
        return _report(claimed, stored, attempt)

    def _slice_end(self, asked_at: float, trust: float, latest_end: float) -> float:
        own = asked_at + self._settings["SLICE_MAX_SECONDS"]
        return min(own, trust - self._settings["REQUEST_DEADLINE_SECONDS"], latest_end)

    def _collect(
        self, claimed: ClaimedCycle, permit: LeasedSlicePermit
    ) -> SourceCollectionSliceOutcome:
        """The outcome; a fault of our own ends the cycle at once, not by recovery."""
        try:
            claimed.source.overrides.check()
            return self._gateway.collect_slice(self._describe(claimed), permit)
        except InvalidBudget as error:
            return _without_work(CollectionFailureReason.CONFIG, str(error))
        except InvalidCursor as error:
            return _without_work(CollectionFailureReason.INTERNAL, str(error))
        except DatabaseUnavailable:
            raise
        except Exception as error:
            logger.error("slice of cycle %s met %s", claimed.cycle.id, type(error).__name__)
            return _without_work(
                CollectionFailureReason.INTERNAL,
                f"unexpected {type(error).__name__} while collecting",
            )

    def _describe(self, claimed: ClaimedCycle) -> CollectionSliceDescriptor:
        cycle, source = claimed.cycle, claimed.source
        return CollectionSliceDescriptor(
            source=source,
            run_date=cycle.run_date,
            cursor=Cursor.decoded(cycle.cursor) if cycle.cursor else None,
            consumed=cycle.consumed,
            daily_budget=self._daily_budget(source),
            slice_budget=self._settings.slice_budget,
            progress=cycle.progress,
            stated_total=cycle.stated_total,
            min_delay_seconds=self._min_delay_seconds(source),
            lookup=StoredPostingLookup(self._transactions, self._companies, claimed),
        )

    def _daily_budget(self, source: JobSource) -> CollectionBudget:
        return self._settings.daily_budget(source.platform).overridden(
            source.overrides.list_pages,
            source.overrides.postings,
            source.overrides.detail_requests,
        )

    def _min_delay_seconds(self, source: JobSource) -> float:
        """The larger of the host's and the source's delay counts (R26)."""
        host_delay = self._settings.for_platform(source.platform, "HOST_MIN_DELAY_MS")
        return max(host_delay, source.overrides.min_delay_ms or 0) / 1000

    def _applied(
        self,
        claimed: ClaimedCycle,
        outcome: SourceCollectionSliceOutcome,
        attempt: SliceAttempt,
    ) -> AppliedCollectionSlice:
        try:
            has_details = self._gateway.has_details(claimed.source)
        except UnsupportedPlatform:
            has_details = False
        waiting = DetailState.PENDING if has_details else DetailState.NONE
        return AppliedCollectionSlice(outcome, attempt, waiting, claimed.source.company_id)


def _without_work(reason: CollectionFailureReason, detail: str) -> Failed:
    return Failed(SliceWork(), CollectionFailure(reason, detail))


def _report(
    claimed: ClaimedCycle, stored: StoredSlice | None, attempt: SliceAttempt
) -> SliceReport:
    cycle = stored.cycle if stored else None
    work = stored.work if stored else SliceWork()
    return SliceReport(
        cycle_id=claimed.cycle.id,
        job_source_id=claimed.source.id,
        platform=claimed.source.platform,
        label=claimed.source.label,
        run_date=claimed.cycle.run_date,
        status=cycle.status if cycle else None,
        reason=_reason(cycle) if cycle else None,
        detail=cycle.failure_detail if cycle else None,
        list_pages=work.list_page_count,
        postings=stored.counts.new_to_cycle if stored else 0,
        details=work.detail_request_count,
        detail_failures=work.detail_failure_count,
        seconds=attempt.seconds,
        seconds_waited=work.seconds_waited,
    )


def _reason(cycle: JobPostingCollectionCycle) -> str | None:
    reason = cycle.failure_reason or cycle.budget_exhausted_reason
    return None if reason is None else reason.value

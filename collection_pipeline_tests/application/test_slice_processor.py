"""One claimed cycle becomes one stored outcome, whatever goes wrong while collecting (R2, R14)."""

import threading
from dataclasses import dataclass, field, replace
from datetime import date
from typing import cast

import pytest

from collection_pipeline.collection.slice_processor import (
    CollectionSliceProcessor,
    SliceReport,
)
from collection_pipeline.domain.budget import BudgetUse, CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    Failed,
    Fetched,
    SlicePermit,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.domain.source import BudgetOverrides, JobSource, SourceType
from collection_pipeline.platforms.gateway import PlatformGateway, UnsupportedPlatform
from collection_pipeline.settings import load_settings
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.slice_end import AppliedCollectionSlice, StoredSlice
from collection_pipeline.store.transaction import TransactionRunner

NOW_MONOTONIC = 1_000.0
DONE = Fetched(SliceWork(), None, True)


@dataclass
class World:
    """Gateway and repository of one slice; what they were given is kept."""

    outcome: SourceCollectionSliceOutcome = DONE
    error: Exception | None = None
    stored: StoredSlice | None = None
    is_supported: bool = True
    platforms: frozenset[str] = frozenset({"wanted"})
    applied: list[AppliedCollectionSlice] = field(default_factory=list)
    untils: list[float | None] = field(default_factory=list)
    descriptors: list[CollectionSliceDescriptor] = field(default_factory=list)
    seconds_left: list[float] = field(default_factory=list)

    def collect_slice(
        self, descriptor: CollectionSliceDescriptor, permit: SlicePermit
    ) -> SourceCollectionSliceOutcome:
        """The gateway."""
        self.descriptors.append(descriptor)
        self.seconds_left.append(permit.seconds_left())
        if self.error is not None:
            raise self.error
        return self.outcome

    def has_details(self, source: JobSource) -> bool:
        """The gateway's word on details."""
        if not self.is_supported:
            raise UnsupportedPlatform(source.platform, self.platforms)
        return True

    def apply_slice(
        self,
        cycle_id: int,
        run_date: date,
        applied: AppliedCollectionSlice,
        until: float | None = None,
    ) -> StoredSlice | None:
        """The repository; ``stored`` is ``None`` for a stale worker."""
        self.applied.append(applied)
        self.untils.append(until)
        return self.stored

    def process(self, claimed: ClaimedCycle, *, latest_end: float = float("inf")) -> SliceReport:
        """One slice, claimed just now."""
        processor = CollectionSliceProcessor(
            cast(TransactionRunner, None),
            DatabaseClock(),
            cast(JobPostingCollectionCycleRepository, self),
            cast(PlatformGateway, self),
            load_settings({"COLLECTION_WANTED_DAILY_MAX_POSTINGS": "900"}),
            monotonic=lambda: NOW_MONOTONIC,
        )
        return processor.process(
            claimed, asked_at=NOW_MONOTONIC, latest_end=latest_end, stop=threading.Event()
        )


def claimed(*, cursor: str | None = None, overrides: BudgetOverrides | None = None) -> ClaimedCycle:
    """A RUNNING cycle of a Wanted source."""
    cycle = JobPostingCollectionCycle(
        id=5,
        job_source_id=3,
        run_date=date(2026, 12, 1),
        status=CycleStatus.RUNNING,
        cursor=cursor,
        lease_token="token",
        lease_owner="host:1",
        list_page_count=4,
        fetched_count=120,
    )
    source = JobSource(3, "wanted", SourceType.AGGREGATOR, "Backend", {})
    return ClaimedCycle(cycle, replace(source, overrides=overrides or BudgetOverrides()))


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("name", ["list_pages", "postings", "detail_requests", "min_delay_ms"])
def test_an_override_of_zero_or_less_is_a_configuration_failure(name: str, value: int) -> None:
    """R2, spec section 3: refused in the database too, without a request."""
    world = World()
    world.process(claimed(overrides=BudgetOverrides(**{name: value})))
    outcome = world.applied[0].outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.CONFIG
    assert name in outcome.failure.detail
    assert world.descriptors == []


def test_a_cursor_of_another_release_is_no_first_page() -> None:
    """Spec section 2: the cycle ends INTERNAL instead of reading its pages twice."""
    world = World()
    world.process(claimed(cursor='{"v":99,"at":{}}'))
    outcome = world.applied[0].outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.INTERNAL
    assert world.descriptors == []


def test_an_error_of_our_own_ends_the_cycle_internal_without_its_text() -> None:
    """R10, R29: the detail names the class only, a text may carry a secret."""
    world = World(error=RuntimeError("key=planted"))
    world.process(claimed())
    outcome = world.applied[0].outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.INTERNAL
    assert "RuntimeError" in outcome.failure.detail
    assert "planted" not in outcome.failure.detail


def test_a_database_that_is_away_is_no_outcome_of_the_slice() -> None:
    """R11: nothing is stored, the lease runs out."""
    world = World(error=DatabaseUnavailable("away"))
    with pytest.raises(DatabaseUnavailable):
        world.process(claimed())
    assert world.applied == []


def test_the_slice_is_described_from_its_cycle_and_its_source() -> None:
    """R20, R26: source over platform over general; the larger delay counts."""
    world = World()
    world.process(
        claimed(
            cursor=Cursor({"offset": 100}).encoded(),
            overrides=BudgetOverrides(list_pages=7, min_delay_ms=2_500),
        )
    )
    described = world.descriptors[0]
    assert described.daily_budget == CollectionBudget(7, 900, 300)
    assert described.slice_budget == CollectionBudget(5, 500, 50)
    assert described.consumed == BudgetUse(4, 120, 0)
    assert described.cursor == Cursor({"offset": 100})
    assert described.min_delay_seconds == 2.5


def test_a_source_cannot_go_faster_than_its_host_allows() -> None:
    """R26: the larger of host and source counts."""
    world = World()
    world.process(claimed(overrides=BudgetOverrides(min_delay_ms=1)))
    assert world.descriptors[0].min_delay_seconds == 1.0


@pytest.mark.parametrize(
    ("latest_end", "seconds"), [(float("inf"), 300.0), (NOW_MONOTONIC + 40, 40.0)]
)
def test_a_slice_ends_in_its_own_time_and_with_its_tick(latest_end: float, seconds: float) -> None:
    """Spec section 3: SLICE_MAX_SECONDS, and the tick's own end."""
    world = World()
    world.process(claimed(), latest_end=latest_end)
    assert world.seconds_left == [seconds]


def test_a_result_is_tried_to_be_stored_while_the_lease_is_trusted() -> None:
    """R19a: 600 s of lease less the margin, counted from before the claim."""
    world = World()
    world.process(claimed())
    assert world.untils == [NOW_MONOTONIC + 600 - 5]


def test_a_stale_worker_reports_no_state_and_no_work() -> None:
    """R14: its result was refused."""
    outcome = Fetched(SliceWork(list_page_count=3, detail_request_count=2), None, True)
    report = World(outcome).process(claimed())
    assert report.is_lost
    assert (report.list_pages, report.details, report.postings) == (0, 0, 0)


def test_rows_wait_for_details_only_where_the_platform_has_them() -> None:
    """R22: and a platform that vanished from this release has none."""
    with_details, gone = World(), World(is_supported=False)
    with_details.process(claimed())
    gone.process(claimed())
    assert with_details.applied[0].waiting_state is DetailState.PENDING
    assert gone.applied[0].waiting_state is DetailState.NONE

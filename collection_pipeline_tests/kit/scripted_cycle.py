"""One cycle driven slice by slice without a database: a store in memory between the slices.

The cycle's own state table decides what comes after a slice, and progress and cursor pass through
their stored text each time, as they do in production.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.posting import (
    DetailState,
    DetailTarget,
    GonePosting,
    KnownPosting,
    SignatureChange,
    signature_change,
)
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.domain.source import DetailMode, JobSource, SourceType
from collection_pipeline.platforms.slices.slice_loop import SliceLoop
from collection_pipeline_tests.kit.scripted_platform import ScriptedExecutor, ScriptedPlatform

RUN_DATE = date(2026, 12, 1)
NOW = datetime(2026, 11, 30, 15, 1)
LEASE = timedelta(seconds=600)
WIDE = CollectionBudget(1_000, 100_000, 1_000)


@dataclass
class StoredPosting:
    """What is kept of a posting over days."""

    signature: str
    detail_state: DetailState


@dataclass
class SeenRow:
    """What is kept of a sighting within its cycle."""

    position: int
    detail_tried: bool = False


@dataclass
class ScriptedStore:
    """``PostingLookup`` in memory; ``reads`` notes every look-up with its ids."""

    postings: dict[str, StoredPosting] = field(default_factory=dict)
    seen: dict[str, SeenRow] = field(default_factory=dict)
    reads: list[tuple[str, ...]] = field(default_factory=list)
    company_reads: list[tuple[str, ...]] = field(default_factory=list)

    def known_postings(self, source_job_ids: Sequence[str]) -> Mapping[str, KnownPosting]:
        """What is stored of these ids."""
        self.reads.append(tuple(source_job_ids))
        return {job_id: self._known(job_id) for job_id in source_job_ids if job_id in self.postings}

    def waiting_details(self, limit: int) -> list[DetailTarget]:
        """Sighted in this cycle, waiting and not tried, in list order."""
        waiting = [
            DetailTarget(job_id, row.position)
            for job_id, row in self.seen.items()
            if not row.detail_tried and self.postings[job_id].detail_state is DetailState.PENDING
        ]
        return sorted(waiting, key=lambda target: target.position)[:limit]

    def resolve_companies(self, names: Sequence[str]) -> Mapping[str, int]:
        """An id for each name."""
        self.company_reads.append(tuple(names))
        return {name: 100 + number for number, name in enumerate(names)}

    def apply(self, work: SliceWork, waiting: DetailState) -> StoredCounts:
        """Store a slice as the database does: rows, sightings, details."""
        new = updated = new_to_cycle = 0
        for sighted in work.postings:
            job_id, signature = sighted.listed.source_job_id, sighted.listed.signature
            stored = self.postings.get(job_id)
            change = signature_change(stored.signature if stored else None, signature)
            new += change is SignatureChange.NEW
            updated += change is SignatureChange.CHANGED
            if stored is None or change is SignatureChange.CHANGED:
                self.postings[job_id] = StoredPosting(signature, waiting)
            stored = self.postings[job_id]
            stored.signature = signature
            new_to_cycle += job_id not in self.seen
            self.seen.setdefault(job_id, SeenRow(sighted.position))
        for tried in work.details:
            self.seen[tried.source_job_id].detail_tried = True
            if tried.result is not None:
                is_gone = isinstance(tried.result, GonePosting)
                state = DetailState.GONE if is_gone else DetailState.DONE
                self.postings[tried.source_job_id].detail_state = state
        return StoredCounts(new_to_cycle, new, updated)

    def _known(self, job_id: str) -> KnownPosting:
        stored, row = self.postings[job_id], self.seen.get(job_id)
        return KnownPosting(
            stored.signature,
            stored.detail_state,
            seen_in_cycle=row is not None,
            detail_tried=row is not None and row.detail_tried,
        )


class ScriptedCycle:
    """A source's cycle of one day; ``next_day`` goes on with the same postings."""

    def __init__(
        self,
        platform: ScriptedPlatform,
        executor: ScriptedExecutor | None = None,
        *,
        slice_budget: CollectionBudget = WIDE,
        daily_budget: CollectionBudget = WIDE,
        detail_mode: DetailMode = DetailMode.REQUIRED,
        store: ScriptedStore | None = None,
    ) -> None:
        self.platform = platform
        self.executor = executor or ScriptedExecutor()
        self.store = store or ScriptedStore()
        self.slice_budget = slice_budget
        self.daily_budget = daily_budget
        self.source = JobSource(
            1, platform.platform, SourceType.AGGREGATOR, "scripted", {}, detail_mode=detail_mode
        )
        self.slices = 0
        self.cycle = self._fresh(RUN_DATE)

    def run_slice(self) -> SourceCollectionSliceOutcome:
        """Claim, collect, store: one slice, its outcome."""
        self.slices += 1
        token = f"token-{self.slices}"
        due = max(NOW, self.cycle.next_eligible_at or NOW)
        claimed = self.cycle.claim(token, "worker", due + LEASE, due)
        outcome = SliceLoop(self.platform, self.executor, self._describe(claimed)).collect()
        waiting = DetailState.PENDING if self.platform.has_details else DetailState.NONE
        counts = self.store.apply(outcome.work, waiting)
        ended = claimed.record_slice(outcome, counts, token, due)
        progress = CollectionProgress.decoded(ended.progress.encoded())
        assert progress == ended.progress
        self.cycle = replace(ended, progress=progress)
        return outcome

    def run_to_end(self, most_slices: int = 200) -> CycleStatus:
        """Slices until the cycle is terminal; too many of them are a fault of the loop."""
        for _ in range(most_slices):
            self.run_slice()
            if self.cycle.status.is_terminal:
                return self.cycle.status
        raise AssertionError(f"not terminal after {most_slices} slices: {self.cycle}")

    def next_day(self) -> None:
        """The run date after this one: postings stay, sightings are gone (R24, R30)."""
        self.store.seen.clear()
        self.cycle = self._fresh(self.cycle.run_date + timedelta(days=1))

    def _fresh(self, run_date: date) -> JobPostingCollectionCycle:
        made = JobPostingCollectionCycle(id=1, job_source_id=1, run_date=run_date)
        return made.prepare("jobs.example", NOW)

    def _describe(self, cycle: JobPostingCollectionCycle) -> CollectionSliceDescriptor:
        return CollectionSliceDescriptor(
            source=self.source,
            run_date=cycle.run_date,
            cursor=Cursor.decoded(cycle.cursor) if cycle.cursor else None,
            consumed=cycle.consumed,
            daily_budget=self.daily_budget,
            slice_budget=self.slice_budget,
            progress=cycle.progress,
            stated_total=cycle.stated_total,
            min_delay_seconds=1.5,
            lookup=self.store,
        )

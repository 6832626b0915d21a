"""The real queue as a machine drives it: services over one store, its clock moved by offset alone.

Invariant: every session's clock stands at ``BEGINNING``; only the simulated offset moves (R15), so
each instant in the tables is known to the microsecond.
"""

import threading
import time
from contextlib import suppress
from datetime import date, datetime

from sqlalchemy import text

from collection_pipeline.checkpoints import BEFORE_CAPTURE, BEFORE_CAPTURE_COMMIT
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.collection.cleanup import SeenRowCleanup
from collection_pipeline.collection.permit import LeasedSlicePermit
from collection_pipeline.collection.preparation import CyclePreparation
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.settings import load_settings
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.schema import metadata
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.operations import sla_snapshots
from collection_pipeline.store.slice_end import AppliedCollectionSlice
from collection_pipeline.store.sources import JobSources
from collection_pipeline_tests.kit.database import PLATFORMS, Store
from collection_pipeline_tests.kit.morning import Morning, calling_at, jump_to
from collection_pipeline_tests.kit.queue_rows import CycleKey, SlicePlan, SourceRow
from collection_pipeline_tests.kit.queue_slices import outcome_of

BEGINNING = datetime(2026, 11, 30, 14, 59, 59, 999_600)
"""23:59:59.9996 KST on 30 November 2026, naive UTC: one server rounds it to the next day."""
KINDS = {"board": "greenhouse", "other board": "lever", "aggregator": "saramin", "unknown": "line"}


class CaptureKilled(Exception):
    """The capturing run dies at a point of the test's choice."""


class QueueWorld:
    """The services of one process, and what no service does: history, hands, other releases."""

    def __init__(self, store: Store) -> None:
        self.store = store
        store.now = BEGINNING
        settings = load_settings(
            {"COLLECTION_SARAMIN_ACCESS_KEY": "key", "COLLECTION_SEEN_CLEANUP_CHUNK_ROWS": "2"}
        )
        pipeline = assemble(settings, store.url)
        self.gateway = pipeline.gateway
        self.morning = Morning(store)
        self.creation = self.morning.creation
        self.repository = store.repository
        self.preparation = CyclePreparation(
            store.transactions, store.clock, store.gate, store.repository, self.gateway
        )
        self.cleanup = SeenRowCleanup(store.transactions, store.clock, settings)

    def empty(self) -> None:
        """No row in any table; the clock is at the beginning again."""
        names = [table.name for table in metadata.sorted_tables]
        asked = " UNION ALL ".join(f"(SELECT '{one}' AS name FROM {one} LIMIT 1)" for one in names)
        for row in self.store.rows(asked):
            self.store.write(f"DELETE FROM {row['name']}")

    def cycle_ids(self) -> dict[CycleKey, int]:
        """The database's ids of the cycles, which break ties in the queue."""
        found = self.store.rows("SELECT id, job_source_id, run_date FROM " + cycles.name)
        return {(row["job_source_id"], row["run_date"]): row["id"] for row in found}

    def header_status(self, day: date) -> str:
        """The state of a day's snapshot header."""
        found = f"SELECT capture_status FROM {sla_snapshots.name} WHERE snapshot_date = :day"
        return str(self.store.value(found, day=day))

    def add_source(self, kind: str) -> SourceRow:
        """A source of one of ``KINDS``."""
        platform = KINDS[kind]
        condition = {"lever": "site", "saramin": "keywords"}.get(platform, "board")
        source_id = self.store.add_source(platform)
        self._set_condition(source_id, f'{{"{condition}": ["demo"]}}')
        host = ""
        if kind != "unknown":
            host = self.gateway.host_of(platform, {condition: ["demo"]})
        return SourceRow(
            source_id, "a source", platform, host, kind == "aggregator", kind != "unknown"
        )

    def configure(self, source: SourceRow, *, well: bool, budget: bool) -> None:
        """Rows that only a hand or another release can have written (R2)."""
        if budget:
            pages = "NULL" if well else "0"
            self.store.write(
                f"UPDATE job_sources SET daily_list_pages = {pages} WHERE id = :id", id=source.id
            )
        else:
            key = {"lever": "site", "saramin": "keywords"}.get(source.platform, "board")
            self._set_condition(source.id, f'{{"{key if well else "nonsense"}": ["demo"]}}')

    def switch(self, source_id: int, *, active: bool) -> None:
        """Enable or disable a source."""
        self.store.run(
            lambda c: JobSources().switch(c, source_id, active=active, now=self.store.clock.now(c))
        )

    def switch_flag(self, name: str, *, enabled: bool, now: datetime) -> None:
        """Through the store's own door, at the simulated time."""
        frozen, self.store.now = self.store.now, now
        try:
            self.store.switch_on(name, enabled=enabled)
        finally:
            self.store.now = frozen

    def move_to(self, target: datetime) -> None:
        """The simulated clock; never back."""
        jump_to(self.store, target)

    def claim(self, cap: int) -> ClaimedCycle | None:
        """One claim; ``cap`` leases a host."""
        return self.repository.claim_next(self.store.terms(cap))

    def has_due(self) -> bool:
        """What the sensor is told."""
        return self.store.run(lambda c: self.repository.has_due(c, self.store.terms()))

    def store_slice(
        self, claimed: ClaimedCycle, plan: SlicePlan, now: datetime, *, waits: bool
    ) -> bool:
        """What a worker does at the end of its slice; False where it was stale."""
        applied = AppliedCollectionSlice(
            outcome_of(plan, now),
            SliceAttempt(claimed.token, "worker", 1.5),
            DetailState.PENDING if waits else DetailState.NONE,
            None,
        )
        cycle = claimed.cycle
        return self.repository.apply_slice(cycle.id, cycle.run_date, applied) is not None

    def may_send(self, claimed: ClaimedCycle) -> bool:
        """The permit's word before a request."""
        permit = LeasedSlicePermit(
            self.store.transactions,
            self.store.clock,
            claimed,
            PLATFORMS,
            ends_at=time.monotonic() + 300,
            stop=threading.Event(),
        )
        return permit.stop_reason() is None

    def capture(self, *, dies: bool = False, stopped: bool = False) -> None:
        """A capturing run that starts now; it dies just before its commit, or is told to stop."""
        stop = threading.Event()
        if stopped:
            stop.set()
        if not dies:
            self.morning.service.capture_at_nine(worker="capturer", stop=stop)
            return
        with suppress(CaptureKilled), calling_at(BEFORE_CAPTURE_COMMIT, _die):
            self.morning.service.capture_at_nine(worker="capturer", stop=stop)

    def capture_ahead(self, cutoff: datetime) -> None:
        """A run that holds the gate when its cutoff comes."""
        with calling_at(BEFORE_CAPTURE, lambda: self.move_to(cutoff)):
            self.morning.service.capture_at_nine(worker="capturer")

    def older_run(self, source_id: int, day: date, now: datetime) -> dict[str, object]:
        """A terminal history row that an older system wrote (R44)."""
        self.store.write(
            "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status,"
            " fetched_count, finished_at, created_at) VALUES (:s, :d, 'SUCCESS', 7, :n, :n)",
            s=source_id,
            d=day,
            n=now,
        )
        counters = ("new_count", "updated_count", "missed_count", "closed_count")
        return {
            "run_status": "SUCCESS",
            "fetched_count": 7,
            **dict.fromkeys((*counters, "detail_failure_count"), 0),
            "failure_reason": None,
            "started_at": None,
            "finished_at": now,
        }

    def stray_seen_row(self, cycle_id: int, job_id: str, now: datetime) -> None:
        """A seen row that a terminal cycle should not have (R31)."""
        self.store.write(
            "INSERT INTO job_posting_collection_seen_postings"
            " (cycle_id, source_job_id, list_position, created_at) VALUES (:c, :j, 0, :n)",
            c=cycle_id,
            j=job_id,
            n=now,
        )

    def sight_on(self, source_id: int, job_id: str, day: date) -> None:
        """Another release sights a posting on a later day (R17, R34)."""
        self.store.write(
            "UPDATE job_postings SET last_seen_run_date = :d, status = 'OPEN', missed_count = 0,"
            " closed_at = NULL, status_reason = NULL"
            " WHERE job_source_id = :s AND source_job_id = :j",
            d=day,
            s=source_id,
            j=job_id,
        )

    def _set_condition(self, source_id: int, condition: str) -> None:
        self.store.run(
            lambda c: c.execute(
                text("UPDATE job_sources SET search_condition = :c WHERE id = :id"),
                {"c": condition, "id": source_id},
            )
        )


def _die() -> None:
    raise CaptureKilled

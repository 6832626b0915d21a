"""The snapshot's service over a store whose clock stands still, and the points where it is held.

Invariant: time passes only when the test says so: each session stands at its store's ``now``, and
``jump_to`` moves all of them, also those inside a transaction, by the simulated offset. Every
instant is naive UTC of one day whose cutoff is ``NINE``.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, event

from collection_pipeline import checkpoints
from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.snapshot import (
    CaptureReport,
    CollectionSlaSnapshotDomainService,
)
from collection_pipeline.collection.snapshot_attempt import gate_session_terms
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import SnapshotHeader
from collection_pipeline.settings import load_settings
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline_tests.kit.database import DAY, PLATFORMS, Row, Store
from collection_pipeline_tests.kit.rivals import HeldCommit, run_sql

NINE = datetime(2026, 12, 1)
"""09:00 KST of ``DAY``."""
HEADERS = "SELECT * FROM job_posting_collection_sla_snapshots ORDER BY snapshot_date"
ITEMS = (
    "SELECT * FROM job_posting_collection_sla_snapshot_items ORDER BY snapshot_id, job_source_id"
)
SET_FETCHED = "UPDATE job_posting_collection_cycles SET fetched_count = :n WHERE job_source_id = :s"
OVERDUE_SECONDS = 61.5
"""After the cutoff: recovery may settle the day."""
ATTEMPTS = "SELECT * FROM job_posting_collection_sla_capture_attempts ORDER BY id"


def after(seconds: float) -> datetime:
    """So many seconds after the cutoff; before it where negative."""
    return NINE + timedelta(seconds=seconds)


class Morning:
    """The snapshot's service of one process; ``settings`` are names without the prefix."""

    def __init__(self, store: Store, **settings: object) -> None:
        self.store = store
        self.settings = load_settings({f"COLLECTION_{n}": str(v) for n, v in settings.items()})
        gate = CollectionSlaCutoffGate(store.transactions, store.clock, self.settings.sla_cutoff)
        self.creation = CollectionCycleDomainService(
            store.transactions, store.clock, gate, PLATFORMS
        )
        self.service = CollectionSlaSnapshotDomainService(
            store.transactions, store.clock, self.creation, self._open_gate_engine, self.settings
        )

    def capture(self, *, at: float | None = None, worker: str = "w1", **more: Any) -> CaptureReport:
        """One attempt; ``at`` (seconds after the cutoff) is where the process's clock stands."""
        if at is not None:
            self.store.now = after(at)
        return self.service.capture_at_nine(worker=worker, **more)

    def header(self) -> Row:
        """The whole row of the day's header."""
        return self.store.row(
            "SELECT * FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day", day=DAY
        )

    def items(self) -> list[Row]:
        """Whole rows, by source."""
        return self.store.rows(ITEMS)

    def attempts(self) -> list[Row]:
        """Whole rows, in the order in which they began."""
        return self.store.rows(ATTEMPTS)

    def _open_gate_engine(self) -> Engine:
        tolerance = self.settings["SLA_CAPTURE_TOLERANCE_SECONDS"]
        terms = gate_session_terms(tolerance, self.settings["SLA_LATE_START_SECONDS"])
        engine = open_engine(self.store.url, terms)
        event.listen(engine, "checkout", self.store._freeze)
        return engine


def jump_to(store: Store, target: datetime) -> None:
    """Every session of the database that stands where ``store`` does is at ``target`` from now."""
    store.run(lambda connection: store.clock.move_to(connection, target))


def snapshot_rows(store: Store) -> tuple[list[Row], list[Row]]:
    """Every header and every item, whole."""
    return store.rows(HEADERS), store.rows(ITEMS)


def sources_in_every_state(store: Store, **columns: Any) -> dict[CycleStatus, int]:
    """A source for each state, with a cycle of the day in that state; ids by state."""
    made = {}
    for status in CycleStatus:
        made[status] = store.add_source()
        store.add_cycle(made[status], status, **columns)
    return made


@contextmanager
def held_at(point: str) -> Iterator[HeldCommit]:
    """The first thread that passes ``point`` stands there until it is let go."""
    held = HeldCommit()

    def hook(name: str) -> None:
        if name == point:
            held.hold()

    checkpoints.install(hook)
    try:
        yield held
    finally:
        held.let_go()
        checkpoints.install(None)


@contextmanager
def calling_at(point: str, happening: Callable[[], object]) -> Iterator[list[str]]:
    """Calls ``happening`` at the first pass of ``point``; the list holds every passed point."""
    passed: list[str] = []
    once = threading.Event()

    def hook(name: str) -> None:
        passed.append(name)
        if name == point and not once.is_set():
            once.set()
            happening()

    checkpoints.install(hook)
    try:
        yield passed
    finally:
        checkpoints.install(None)


@contextmanager
def just_before(words: str, happening: Callable[[Connection], object]) -> Iterator[None]:
    """Calls ``happening`` before the first statement with ``words``, with its connection."""
    once = threading.Event()

    def noting(*arguments: Any) -> None:
        if words in arguments[2] and not once.is_set():
            once.set()
            happening(arguments[0])

    event.listen(Engine, "before_cursor_execute", noting)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", noting)
    assert once.is_set(), f"no statement with {words!r} came"


def fetched_items(morning: Morning) -> dict[int, int]:
    """``fetched_count`` of the items by source."""
    return {row["job_source_id"]: row["fetched_count"] for row in morning.items()}


def write_under_gate(store: Store, source: int, fetched: int) -> None:
    """A state write as the queue makes them: the gate first, then the cycle."""
    store.gate.with_daily_write_gate(
        DAY, lambda connection: run_sql(connection, SET_FETCHED, n=fetched, s=source) and None
    )


def recovered(morning: Morning, at: float = OVERDUE_SECONDS) -> list[SnapshotHeader]:
    """What recovery made final at that moment after the cutoff."""
    morning.store.now = after(at)
    return morning.service.mark_missed_snapshot()


def simulated_store(open_store: Callable[..., Store]) -> Store:
    """One process at 08:50; time is simulated, so that the server's own start says nothing."""
    made = open_store(now=after(-600))
    jump_to(made, after(-600) + timedelta(microseconds=1))
    return made


def uncaptured_morning(store: Store) -> Morning:
    """The service with a source, both flags on and the day's header made."""
    store.switch_on()
    store.add_source()
    made = Morning(store)
    made.creation.create_daily_cycles()
    return made

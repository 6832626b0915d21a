"""No state write passes the capture by: each one waits for its day's gate (R13, R36, I7)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.collection.assembly import open_sender
from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.preparation import CyclePreparation
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.platforms.adapters.registry import build_registry
from collection_pipeline.platforms.gateway import PlatformGateway
from collection_pipeline.store.cycle_rows import lock_cycle
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline_tests.kit.database import DAY, HOST, LEASE, NOON, PLATFORMS, Store
from collection_pipeline_tests.kit.executor_fixtures import make_settings
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    run_sql,
    wait_until_blocked,
)
from collection_pipeline_tests.kit.slices import FAILURE

HEADERS = "job_posting_collection_sla_snapshots"
CYCLES = "job_posting_collection_cycles"
NOT_STARTED, RUNNING = CycleStatus.NOT_STARTED, CycleStatus.RUNNING
Write = Callable[[Store, int], object]


def making_the_days_cycles(store: Store, _cycle_id: int) -> None:
    """Midnight, and the first step of every tick; a source without a cycle waits for one."""
    store.add_source()
    service = CollectionCycleDomainService(store.transactions, store.clock, store.gate, PLATFORMS)
    service.create_daily_cycles()


def making_one_cycle(store: Store, _cycle_id: int) -> None:
    """One source's cycle."""
    store.repository.create_if_absent(store.add_source(), DAY)


def preparing(store: Store, _cycle_id: int) -> None:
    """NOT_STARTED to PENDING."""
    settings = make_settings()
    gateway = PlatformGateway(
        build_registry(settings),
        lambda: open_sender(settings),
        store.throttle,
        OpenConnections(),
        settings,
    )
    CyclePreparation(
        store.transactions, store.clock, store.gate, store.repository, gateway
    ).prepare(DAY)


def saving(store: Store, cycle_id: int) -> None:
    """A transition that no lease protects."""
    cycle = store.run(lambda connection: lock_cycle(connection, cycle_id))
    assert cycle is not None and store.repository.save(cycle.prepare(HOST, NOON))


def rejecting(store: Store, cycle_id: int) -> None:
    """A bad descriptor."""
    store.repository.reject(cycle_id, DAY, FAILURE)


def renewing(store: Store, cycle_id: int) -> None:
    """A longer lease."""
    store.repository.renew(cycle_id, DAY, "mine", 1_200)


def storing(store: Store, cycle_id: int) -> None:
    """The end of a slice."""
    store.repository.fail(cycle_id, DAY, SliceAttempt("mine", "worker"), FAILURE)


def recovering(store: Store, _cycle_id: int) -> None:
    """The end of an expired lease."""
    store.repository.recover_expired()


@pytest.mark.parametrize(
    ("status", "write"),
    [
        (NOT_STARTED, making_the_days_cycles),
        (NOT_STARTED, making_one_cycle),
        (NOT_STARTED, preparing),
        (NOT_STARTED, saving),
        (NOT_STARTED, rejecting),
        (RUNNING, renewing),
        (RUNNING, storing),
        (RUNNING, recovering),
    ],
)
def test_every_state_write_waits_for_the_capture_of_its_day(
    store: Store, other: Store, status: CycleStatus, write: Write
) -> None:
    """R13, R36, I7: the gate comes before the cycle's row; a claim has a test of its own."""
    store.gate.ensure_headers()
    columns: dict[str, Any] = {"lease_token": "mine"} if status is RUNNING else {}
    cycle_id = store.add_cycle(store.add_source(), status, **columns)
    if write is recovering:
        store.now = NOON + LEASE + timedelta(seconds=1)
    before = store.rows(f"SELECT * FROM {CYCLES}")
    with rivals() as start, open_transaction(other) as capture:
        run_sql(capture, f"SELECT * FROM {HEADERS} WHERE snapshot_date = :day FOR UPDATE", day=DAY)
        writing = start(lambda: write(store, cycle_id))
        wait_until_blocked(other)
        assert other.rows(f"SELECT * FROM {CYCLES}") == before
        # Whoever waits for the gate holds no cycle yet, or the capture would wait for it in turn.
        run_sql(capture, f"SELECT id FROM {CYCLES} WHERE run_date = :day FOR UPDATE", day=DAY)
        capture.commit()
        writing.result(PATIENCE_SECONDS)
    assert store.rows(f"SELECT * FROM {CYCLES}") != before

"""Leases that ran out: recovery ends the cycle once and revokes its token (R11, R12)."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.slice_end import StoredSlice
from collection_pipeline_tests.kit.database import DAY, LEASE, NOON, Store
from collection_pipeline_tests.kit.rivals import winner_then_loser
from collection_pipeline_tests.kit.slices import (
    complete,
    store_slice,
    work_of,
)

MICROSECOND = timedelta(microseconds=1)


CYCLES = "job_posting_collection_cycles"


OpenStore = Callable[..., Store]


def storing(store: Store, claimed: ClaimedCycle, ids: list[str]) -> StoredSlice | None:
    """A worker's last step."""
    return store_slice(store, claimed, complete(work_of(ids)))


def late(store: Store) -> Store:
    """The same store after the end of every lease that was granted at noon."""
    store.now = NOON + LEASE
    return store


def traces_of(store: Store, *words: str) -> list[str]:
    """Tables in which any of the words is found."""
    return [name for name, rows in store.tables().items() if any(w in str(rows) for w in words)]


def test_a_store_that_comes_first_leaves_recovery_nothing(
    store: Store, open_store: OpenStore
) -> None:
    """R11, R14: the recovering process waits for the row and finds the cycle ended."""
    store.due_cycle()
    claimed = store.claim()
    rescuer = late(open_store())
    stored, recovered = winner_then_loser(
        store,
        lambda: storing(store, claimed, ["1"]),
        rescuer.repository.recover_expired,
        f"UPDATE {CYCLES}",
    )
    assert stored is not None and recovered == []
    assert store.status(claimed.cycle.id) == "SUCCESS"
    assert traces_of(store, "LEASE_EXPIRED") == []


def test_a_recovery_that_comes_first_revokes_the_token(store: Store, open_store: OpenStore) -> None:
    """R11, R14: the slow worker waits for the row, finds its token gone and leaves nothing."""
    store.due_cycle()
    claimed = store.claim()
    rescuer = late(open_store())
    recovered, stored = winner_then_loser(
        rescuer,
        rescuer.repository.recover_expired,
        lambda: storing(store, claimed, ["loser"]),
        f"UPDATE {CYCLES}",
    )
    assert [one.cycle.id for one in recovered] == [claimed.cycle.id] and stored is None
    row = store.cycle(claimed.cycle.id)
    assert (row["cycle_status"], row["failure_reason"]) == ("FAILED", "LEASE_EXPIRED")
    assert row["lease_token"] is None and traces_of(store, "loser") == []


@pytest.mark.parametrize("first", ["renewal", "recovery"])
def test_a_renewal_and_a_recovery_exclude_each_other(
    store: Store, open_store: OpenStore, first: str
) -> None:
    """R11: a lease that was renewed in time is not recovered; a recovered one is not renewed."""
    store.due_cycle()
    claimed = store.claim()
    rescuer = late(open_store())
    store.now = NOON + LEASE - MICROSECOND

    def renewing() -> bool:
        return store.repository.renew(claimed.cycle.id, DAY, claimed.token, 600)

    recovering = rescuer.repository.recover_expired
    if first == "renewal":
        won, lost = winner_then_loser(store, renewing, recovering, f"UPDATE {CYCLES}")
        assert won is True and lost == []
        assert store.status(claimed.cycle.id) == "RUNNING"
    else:
        found, renewed = winner_then_loser(rescuer, recovering, renewing, f"UPDATE {CYCLES}")
        assert len(found) == 1 and renewed is False
        assert store.status(claimed.cycle.id) == "FAILED"


def test_two_recoveries_end_a_cycle_once(store: Store, open_store: OpenStore) -> None:
    """R11, I5: one slice row, one runs row, one counted day."""
    store.due_cycle()
    store.claim()
    late(store)
    second = late(open_store())
    results = winner_then_loser(
        store,
        store.repository.recover_expired,
        second.repository.recover_expired,
        f"UPDATE {CYCLES}",
    )
    assert [len(result) for result in results] == [1, 0]
    for table in ("collection_slices", "job_posting_collection_runs"):
        assert store.value(f"SELECT COUNT(*) FROM {table}") == 1
    assert store.value("SELECT abnormal_days FROM job_source_health") == 1


def test_recovery_leaves_live_leases_alone(store: Store) -> None:
    """R11: a cycle is recovered from ``lease_until`` on, never before."""
    for _ in range(2):
        store.due_cycle()
    first = store.claim()
    store.now = NOON + MICROSECOND
    second = store.claim()
    store.now = NOON + LEASE
    assert store.run(store.repository.has_expired)
    recovered = store.repository.recover_expired()
    assert [one.cycle.id for one in recovered] == [first.cycle.id]
    assert store.status(second.cycle.id) == "RUNNING"
    assert not store.run(store.repository.has_expired)


def test_recovery_ends_cycles_of_days_that_are_over(store: Store) -> None:
    """R11, R16: under the gate of their own day."""
    store.due_cycle()
    claimed = store.claim()
    store.now = NOON + timedelta(days=2)
    assert [one.cycle.run_date for one in store.repository.recover_expired()] == [DAY]
    assert store.status(claimed.cycle.id) == "FAILED"


def test_a_rescue_does_not_overwrite_a_finished_cycle(store: Store) -> None:
    """mysql.md: the classic fault; a terminal cycle never changes (R12)."""
    store.due_cycle()
    assert storing(store, store.claim(), ["1"]) is not None
    late(store)
    before = store.tables()
    assert store.repository.recover_expired() == []
    assert store.tables() == before

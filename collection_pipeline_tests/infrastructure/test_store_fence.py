"""A result is stored only under a live lease: winners and losers on two connections (R11, R14)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline.store.slice_end import StoredSlice
from collection_pipeline_tests.kit.database import DAY, HOST, LEASE, NOON, Store
from collection_pipeline_tests.kit.rivals import winner_then_loser
from collection_pipeline_tests.kit.slices import (
    FAILURE,
    complete,
    exhausted,
    failed,
    store_slice,
    unfinished,
    work_of,
)

MICROSECOND = timedelta(microseconds=1)
CYCLES = "job_posting_collection_cycles"
ENDS = [unfinished, complete, exhausted, failed]
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


@pytest.mark.parametrize("end", ENDS)
def test_a_stale_worker_cannot_store_a_slice(store: Store, end: Callable[..., Any]) -> None:
    """R14: the cycle was put back and claimed again; the old token leaves no row in any table."""
    store.due_cycle()
    stale = store.claim()
    assert store_slice(store, stale, unfinished(work_of(["1"]))) is not None
    fresh = store.claim()
    before = store.tables()
    assert store_slice(store, stale, end(work_of(["loser"], drift={"f": 1}))) is None
    assert store.tables() == before
    assert storing(store, fresh, ["2"]) is not None


@pytest.mark.parametrize("end", ENDS)
def test_a_lease_that_the_databases_clock_ended_is_refused_though_its_token_fits(
    store: Store, end: Callable[..., Any]
) -> None:
    """R14: recovery need not have run; the lease ends at ``lease_until``, not after it."""
    store.due_cycle()
    claimed = store.claim()
    store.now = NOON + LEASE
    before = store.tables()
    assert store_slice(store, claimed, end(work_of(["loser"]))) is None
    assert store.tables() == before


def test_a_lease_holds_until_its_last_microsecond(store: Store) -> None:
    """R14: by the database's clock."""
    store.due_cycle()
    claimed = store.claim()
    store.now = NOON + LEASE - MICROSECOND
    assert storing(store, claimed, ["1"]) is not None


def test_a_cycle_that_has_ended_takes_no_further_result(store: Store) -> None:
    """R12: not even under the token that ended it."""
    store.due_cycle()
    claimed = store.claim()
    assert storing(store, claimed, ["1"]) is not None
    before = store.tables()
    assert storing(store, claimed, ["loser"]) is None
    assert store.tables() == before


@pytest.mark.parametrize("end", [complete, exhausted, failed])
def test_what_has_ended_is_not_saved_over(store: Store, end: Callable[..., Any]) -> None:
    """R12: a terminal cycle has no lease to lose, and is written by nobody all the same."""
    store.due_cycle()
    claimed = store.claim()
    assert store_slice(store, claimed, end(work_of(["1"]))) is not None
    before = store.tables()
    waiting = replace(claimed.cycle, status=CycleStatus.PENDING, lease_token=None)
    assert not store.repository.save(waiting)
    assert not store.repository.reject(claimed.cycle.id, DAY, FAILURE)
    assert store.tables() == before


def test_a_slice_that_was_put_back_cannot_be_stored_twice(store: Store) -> None:
    """R14: its own token was freed with it."""
    store.due_cycle()
    claimed = store.claim()
    assert store_slice(store, claimed, unfinished(work_of(["1"]))) is not None
    before = store.tables()
    assert store_slice(store, claimed, unfinished(work_of(["loser"]))) is None
    assert store.tables() == before


def test_another_cycles_token_opens_nothing(store: Store) -> None:
    """R14: the fence is (id, token), not the token alone."""
    for _ in range(2):
        store.due_cycle()
    mine, yours = store.claim(), store.claim()
    before = store.tables()
    attempt = SliceAttempt(mine.token, "worker")
    assert store.repository.fail(yours.cycle.id, DAY, attempt, FAILURE) is None
    limit = CollectionBudgetLimit.LIST_PAGES
    assert store.repository.exhaust_budget(yours.cycle.id, DAY, attempt, limit) is None
    assert not store.repository.renew(yours.cycle.id, DAY, mine.token, 600)
    assert store.tables() == before


@pytest.mark.parametrize("first", ["fresh", "stale"])
def test_of_two_tokens_only_the_cycles_own_stores(store: Store, other: Store, first: str) -> None:
    """R14: the stale worker may come before or after; it never leaves a row."""
    store.due_cycle()
    stale = store.claim()
    store_slice(store, stale, unfinished(work_of(["1"])))
    fresh = other.claim()
    if first == "stale":
        assert storing(store, stale, ["loser"]) is None
        assert storing(other, fresh, ["2"]) is not None
    else:
        won, lost = winner_then_loser(
            other,
            lambda: storing(other, fresh, ["2"]),
            lambda: storing(store, stale, ["loser"]),
            f"UPDATE {CYCLES}",
        )
        assert won is not None and lost is None
    assert traces_of(store, "loser") == []
    assert len(store.rows("SELECT id FROM collection_slices")) == 2


def test_a_claim_and_a_stale_store_at_once_leave_only_the_claim(store: Store, other: Store) -> None:
    """R14, I2: while the new claim stands before its commit, the old token waits and loses."""
    store.due_cycle()
    stale = store.claim()
    store_slice(store, stale, unfinished(work_of(["1"])))
    fresh, lost = winner_then_loser(
        other, other.claim, lambda: storing(store, stale, ["loser"]), f"UPDATE {CYCLES}"
    )
    assert lost is None and traces_of(store, "loser") == []
    assert store.cycle(fresh.cycle.id)["lease_token"] == fresh.token


def test_what_no_lease_protects_is_not_saved_over_a_running_cycle(store: Store) -> None:
    """R14: ``save`` and ``reject`` write waiting cycles only."""
    store.due_cycle()
    claimed = store.claim()
    before = store.tables()
    assert not store.repository.save(claimed.cycle)
    assert not store.repository.reject(claimed.cycle.id, DAY, FAILURE)
    assert store.tables() == before


def test_an_old_copy_is_not_saved_over_a_cycle_that_went_on(store: Store) -> None:
    """R1, R6: back in the queue after a slice it is PENDING again, with a cursor to go on from."""
    made = store.repository.create_if_absent(store.add_source(), DAY)
    prepared = made.prepare(HOST, NOON)
    assert store.repository.save(prepared)
    store_slice(store, store.claim(), unfinished(work_of(["1"])))
    before = store.tables()
    for copy in (made, prepared, made.reject(FAILURE, NOON), prepared.reject(FAILURE, NOON)):
        assert not store.repository.save(copy)
    assert store.tables() == before


def test_a_cycle_is_not_saved_once_its_day_is_over(store: Store) -> None:
    """R16: it keeps the state in which it ended the day."""
    made = store.repository.create_if_absent(store.add_source(), DAY)
    store.now = NOON + timedelta(hours=12)
    assert not store.repository.save(made.prepare(HOST, NOON))
    assert not store.repository.save(made.reject(FAILURE, NOON))
    assert store.status(made.id) == "NOT_STARTED"

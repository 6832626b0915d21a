"""The pace of one host over all processes (R26)."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline_tests.kit.database import HOST, NOON, Store
from collection_pipeline_tests.kit.own_processes import in_own_processes
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS, rivals, winner_then_loser
from collection_pipeline_tests.kit.statement_costs import listening

PACE = "external_request_host_limits"
LONGER_THAN_PATIENCE = PATIENCE_SECONDS + 5.0
OpenStore = Callable[..., Store]


def next_allowed(store: Store, host: str = HOST) -> object:
    """The host's next free moment."""
    return store.value(f"SELECT next_allowed_at FROM {PACE} WHERE host = :host", host=host)


def waits(store: Store, times: int, delay: float = 1.0, host: str = HOST) -> list[float]:
    """Seconds that so many reservations have to wait."""
    slots = [store.throttle.reserve(host, delay, 10_000) for _ in range(times)]
    return [slot.wait_seconds for slot in slots if isinstance(slot, ThrottleSlot)]


def reserve_in_a_process(url: str, times: int) -> list[float]:
    """What a process of its own reserves."""
    store = Store(url)
    try:
        return waits(store, times, 0.01)
    finally:
        store.close()


def test_reservations_of_many_processes_lie_a_delay_apart(store: Store) -> None:
    """I6: the clock stands still, so each of 4 x 25 waits is a different multiple of 10 ms."""
    got = in_own_processes(reserve_in_a_process, [(store.url, 25)] * 4)
    slots = sorted(wait for one in got for wait in one)
    assert slots == pytest.approx([number * 0.01 for number in range(100)], abs=1e-9)
    assert next_allowed(store) == NOON + timedelta(seconds=1)


def test_the_first_request_to_a_host_does_not_wait(store: Store) -> None:
    """R26: ``max(now, next_allowed_at)`` with no row yet."""
    assert waits(store, 3) == [0.0, 1.0, 2.0]


def test_a_host_that_rested_gives_its_moment_at_once(store: Store) -> None:
    """R26: unused time is not saved up."""
    waits(store, 1)
    store.now = NOON + timedelta(seconds=60)
    assert waits(store, 2) == [0.0, 1.0]


def test_two_first_requests_to_a_host_at_once_get_two_moments(store: Store, other: Store) -> None:
    """R26: the loser waits for the row that the winner makes."""
    got = winner_then_loser(store, lambda: waits(store, 1), lambda: waits(other, 1), PACE)
    assert got == ([0.0], [1.0])


def test_two_requests_at_once_get_two_moments(store: Store, other: Store) -> None:
    """R26: reserved under the host row's lock."""
    waits(store, 1)
    got = winner_then_loser(store, lambda: waits(store, 1), lambda: waits(other, 1), PACE)
    assert got == ([1.0], [2.0])


def test_a_wait_is_told_and_not_waited_for(store: Store, other: Store) -> None:
    """R25, I3: the reservation ends at once, and with it its transaction and its lock."""
    waits(store, 1, delay=LONGER_THAN_PATIENCE)
    with rivals() as start:
        reserved = start(lambda: waits(store, 1, delay=LONGER_THAN_PATIENCE))
        assert reserved.result(PATIENCE_SECONDS) == [LONGER_THAN_PATIENCE]
        assert waits(other, 1) == [2 * LONGER_THAN_PATIENCE]


def test_hosts_do_not_wait_for_each_other(store: Store) -> None:
    """R26: one row a host, and a port makes another host."""
    waits(store, 5)
    assert waits(store, 1, host=f"{HOST}:8443") == [0.0]


def test_a_moment_beyond_the_slices_time_is_refused_and_nothing_reserved(store: Store) -> None:
    """R26: the refusal says when the host is free."""
    waits(store, 1, delay=100.0)
    before = store.tables()
    refused = store.throttle.reserve(HOST, 1.0, 99.999999)
    assert refused == ThrottleRefusal(NOON + timedelta(seconds=100))
    assert store.tables() == before
    assert store.throttle.reserve(HOST, 1.0, 100.0) == ThrottleSlot(100.0)


def slot_of(store: Store, wait: float, missed: ThrottleSlot | None = None) -> ThrottleSlot:
    """A slot that lies ``wait`` seconds away."""
    slot = store.throttle.reserve(HOST, 1.0, 100.0, missed=missed)
    assert slot == ThrottleSlot(wait)
    assert isinstance(slot, ThrottleSlot)
    return slot


def test_a_missed_slot_is_free_again_where_nobody_reserved_after_it(store: Store) -> None:
    """R26: nothing was sent in it, so the host is not kept idle for another delay."""
    slot_of(store, 0.0)
    missed = slot_of(store, 1.0)
    slot_of(store, 1.0, missed)
    assert next_allowed(store) == NOON + timedelta(seconds=2)


def test_a_missed_slot_is_lost_once_somebody_reserved_after_it(store: Store) -> None:
    """R26: the one after it counts on its distance."""
    missed = slot_of(store, 0.0)
    slot_of(store, 1.0)
    slot_of(store, 2.0, missed)


def test_a_missed_slot_does_not_end_a_pause(store: Store) -> None:
    """R26: the host has asked for it in the meantime."""
    missed = slot_of(store, 0.0)
    store.throttle.hold_back(HOST, 60.0)
    slot_of(store, 60.0, missed)


def test_a_host_is_held_back_forward_only(store: Store) -> None:
    """R26: a shorter pause never shortens a longer one; other sources of the host wait too."""
    store.throttle.hold_back(HOST, 60.0)
    store.throttle.hold_back(HOST, 5.0)
    assert next_allowed(store) == NOON + timedelta(seconds=60)
    store.throttle.hold_back(HOST, 60.5)
    assert next_allowed(store) == NOON + timedelta(seconds=60.5)
    assert waits(store, 1) == [60.5]


def test_a_pause_counts_from_now_not_from_the_last_reservation(store: Store) -> None:
    """R26: ``Retry-After`` is relative to the answer."""
    waits(store, 3, delay=10.0)
    store.throttle.hold_back(HOST, 20.0)
    assert next_allowed(store) == NOON + timedelta(seconds=30)


def test_a_pause_and_a_reservation_at_once_both_count(store: Store, other: Store) -> None:
    """R26: the reservation that waited for the pause's lock begins after the pause."""
    waits(store, 1)
    _, got = winner_then_loser(
        store, lambda: store.throttle.hold_back(HOST, 60.0), lambda: waits(other, 1), PACE
    )
    assert got == [60.0]


def test_a_reservation_takes_no_other_lock(store: Store, other: Store) -> None:
    """mysql.md: the throttle row is never in a transaction with gate or cycles."""
    with listening(store.engine) as heard:
        waits(store, 1)
        store.throttle.hold_back(HOST, 1.0)
    assert all(PACE in statement for statement, _ in heard.locking)

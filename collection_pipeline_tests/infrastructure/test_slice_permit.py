"""What ends a slice before its next request, asked of the database (R17, R18, R27, I2)."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from collection_pipeline.collection.permit import LeasedSlicePermit
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.runnable import DISPATCH_FLAG
from collection_pipeline_tests.kit.database import LEASE, NOON, PLATFORMS, Store
from collection_pipeline_tests.kit.slices import store_slice, unfinished, work_of

LAST_MOMENT = NOON + timedelta(hours=12) - timedelta(microseconds=1)
LOST = "the lease is lost"
NOT_RUNNABLE = "the source is not runnable any more"
ENDLESS = 24 * 60 * 60
Strike = Callable[[Store, ClaimedCycle], object]


def permit_of(
    store: Store, claimed: ClaimedCycle, stop: threading.Event | None = None
) -> LeasedSlicePermit:
    """The permit of a slice whose own time is long."""
    return LeasedSlicePermit(
        store.transactions,
        store.clock,
        claimed,
        PLATFORMS,
        ends_at=time.monotonic() + ENDLESS,
        stop=stop or threading.Event(),
    )


def expire(store: Store, _claimed: ClaimedCycle) -> None:
    """The lease runs out; nobody has noticed yet."""
    store.now = NOON + LEASE


def recover(store: Store, claimed: ClaimedCycle) -> None:
    """The lease ran out and recovery has ended the cycle."""
    expire(store, claimed)
    assert len(store.repository.recover_expired()) == 1


def put_back(store: Store, claimed: ClaimedCycle) -> None:
    """The slice was stored, by a commit whose answer this worker still waits for."""
    assert store_slice(store, claimed, unfinished(work_of(["1"]))) is not None


def claim_again(store: Store, claimed: ClaimedCycle) -> None:
    """Another worker has the cycle now."""
    put_back(store, claimed)
    assert store.claim().cycle.id == claimed.cycle.id


def switch_off(store: Store, _claimed: ClaimedCycle) -> None:
    """The source is not active any more."""
    store.write("UPDATE job_sources SET active = 0")


def flag_off(store: Store, _claimed: ClaimedCycle) -> None:
    """No source is collected any more."""
    store.switch_on(DISPATCH_FLAG, enabled=False)


@pytest.mark.parametrize(
    ("strike", "reason"),
    [
        (expire, LOST),
        (recover, LOST),
        (put_back, LOST),
        (claim_again, LOST),
        (switch_off, NOT_RUNNABLE),
        (flag_off, NOT_RUNNABLE),
    ],
)
def test_no_request_without_a_live_lease_and_a_runnable_source(
    store: Store, strike: Strike, reason: str
) -> None:
    """I2, R27: by the database's word, whatever the worker still believes."""
    store.due_cycle()
    claimed = store.claim()
    permit = permit_of(store, claimed)
    assert permit.stop_reason() is None
    strike(store, claimed)
    assert permit.stop_reason() == reason


def test_the_last_request_of_a_day_begins_before_midnight(store: Store) -> None:
    """R17: the lease would last longer; to the microsecond."""
    store.due_cycle()
    store.now = LAST_MOMENT
    permit = permit_of(store, store.claim())
    assert permit.stop_reason() is None
    store.now = LAST_MOMENT + timedelta(microseconds=1)
    assert permit.stop_reason() == "the run date is over"


def test_a_process_that_is_asked_to_stop_neither_sends_nor_waits(store: Store) -> None:
    """R18: the wait is a day long."""
    store.due_cycle()
    stop = threading.Event()
    permit = permit_of(store, store.claim(), stop)
    assert permit.wait(0.0)
    stop.set()
    assert permit.stop_reason() == "asked to stop"
    assert not permit.wait(0.0)
    assert not permit.wait(ENDLESS)

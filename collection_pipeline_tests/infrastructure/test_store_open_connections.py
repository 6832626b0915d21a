"""No request is sent while a transaction of this process is open (R25, I3)."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from sqlalchemy import Connection, text

from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS, open_transaction, rivals


@pytest.fixture
def guard(store: Store) -> OpenConnections:
    """The register of the store's engine."""
    made = OpenConnections()
    made.watch(store.engine)
    return made


@pytest.fixture
def elsewhere(store: Store) -> Iterator[Callable[..., None]]:
    """Opens a transaction in another thread and keeps it open until the test ends."""
    opened, done = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def opening(mark: AbstractContextManager[None] | None = None) -> None:
        def run() -> None:
            with mark or nullcontext(), open_transaction(store) as connection:
                connection.execute(text("SELECT 1"))
                opened.set()
                done.wait(PATIENCE_SECONDS)

        threads.append(threading.Thread(target=run))
        threads[0].start()
        assert opened.wait(PATIENCE_SECONDS)

    yield opening
    done.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)


def test_a_request_inside_the_threads_own_transaction_is_refused(
    store: Store, guard: OpenConnections
) -> None:
    """R25, I3: also for a thread that works slices."""
    with guard.slice_worker():
        guard.assert_none_open()
        with open_transaction(store), pytest.raises(OpenTransaction):
            guard.assert_none_open()
        guard.assert_none_open()


def test_a_request_inside_a_stores_own_work_is_refused(
    store: Store, guard: OpenConnections
) -> None:
    """R25: a service that sent from inside its transaction function would be caught."""

    def work(_connection: Connection) -> None:
        guard.assert_none_open()

    with pytest.raises(OpenTransaction):
        store.run(work)
    guard.assert_none_open()


def test_a_transaction_of_a_thread_that_works_no_slices_is_caught(
    guard: OpenConnections, elsewhere: Callable[..., None]
) -> None:
    """R25, I3: it may be waiting for this very request."""
    elsewhere()
    with guard.slice_worker(), pytest.raises(OpenTransaction):
        guard.assert_none_open()


def test_a_short_transaction_of_another_slice_worker_is_no_fault(
    guard: OpenConnections, elsewhere: Callable[..., None]
) -> None:
    """R25: each worker asserts for itself, so several may work at once."""
    elsewhere(guard.slice_worker())
    with guard.slice_worker():
        guard.assert_none_open()


def test_a_worker_that_has_ended_counts_as_any_other_thread(
    store: Store, guard: OpenConnections
) -> None:
    """A thread's number is used again by the system; the mark must not outlive its work."""
    with guard.slice_worker():
        pass
    with open_transaction(store), rivals() as start:
        asked = start(guard.assert_none_open)
        with pytest.raises(OpenTransaction):
            asked.result(PATIENCE_SECONDS)


@pytest.mark.parametrize("end", ["error", "lost"])
def test_a_connection_that_ended_badly_is_not_open_any_more(
    store: Store, guard: OpenConnections, end: str
) -> None:
    """R25, I3: else every later request of the process would be refused."""

    def work(connection: Connection) -> None:
        if end == "lost":
            connection.invalidate()
        raise ValueError

    with pytest.raises(ValueError):
        store.run(work)
    guard.assert_none_open()

"""A connection lost before, on or after COMMIT: the work is stored once or not at all (R19a)."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store import cycle_repository
from collection_pipeline.store.history import has_slice
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.database import LEASE, NOON, Store
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.slices import complete, store_slice, unfinished, work_of

OpenStore = Callable[..., Store]


@pytest.fixture
def proxy(database_server: PrivateServer) -> Iterator[DatabaseProxy]:
    """A line to the server that a test can break."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as made:
        yield made


@pytest.fixture
def behind_proxy(open_store: OpenStore, store: Store, proxy: DatabaseProxy) -> Store:
    """A process whose connections go through the proxy; ``store`` looks on beside it."""
    return open_store(proxy.url(store.url))


def test_a_slice_whose_commit_was_lost_on_its_way_is_stored_once(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """R19a: not there and the token still ours: run again."""
    store.due_cycle()
    claimed = behind_proxy.claim()
    struck = proxy.lose_next_commit(containing="collection_slices")
    stored = store_slice(behind_proxy, claimed, complete(work_of(["1", "2"])))
    assert struck.is_set() and stored is not None
    assert_stored_once(store, 2)


def test_a_slice_whose_commits_answer_was_lost_is_stored_once(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """R19a: the slice row says that it was stored; the result is the one stored."""
    store.due_cycle()
    claimed = behind_proxy.claim()
    struck = proxy.lose_next_commit_answer(containing="collection_slices")
    stored = store_slice(behind_proxy, claimed, complete(work_of(["1", "2"])))
    assert struck.is_set() and stored is not None
    assert (stored.cycle.status.value, stored.counts.new_to_cycle) == ("SUCCESS", 2)
    assert_stored_once(store, 2)


@contextmanager
def asked_after(happening: Callable[[], object]) -> Iterator[None]:
    """Lets something happen between a lost COMMIT and the question whether it was stored."""

    def asking(connection: Connection, token: str) -> bool:
        happening()
        return has_slice(connection, token)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle_repository, "has_slice", asking)
        yield


def test_a_slice_that_was_put_back_and_claimed_by_another_meanwhile_was_stored(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """R19a: the slice row decides, since the cycle's own token has gone on to the next claim."""
    store.due_cycle()
    claimed = behind_proxy.claim()
    next_claim: list[Any] = []

    proxy.lose_next_commit_answer(containing="collection_slices")
    with asked_after(lambda: next_claim.append(store.claim())):
        stored = store_slice(behind_proxy, claimed, unfinished(work_of(["1"])))
    assert stored is not None and len(next_claim) == 1
    assert store.cycle(claimed.cycle.id)["lease_token"] == next_claim[0].token
    assert store.value("SELECT COUNT(*) FROM collection_slices") == 1


def test_a_slice_whose_token_is_gone_after_a_lost_commit_is_lost(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """R19a: "else lost"; nothing of it is left."""
    store.due_cycle()
    claimed = behind_proxy.claim()
    before = store.tables()

    def pausing(_seconds: float) -> None:
        behind_proxy.now = NOON + LEASE

    behind_proxy.transactions._sleep = pausing
    struck = proxy.lose_next_commit(containing="collection_slices")
    assert store_slice(behind_proxy, claimed, complete(work_of(["1"]))) is None
    assert struck.is_set() and store.tables() == before


def test_a_slice_that_recovery_ended_was_not_stored_by_its_worker(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """R19a: the row that recovery leaves under the same token must not be taken for the work."""
    store.due_cycle()
    claimed = behind_proxy.claim()

    def recovering() -> None:
        store.now = NOON + LEASE
        assert len(store.repository.recover_expired()) == 1

    proxy.lose_next_commit(containing="collection_slices")
    with asked_after(recovering):
        assert store_slice(behind_proxy, claimed, complete(work_of(["1"]))) is None
    assert store.rows("SELECT * FROM job_postings") == []
    assert store.status(claimed.cycle.id) == "FAILED"


@pytest.mark.parametrize("lost", ["commit", "answer"])
def test_a_claim_whose_commit_was_lost_gives_one_lease(
    store: Store, behind_proxy: Store, proxy: DatabaseProxy, lost: str
) -> None:
    """I2: the token was made before the transaction and decides; no second cycle is taken."""
    cycle_ids = [store.due_cycle() for _ in range(2)]
    lose = proxy.lose_next_commit if lost == "commit" else proxy.lose_next_commit_answer
    struck = lose(containing="UPDATE job_posting_collection_cycles")
    claimed = behind_proxy.claim()
    assert struck.is_set() and claimed.cycle.id == cycle_ids[0]
    assert store.cycle(cycle_ids[0])["lease_token"] == claimed.token
    assert store.status(cycle_ids[1]) == "PENDING"


def test_a_database_that_is_gone_for_good_ends_the_trying(
    behind_proxy: Store, proxy: DatabaseProxy
) -> None:
    """2003: new connections are refused until the caller's time is over."""
    proxy.cut()
    with pytest.raises(DatabaseUnavailable):
        behind_proxy.transactions.run(lambda _connection: 1, until=time.monotonic() + 0.3)
    proxy.restore()
    assert behind_proxy.value("SELECT 1") == 1


def test_a_server_that_dies_while_a_slice_is_stored_costs_nothing() -> None:
    """R19a: killed inside the transaction, started again during a pause; stored once."""
    with private_server() as server:
        url = create_database(server)
        store = Store(url)
        migrate(store.engine)
        store.switch_on()
        store.due_cycle()
        claimed = store.claim()
        deaths: list[int] = []

        def starting(_seconds: float) -> None:
            if not server.running:
                server.start()

        def dying(*_arguments: object) -> None:
            if not deaths and "INSERT INTO collection_slices" in str(_arguments[2]):
                deaths.append(1)
                server.kill()

        store.transactions._sleep = starting
        event.listen(store.engine, "before_cursor_execute", dying)
        stored = store_slice(store, claimed, complete(work_of(["1", "2"])))
        assert deaths == [1] and stored is not None
        assert_stored_once(store, 2)
        store.close()


def assert_stored_once(store: Store, rows: int) -> None:
    """One slice row, one runs row, each posting once, the counters as served."""
    assert store.value("SELECT COUNT(*) FROM collection_slices") == 1
    assert store.value("SELECT COUNT(*) FROM job_posting_collection_runs") == 1
    assert store.value("SELECT COUNT(*) FROM job_postings") == rows
    cycle = store.row("SELECT * FROM job_posting_collection_cycles")
    assert (cycle["fetched_count"], cycle["new_count"], cycle["attempt_count"]) == (rows, rows, 1)
    assert cycle["cycle_status"] == "SUCCESS"

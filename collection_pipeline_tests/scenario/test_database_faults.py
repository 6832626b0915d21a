"""The database fails under running workers: nothing is stored twice, nothing half (R19a, R13)."""

import threading

import pytest

from collection_pipeline.collection.dispatch import TickFailed
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store import transaction
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack, wait_until
from collection_pipeline_tests.scenario.conftest import OpenStack

SUCCESS = ("SUCCESS", None)
END_OF_SLICE = "INSERT INTO collection_slices"
CLAIM = "SKIP LOCKED"
RESERVATION = "external_request_host_limits"


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("statement", [END_OF_SLICE, CLAIM, RESERVATION])
def test_a_commit_of_unknown_outcome_is_stored_once(
    open_stack: OpenStack, database_server: PrivateServer, moment: str, statement: str
) -> None:
    """R19a: the line dies before COMMIT arrives, or after the server has carried it out."""
    stack = open_stack(source("saramin", "backend", 700, changes={"2": {"remove": 3}}))
    source_id = stack.add("saramin", "backend")
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        behind = stack.open_pipeline(proxy.url(stack.url), TICK_CLAIM_LIMIT=1)
        lose = proxy.lose_next_commit if moment == "before" else proxy.lose_next_commit_answer
        struck = lose(containing=statement)

        summary = stack.tick(pipeline=behind)

        assert struck.is_set()
        behind.close()
    assert (summary.lost, summary.ended["SUCCESS"]) == (0, 1)
    assert stack.end_of(source_id) == SUCCESS
    assert len(stack.slices(source_id)) == 2
    assert stack.pages(source_id) == list(range(7))
    assert stack.cycle(source_id)["fetched_count"] == 700
    assert set(stack.postings(source_id)) == stack.catalogue(source_id)
    assert_invariants(stack)


def test_the_delta_of_a_commit_of_unknown_outcome_counts_once(
    open_stack: OpenStack, database_server: PrivateServer
) -> None:
    """R19a, R30: running the end twice would miss postings twice, which closes them."""
    stack = open_stack(source("saramin", "backend", 100, changes={"2": {"remove": 7}}))
    source_id = stack.add("saramin", "backend")
    stack.tick()
    stack.set_clock(2)
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        behind = stack.open_pipeline(proxy.url(stack.url))
        struck = proxy.lose_next_commit_answer(containing=END_OF_SLICE)
        stack.tick(pipeline=behind)
        assert struck.is_set()
        behind.close()
    missed = {row["missed_count"] for row in stack.postings(source_id).values()}
    assert missed == {0, 1}
    assert stack.cycle(source_id, 2)["missed_count"] == 7
    assert stack.cycle(source_id, 2)["closed_count"] == 0
    assert_invariants(stack)


@pytest.mark.parametrize("how", ["killed", "line cut"])
def test_a_database_that_comes_back_finds_the_drain_going_on(how: str) -> None:
    """R11, R14: the tick ends by itself, the day ends after at most one recovery."""
    with private_server() as server:
        url = create_database(server)
        engine = open_engine(url)
        migrate(engine)
        engine.dispose()
        catalogues = [source("saramin", f"search{n}", 330) for n in range(4)]
        assert server.port is not None
        with (
            DatabaseProxy(server.port) as proxy,
            opened_stack(url, catalogues, HOST_MIN_DELAY_MS=60) as stack,
        ):
            sources = [stack.add("saramin", f"search{n}") for n in range(4)]
            behind = stack.open_pipeline(proxy.url(url))
            with stack.ticking(pipeline=behind) as drain:
                wait_until("half of it is asked for", lambda: len(stack.requests()) >= 6)
                if how == "killed":
                    server.kill()
                    server.start()
                else:
                    proxy.cut()
                    proxy.restore()
                # A slice may be lost with its lease; the tick must end by itself all the same.
                error = drain.exception(timeout=120)
            assert error is None or isinstance(error, TickFailed | DatabaseUnavailable), error
            stack.tick()
            stack.pass_time(seconds=int(stack.pipeline.settings["LEASE_SECONDS"]) + 1)
            stack.tick()
            ends = {stack.end_of(source_id) for source_id in sources}
            assert ends <= {SUCCESS, ("FAILED", "LEASE_EXPIRED")}
            assert SUCCESS in ends
            asked = [(r["search_key"], r["page"]) for r in stack.requests()]
            assert len(asked) == len(set(asked)), "a page was read twice"
            assert_invariants(stack)


def test_no_transaction_is_open_while_an_answer_is_awaited(open_stack: OpenStack) -> None:
    """R25, I3: asked of the server itself while requests of three hosts are in flight."""
    stack = open_stack(
        source("saramin", "backend", 150), source("jumpit", "1", 20), separate_ports=True
    )
    for platform, key in (("saramin", "backend"), ("jumpit", "1"), ("greenhouse", "acme-3")):
        stack.add(platform, key)
    stack.simulator.add_fault({"name": "delay", "kind": "list", "page": 0, "seconds": 2.0})

    with stack.ticking() as drain:
        wait_until("all three have asked", lambda: len(stack.requests()) == 3)
        for _ in range(5):
            # InnoDB refreshes its list of transactions only after 100 ms.
            threading.Event().wait(0.12)
            assert _open_transactions(stack) == 0
        assert not drain.done()

    assert_invariants(stack)


def test_a_day_that_ends_in_a_lost_database_judges_nothing(
    open_stack: OpenStack, database_server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I4, R11: the worker cannot store at all; recovery ends the cycle without a delta."""
    monkeypatch.setattr(transaction, "DEFAULT_TRY_SECONDS", 1.0)
    stack = open_stack(source("saramin", "backend", 330, changes={"2": {"remove": 7}}))
    source_id = stack.add("saramin", "backend")
    stack.tick()
    before = judged(stack, source_id)
    stack.set_clock(2)
    stack.simulator.add_fault({"name": "delay", "page": 2, "seconds": 1.0})
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        behind = stack.open_pipeline(
            proxy.url(stack.url),
            LEASE_SECONDS=22,
            SLICE_MAX_SECONDS=4,
            REQUEST_DEADLINE_SECONDS=2,
        )
        with stack.ticking(pipeline=behind) as drain:
            wait_until("the last page is asked for", lambda: 2 in stack.pages(source_id, 2))
            proxy.cut()
            assert isinstance(drain.exception(timeout=120), TickFailed | DatabaseUnavailable)
        behind.close()
    assert stack.end_of(source_id, 2)[0] == "RUNNING"
    stack.pass_time(seconds=30)
    assert stack.tick().recovered == 1
    assert stack.end_of(source_id, 2) == ("FAILED", "LEASE_EXPIRED")
    assert_nothing_was_judged(before, judged(stack, source_id))
    assert_invariants(stack)


def _open_transactions(stack: Stack) -> int:
    """Transactions of this database, without the one that asks."""
    found = stack.value(
        "SELECT COUNT(*) FROM information_schema.innodb_trx AS t"
        " JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
        " WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()"
    )
    return int(found)

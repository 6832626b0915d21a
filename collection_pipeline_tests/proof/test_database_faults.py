"""The database fails again and again under draining workers: nothing is lost, nothing is doubled.

The oracle is strict: every outage here is shorter than a lease, so each source's day must end in
SUCCESS with every page read once and every posting stored once. Who is at fault is never the
platform, so no cycle may say so.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from collection_pipeline.collection import assembly
from collection_pipeline.collection.dispatch import TickFailed
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store import transaction
from collection_pipeline.store.connection import SessionTerms, open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.database_torments import TORMENTS, Tormented, striking
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.proof import record, tries
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.servers import create_database, drop_database, private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack, wait_until

SEEDS = range(1, tries(1, long=6) + 1)
STRIKES = 4
SUCCESS = ("SUCCESS", None)
ACCOUNT = "tormented"
CHANGES = {"2": {"remove": 6, "add": 9, "edit": 3}}
CATALOGUES = (
    source("saramin", "backend", 330, changes=CHANGES),
    source("saramin", "frontend", 225, changes=CHANGES),
    source("greenhouse", "acme", 40, changes=CHANGES),
    source("lever", "acme", 210, changes=CHANGES),
    source("jumpit", "1", 12, changes=CHANGES),
)


@pytest.fixture(scope="module")
def weak_server() -> Iterator[PrivateServer]:
    """A server of this file's own, which is killed, frozen and filled up."""
    with private_server() as server:
        yield server


@contextmanager
def tormented_world(server: PrivateServer, seed: int) -> Iterator[tuple[Stack, Tormented]]:
    """A day collected in peace, and the second about to begin through a proxy."""
    owner_url = create_database(server)
    database = owner_url.rsplit("/", 1)[1].split("?", 1)[0]
    engine = open_engine(owner_url)
    migrate(engine)
    engine.dispose()
    # An account that may not write while the server is read-only, as a worker's should be.
    server.execute(
        f"DROP USER IF EXISTS {ACCOUNT}",
        f"CREATE USER {ACCOUNT} IDENTIFIED BY 'tormented'",
        f"GRANT ALL PRIVILEGES ON `{database}`.* TO {ACCOUNT}",
    )
    assert server.port is not None
    try:
        with (
            DatabaseProxy(server.port) as proxy,
            opened_stack(owner_url, CATALOGUES, HOST_MIN_DELAY_MS=25) as stack,
        ):
            for catalogue in CATALOGUES:
                stack.add(str(catalogue["platform"]), str(catalogue["key"]))
            stack.tick()
            stack.set_clock(2)
            yield stack, Tormented(server, proxy, database, random.Random(seed))
    finally:
        drop_database(server, owner_url)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("torment", TORMENTS)
def test_no_outage_shorter_than_a_lease_loses_or_doubles_anything(
    weak_server: PrivateServer, torment: str, seed: int
) -> None:
    """R13, R14, R19a, I1 to I8: each strike falls in the middle of claims, slots and ends."""
    with tormented_world(weak_server, seed) as (stack, where):
        url = weak_server.url_for(ACCOUNT, "tormented", where.database)
        workers = stack.open_pipeline(where.proxy.url(url))
        with striking(where, torment, STRIKES) as fell:
            summary = stack.tick(pipeline=workers)
        workers.close()

        assert fell, "nothing struck while the workers worked"
        assert summary.lost == 0
        for source_id in stack.sources:
            assert stack.end_of(source_id, 2) == SUCCESS, stack.sources[source_id]
            alive = stack.catalogue(source_id, 2)
            assert stack.cycle(source_id, 2)["fetched_count"] == len(alive)
            judged = {key: row["missed_count"] for key, row in stack.postings(source_id).items()}
            assert {key for key, missed in judged.items() if missed == 0} == alive
            assert set(judged.values()) == {0, 1}, "R30: a delta was applied twice"
            asked = stack.pages(source_id, 2)
            assert len(asked) == len(set(asked)), "a page was read twice"
        assert_invariants(stack)
        record("database faults", tries=1, strikes=len(fell), slices_lost=summary.lost)


def test_a_dispatcher_says_what_is_wrong_and_goes_on_by_itself(
    weak_server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R11, R35: refused, then accepted and never answered; the same process works on afterwards.

    Silence outlasts the socket's time-out, so statements are given up and asked again.
    """
    brief = SessionTerms(lock_wait_seconds=1, connect_timeout_seconds=1, socket_timeout_seconds=2)
    monkeypatch.setattr(assembly, "open_engine", partial(open_engine, terms=brief))
    monkeypatch.setattr(transaction, "DEFAULT_TRY_SECONDS", 1.5)
    with tormented_world(weak_server, 1) as (stack, where):
        workers = stack.open_pipeline(where.proxy.url(stack.url))
        for break_off in (where.proxy.cut, where.proxy.go_silent):
            break_off()
            with pytest.raises(DatabaseUnavailable, match="did not store the work in time: MySQL"):
                workers.dispatch.has_work()
            with pytest.raises(DatabaseUnavailable, match="MySQL error"):
                stack.tick(pipeline=workers)
            where.proxy.restore()
            assert workers.dispatch.has_work()
        with stack.ticking(pipeline=workers) as drain:
            wait_until("half of it is asked for", lambda: len(stack.requests(number=2)) >= 6)
            where.proxy.go_silent()
            where.pause(3.0, 3.0)
            where.proxy.restore()
            error = drain.exception(timeout=120)
        # Claims are given up sooner than slices; the next tick takes what was left.
        assert error is None or isinstance(error, TickFailed | DatabaseUnavailable), error
        stack.tick(pipeline=workers)
        workers.close()
        assert {stack.end_of(one, 2) for one in stack.sources} == {SUCCESS}
        assert_invariants(stack)
    record("dispatcher after an outage", tries=3)

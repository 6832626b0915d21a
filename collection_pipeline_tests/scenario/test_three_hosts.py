"""Hosts that lose each other: packets vanish between them, nothing is refused and nothing reset."""

import time
from collections.abc import Iterator

import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.own_network import in_a_network_of_its_own
from collection_pipeline_tests.kit.servers import private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import wait_until
from collection_pipeline_tests.kit.three_hosts import (
    DATABASE,
    ON_EVERY_ADDRESS,
    WORKERS,
    ThreeHosts,
    opened_three_hosts,
)

SEARCHES = [f"search-{n}" for n in range(8)]
CATALOGUES = [source("saramin", key, 350) for key in SEARCHES]
HELD = SEARCHES[0]
"""The platform takes long over its second page: whoever reads it is in the middle of a slice."""
SMALL = {
    "HOST_MIN_DELAY_MS": 200,
    "TICK_CLAIM_LIMIT": 2,
    "MAX_LEASES_PER_HOST": 4,
    "SLICE_MAX_LIST_PAGES": 2,
    "CONNECT_TIMEOUT_SECONDS": 2,
}
SHORT_LEASE = {"SLICE_MAX_SECONDS": 5, "REQUEST_DEADLINE_SECONDS": 4, "LEASE_SECONDS": 15}
LONG_LEASE = {"SLICE_MAX_SECONDS": 20, "REQUEST_DEADLINE_SECONDS": 10, "LEASE_SECONDS": 60}
SUCCESS = ("SUCCESS", None)
LEASE_EXPIRED = ("FAILED", "LEASE_EXPIRED")


@pytest.fixture(scope="session")
def database_server() -> Iterator[PrivateServer]:
    """A server that the other hosts of the network reach."""
    with private_server(options=ON_EVERY_ADDRESS) as server:
        yield server


@in_a_network_of_its_own
def test_hosts_that_lose_the_database_wait_and_one_that_hears_no_answer_stores_nothing_late(
    store_url: str,
) -> None:
    """R14, R18, I1 to I9: a pause costs nothing; answers lost past the lease cost the lease only.

    Day 1: the database is cut off for a while. Day 2: one host's words arrive, the answers vanish.
    """
    with opened_three_hosts(store_url, CATALOGUES, **SMALL, **LONG_LEASE) as hosts:
        stack = hosts.stack
        sources = {key: stack.add("saramin", key) for key in SEARCHES}
        held = sources[HELD]
        with hosts.draining_together() as workers:
            hold_a_slice(hosts, held, 1)
            hosts.network.cut(DATABASE)
            wait_until("both wait for the database", lambda: seconds_of_silence(hosts) > 2.0)
            hosts.network.join(DATABASE)
            for worker in workers.values():
                assert worker.wait() == 0, worker.output
        assert {stack.end_of(one) for one in sources.values()} == {SUCCESS}
        assert hosts.hosts_that_stored(1) == set(WORKERS)

        stack.set_clock(2)
        with hosts.draining_together() as workers:
            deaf = hold_a_slice(hosts, held, 2)
            hosts.network.lose_answers(DATABASE, to=deaf)
            other = other_than(deaf)
            assert workers[other].wait() == 0, workers[other].output
            stack.pass_time(seconds=LONG_LEASE["LEASE_SECONDS"] + 1)
            with hosts.draining(other) as recovering:
                assert recovering.wait() == 0, recovering.output
            assert stack.end_of(held, 2) == LEASE_EXPIRED
            before = stack.tables(without=["collection_ticks"])
            hosts.network.find_answers(DATABASE, to=deaf)
            late = workers[deaf]
            assert late.wait() == 0, late.output
            print(late.wait(), late.output)
            assert stack.tables(without=["collection_ticks"]) == before
        ends = {stack.end_of(one, 2) for one in sources.values()}
        assert ends == {SUCCESS, LEASE_EXPIRED}
        assert_invariants(stack)


def hold_a_slice(hosts: ThreeHosts, held: int, number: int, seconds: float = 3.0) -> str:
    """Returns in the middle of the held source's slice, while every host has a lease; its host."""
    stack = hosts.stack
    stack.simulator.add_fault(
        {"name": "delay", "key": HELD, "kind": "list", "page": 1, "count": 1, "seconds": seconds}
    )
    wait_until("the held page is asked for", lambda: 1 in stack.pages(held, number))
    wait_until("every host holds a lease", lambda: set(hosts.owners().values()) == set(WORKERS))
    return hosts.owners()[held]


def other_than(worker: str) -> str:
    """The second worker."""
    (other,) = set(WORKERS) - {worker}
    return other


def seconds_of_silence(hosts: ThreeHosts) -> float:
    """How long ago the platforms were asked for something."""
    return time.time() - max(record["at_us"] for record in hosts.stack.requests()) / 1_000_000

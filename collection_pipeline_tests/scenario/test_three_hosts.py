"""Hosts that lose each other: packets vanish between them, nothing is refused and nothing reset."""

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
    opened_three_hosts,
)

SHORT = {
    "HOST_MIN_DELAY_MS": 200,
    "TICK_CLAIM_LIMIT": 2,
    "MAX_LEASES_PER_HOST": 4,
    "SLICE_MAX_LIST_PAGES": 2,
    "SLICE_MAX_SECONDS": 5,
    "REQUEST_DEADLINE_SECONDS": 4,
    "CONNECT_TIMEOUT_SECONDS": 2,
    "LEASE_SECONDS": 15,
}
SUCCESS = ("SUCCESS", None)
LEASE_EXPIRED = ("FAILED", "LEASE_EXPIRED")


@pytest.fixture(scope="session")
def database_server() -> Iterator[PrivateServer]:
    """A server that the other hosts of the network reach."""
    with private_server(options=ON_EVERY_ADDRESS) as server:
        yield server


@in_a_network_of_its_own
def test_hosts_work_one_queue(store_url: str) -> None:
    """I6."""
    catalogues = [source("saramin", f"search-{n}", 350) for n in range(4)]
    with opened_three_hosts(store_url, catalogues, **SHORT) as hosts:
        stack = hosts.stack
        sources = [stack.add("saramin", f"search-{n}") for n in range(4)]
        with hosts.draining("east") as east, hosts.draining("west") as west:
            assert east.wait() == 0, east.output
            assert west.wait() == 0, west.output
        assert {stack.end_of(one) for one in sources} == {SUCCESS}
        assert hosts.hosts_that_stored(1) == set(WORKERS)
        assert_invariants(stack)

"""Hosts that lose each other: packets vanish between them, nothing is refused and nothing reset."""

import json
import time
from collections.abc import Iterator
from datetime import time as time_of_day
from functools import partial
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.hosts_dagster import opened_hosts_dagster
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.own_network import in_a_network_of_its_own
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.snapshot_witness import assert_snapshot_equals_cycles
from collection_pipeline_tests.kit.stack import Row
from collection_pipeline_tests.kit.three_hosts import (
    DATABASE,
    ON_EVERY_ADDRESS,
    WORKERS,
    ThreeHosts,
    opened_three_hosts,
    wait_by_the_clock,
)

SEARCHES = [f"search-{n}" for n in range(6)]
CATALOGUES = [source("saramin", key, 250) for key in SEARCHES]
HELD = SEARCHES[0]
"""The platform takes long over its second page: whoever reads it is in the middle of a slice."""
SMALL = {
    "HOST_MIN_DELAY_MS": 200,
    "TICK_CLAIM_LIMIT": 2,
    "MAX_LEASES_PER_HOST": 4,
    "SLICE_MAX_LIST_PAGES": 2,
    "CONNECT_TIMEOUT_SECONDS": 2,
}
SHORT_LEASE = {"SLICE_MAX_SECONDS": 9, "REQUEST_DEADLINE_SECONDS": 4, "LEASE_SECONDS": 20}
LONG_LEASE = {"SLICE_MAX_SECONDS": 20, "REQUEST_DEADLINE_SECONDS": 10, "LEASE_SECONDS": 60}
WHOLE_CYCLES = {"TICK_CLAIM_LIMIT": 4, "MAX_LEASES_PER_HOST": 8, "SLICE_MAX_LIST_PAGES": 5}
ADDED = "west"
LATER_DAYS = range(2, 6)
SLICE_TABLES = ("job_postings", "job_posting_collection_cycles", "collection_slices", "companies")
PATIENCE = 60.0
SLOW = 150.0
"""Seconds. Dagster starts a process for each run, on both hosts at once."""
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
    """R14, R15, I1 to I9: a pause costs nothing; answers lost past the lease cost the lease only.

    Day 1: the database is cut off for a while. Day 2: one host's words arrive, the answers vanish,
    and the morning is captured before they are found again. I3 is asserted by the hosts themselves.
    """
    with opened_three_hosts(store_url, CATALOGUES, **SMALL, **LONG_LEASE) as hosts:
        stack = hosts.stack
        sources = {key: stack.add("saramin", key) for key in SEARCHES}
        held = sources[HELD]
        with hosts.draining_together() as workers:
            hold_a_slice(hosts, held, 1)
            wait_for_every_host(hosts)
            hosts.network.cut(DATABASE)
            wait_by_the_clock(
                "both wait for the database", lambda: seconds_of_silence(hosts) > 2.0, PATIENCE
            )
            hosts.network.join(DATABASE)
            for worker in workers.values():
                assert worker.wait() == 0, worker.output
        assert {stack.end_of(one) for one in sources.values()} == {SUCCESS}
        assert hosts.hosts_that_stored(1) == set(WORKERS)

        stack.set_clock(2)
        untouched = judged(stack, held)
        with hosts.draining_together() as workers:
            deaf = hold_a_slice(hosts, held, 2)
            hosts.network.lose_answers(DATABASE, to=deaf)
            other = other_than(deaf)
            assert workers[other].wait() == 0, workers[other].output
            stack.pass_time(seconds=LONG_LEASE["LEASE_SECONDS"] + 1)
            with hosts.draining(other) as recovering:
                assert recovering.wait() == 0, recovering.output
            assert stack.end_of(held, 2) == LEASE_EXPIRED
            stack.set_clock(2, time_of_day(9, 0))
            assert stack.pipeline.snapshots.capture_at_nine(worker="morning").captured_here
            assert_snapshot_equals_cycles(stack, 2, sources.values())
            before = stack.tables(without=["collection_ticks"])
            hosts.network.find_answers(DATABASE, to=deaf)
            late = workers[deaf]
            assert late.wait() == 0, late.output
            assert json.loads(late.printed)["lost"] >= 1
            assert stack.tables(without=["collection_ticks"]) == before
        ends = {stack.end_of(one, 2) for one in sources.values()}
        assert ends == {SUCCESS, LEASE_EXPIRED}
        assert_nothing_was_judged(untouched, judged(stack, held))
        assert_invariants(stack, secrets=[stack.simulator.access_key])


@in_a_network_of_its_own
def test_a_host_that_is_cut_off_in_the_middle_of_its_slices_costs_its_leases_and_nothing_else(
    store_url: str, database_server: PrivateServer, tmp_path: Path
) -> None:
    """R11, R14, I1 to I6, I8, I9: the other host goes on, recovers and ends the day.

    Joined again, the first host works the next day; nothing was started again by hand.
    """
    dagster_url = create_database(database_server)
    with (
        opened_three_hosts(
            store_url, CATALOGUES, **{**SMALL, **WHOLE_CYCLES, **SHORT_LEASE}
        ) as hosts,
        opened_hosts_dagster(hosts, dagster_url, tmp_path) as (dagster, instance),
    ):
        stack = hosts.stack
        sources = [stack.add("saramin", key) for key in SEARCHES]
        stack.simulator.add_fault({"name": "delay", "kind": "list", "page": 1, "seconds": 3.0})
        dagster.start()
        wait_by_the_clock(
            "the added host is in the middle of slices", lambda: len(hosts.held_by(ADDED)) > 1, SLOW
        )
        hosts.network.cut(ADDED)
        taken = hosts.held_by(ADDED)
        wait_by_the_clock("the first host ends the day", lambda: not hosts.unfinished(1), SLOW)
        ends = {one: stack.end_of(one) for one in sources}
        assert {one for one in sources if ends[one] == LEASE_EXPIRED} == taken
        assert {ends[one] for one in set(sources) - taken} == {SUCCESS}
        before = collected(hosts)
        hosts.network.join(ADDED)
        wait_by_the_clock("the cut host's run ends", lambda: not unfinished_runs(instance), SLOW)
        assert collected(hosts) == before
        assert not stack.rows("SELECT id FROM job_postings WHERE status <> 'OPEN'"), "I4"

        # Dagster finds the joined host when it looks next; a day may be over by then.
        for number in LATER_DAYS:
            stack.set_clock(number)
            wait_by_the_clock(f"day {number} ends", partial(day_has_ended, hosts, number), SLOW)
            assert {stack.end_of(one, number) for one in sources} == {SUCCESS}
            if hosts.hosts_that_stored(number) == set(WORKERS):
                break
        else:
            pytest.fail(f"{ADDED} did not work again")
        secrets = [stack.simulator.access_key, database_server.password]
        assert_invariants(stack, secrets=secrets, texts=[dagster.said()])


def day_has_ended(hosts: ThreeHosts, number: int) -> bool:
    """Whether every cycle of the day has ended."""
    return not hosts.unfinished(number)


def collected(hosts: ThreeHosts) -> dict[str, list[Row]]:
    """What slices write; a tick that finds nothing to do adds to other tables."""
    tables = hosts.stack.tables()
    return {name: rows for name, rows in tables.items() if name.startswith(SLICE_TABLES)}


def unfinished_runs(instance: dg.DagsterInstance) -> int:
    """Runs that Dagster takes for living."""
    return instance.get_runs_count(dg.RunsFilter(statuses=NOT_FINISHED_STATUSES))


def hold_a_slice(hosts: ThreeHosts, held: int, number: int) -> str:
    """Returns in the middle of the held source's slice; the host that works it."""
    hosts.stack.simulator.add_fault(
        {"name": "delay", "key": HELD, "kind": "list", "page": 1, "count": 1, "seconds": 3.0}
    )
    wait_by_the_clock(
        "the held page is asked for", lambda: 1 in hosts.stack.pages(held, number), PATIENCE
    )
    return hosts.owners()[held]


def wait_for_every_host(hosts: ThreeHosts) -> None:
    """Returns once each worker holds a lease at the same time."""
    wait_by_the_clock(
        "every host holds a lease", lambda: set(hosts.owners().values()) == set(WORKERS), PATIENCE
    )


def other_than(worker: str) -> str:
    """The second worker."""
    (other,) = set(WORKERS) - {worker}
    return other


def seconds_of_silence(hosts: ThreeHosts) -> float:
    """How long ago the platforms were asked for something."""
    newest = max(int(record["at_us"]) for record in hosts.stack.requests())
    return time.time() - newest / 1_000_000

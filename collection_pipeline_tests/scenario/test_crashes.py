"""Workers that die or freeze at the worst moment: real processes, judged by tables and log."""

import json
import signal
from datetime import time

import pytest

from collection_pipeline import checkpoints
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

LEASE_EXPIRED = ("FAILED", "LEASE_EXPIRED")
SUCCESS = ("SUCCESS", None)
SMALL = {"TICK_CLAIM_LIMIT": 1, "SLICE_MAX_LIST_PAGES": 2, "HOST_MIN_DELAY_MS": 5}
"""One slice thread, two pages a slice."""
CHANGES = {"2": {"remove": 7, "add": 2}}


def crashed(stack: Stack, point: str, on_pass: int = 1) -> None:
    """A draining worker that kills itself at ``point``."""
    with WorkerProcess(stack.environment, crash_at=point, on_pass=on_pass) as worker:
        worker.wait_for(point, on_pass)
        assert worker.wait() == -signal.SIGKILL


def expire_leases(stack: Stack) -> None:
    """The database's clock is past every lease that was given so far."""
    stack.pass_time(seconds=int(stack.pipeline.settings["LEASE_SECONDS"]) + 1)


@pytest.mark.parametrize(
    ("point", "on_pass", "requests", "stored"),
    [
        (checkpoints.AFTER_CLAIM, 1, 0, 0),
        (checkpoints.BEFORE_STORE, 1, 2, 0),
        (checkpoints.BEFORE_COMMIT, 1, 2, 0),
        (checkpoints.BEFORE_STORE, 2, 4, 220),
        (checkpoints.AFTER_CLAIM, 2, 2, 220),
    ],
)
def test_a_killed_worker_costs_its_source_one_day(
    open_stack: OpenStack, point: str, on_pass: int, requests: int, stored: int
) -> None:
    """R11, R14, I8: FAILED LEASE_EXPIRED, nothing asked again that day, the next day goes on.

    What earlier slices stored stays; of the killed one nothing does, wherever it died.
    """
    stack = open_stack(source("saramin", "backend", 350, changes=CHANGES), **SMALL)
    source_id = stack.add("saramin", "backend")
    stack.tick()
    before = judged(stack, source_id)
    stack.set_clock(2)

    crashed(stack, point, on_pass)

    assert stack.end_of(source_id, 2)[0] == "RUNNING"
    assert stack.tick().claimed == 0, "R5: a leased cycle was claimed"
    expire_leases(stack)
    assert stack.pipeline.dispatch.has_work()
    assert stack.tick().recovered == 1
    assert stack.end_of(source_id, 2) == LEASE_EXPIRED
    assert stack.tick().slices == 0
    assert stack.pages(source_id, 2) == list(range(requests))
    assert stack.cycle(source_id, 2)["fetched_count"] == stored
    assert_nothing_was_judged(before, judged(stack, source_id))
    assert_invariants(stack)

    stack.set_clock(3)
    stack.tick()
    assert stack.end_of(source_id, 3) == SUCCESS
    assert stack.pages(source_id, 3) == list(range(4))
    assert stack.cycle(source_id, 3)["missed_count"] == 7
    assert_invariants(stack)


def test_a_worker_killed_after_its_commit_has_stored_its_slice_once(open_stack: OpenStack) -> None:
    """R19a: what was committed needs no recovery, and the next worker takes the next page."""
    stack = open_stack(source("saramin", "backend", 350), **SMALL)
    source_id = stack.add("saramin", "backend")

    crashed(stack, checkpoints.AFTER_STORE)

    assert stack.end_of(source_id) == ("PENDING", None)
    assert [row["fetched_count"] for row in stack.slices(source_id)] == [220]
    assert stack.tick().recovered == 0
    assert stack.end_of(source_id) == SUCCESS
    assert stack.pages(source_id) == list(range(4))
    assert set(stack.postings(source_id)) == stack.catalogue(source_id)
    assert_invariants(stack)


@pytest.mark.parametrize("point", [checkpoints.BEFORE_STORE, checkpoints.AFTER_CLAIM])
def test_a_stale_worker_stores_nothing_and_sends_nothing(open_stack: OpenStack, point: str) -> None:
    """R14: frozen until its lease was recovered, it finds its fence gone and leaves no trace."""
    stack = open_stack(source("saramin", "backend", 200), **SMALL)
    source_id = stack.add("saramin", "backend")

    with WorkerProcess(stack.environment, crash_at=point, crash_signal=signal.SIGSTOP) as worker:
        worker.wait_for(point)
        worker.wait_until_stopped()
        expire_leases(stack)
        assert stack.tick().recovered == 1
        assert stack.end_of(source_id) == LEASE_EXPIRED
        before = stack.tables(without=["collection_ticks"])
        arrived = len(stack.requests())
        worker.send(signal.SIGCONT)
        assert worker.wait() == 0
        told = json.loads(worker.printed)

    assert (told["lost"], told["slices"]) == (1, 0)
    if point == checkpoints.BEFORE_STORE:
        assert stack.tables(without=["collection_ticks"]) == before
    assert not stack.postings(source_id)
    assert len(stack.requests()) == arrived
    assert_invariants(stack)


def test_a_worker_frozen_inside_its_last_transaction_stores_nothing_once_the_server_ended_it(
    open_stack: OpenStack, database_server: PrivateServer
) -> None:
    """R14, R19a: its COMMIT meets a session that the server's idle time-out has ended.

    The test ends the session as the time-out would, 20 s later. The row that recovery left carries
    the worker's token and must not be taken for a stored slice.
    """
    stack = open_stack(source("saramin", "backend", 200), **SMALL)
    source_id = stack.add("saramin", "backend")
    frozen = {"crash_at": checkpoints.BEFORE_COMMIT, "crash_signal": signal.SIGSTOP}

    with WorkerProcess(stack.environment, **frozen) as worker:  # type: ignore[arg-type]  # by name
        worker.wait_until_stopped()
        (session,) = stack.rows(
            "SELECT p.id FROM information_schema.innodb_trx AS t JOIN"
            " information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
            " WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()"
        )
        database_server.execute(f"KILL {session['id']}")
        expire_leases(stack)
        assert stack.tick().recovered == 1
        before = stack.tables(without=["collection_ticks"])
        worker.send(signal.SIGCONT)
        assert worker.wait() == 0
        assert json.loads(worker.printed)["lost"] == 1

    assert stack.end_of(source_id) == LEASE_EXPIRED
    assert stack.tables(without=["collection_ticks"]) == before
    assert not stack.postings(source_id)
    assert_invariants(stack)


def test_a_stale_worker_leaves_its_successor_alone(open_stack: OpenStack) -> None:
    """R14, R17: it wakes on the next day, while the source's new cycle is being worked."""
    stack = open_stack(source("saramin", "backend", 350), **SMALL)
    source_id = stack.add("saramin", "backend")
    frozen = {"crash_at": checkpoints.BEFORE_STORE, "crash_signal": signal.SIGSTOP}

    with WorkerProcess(stack.environment, **frozen) as stale:  # type: ignore[arg-type]  # by name
        stale.wait_until_stopped()
        stack.set_clock(2)
        assert stack.tick(drain=False).recovered == 1
        assert stack.end_of(source_id, 2) == ("PENDING", None)
        with WorkerProcess(stack.environment, **frozen) as successor:  # type: ignore[arg-type]  # by name
            successor.wait_until_stopped()
            held = stack.tables(without=["collection_ticks"])
            stale.send(signal.SIGCONT)
            assert stale.wait() == 0
            assert json.loads(stale.printed)["lost"] == 1
            assert stack.tables(without=["collection_ticks"]) == held
            successor.send(signal.SIGCONT)
            assert successor.wait() == 0

    assert stack.end_of(source_id, 1) == LEASE_EXPIRED
    assert stack.end_of(source_id, 2) == SUCCESS
    assert stack.pages(source_id, 2) == list(range(4))
    assert_invariants(stack)


def test_a_worker_killed_over_midnight_blocks_the_new_day_only_until_recovery(
    open_stack: OpenStack,
) -> None:
    """R5, R11, R16: no new cycle of the source runs beside the old one's live lease."""
    stack = open_stack(source("saramin", "backend", 200), **SMALL)
    source_id = stack.add("saramin", "backend")
    stack.set_clock(1, time(23, 58))
    crashed(stack, checkpoints.BEFORE_STORE)
    stack.set_clock(2, time(0, 1))

    assert stack.tick().claimed == 0
    assert stack.end_of(source_id, 2) == ("PENDING", None)
    assert not stack.pipeline.dispatch.has_work(), "a blocked cycle would wake the sensor for ever"

    expire_leases(stack)
    assert stack.tick().recovered == 1
    assert stack.end_of(source_id, 1) == LEASE_EXPIRED
    assert stack.end_of(source_id, 2) == SUCCESS
    assert_invariants(stack)

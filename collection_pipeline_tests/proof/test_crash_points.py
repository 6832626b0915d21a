"""A worker that dies, or freezes past its lease, at each named point of a slice and of the capture.

The promise: a crash costs at most one slice of one source. Everything else of the day is collected,
nothing is judged by the lost slice, and the next day begins as if nothing had been.
"""

import signal
from datetime import time

import pytest

from collection_pipeline import checkpoints
from collection_pipeline.collection.assembly import worker_name
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.proof import record, tries
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.snapshot_witness import assert_snapshot_equals_cycles
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.stack_fixtures import OpenStack
from collection_pipeline_tests.kit.worker_process import WorkerProcess

POINTS = (
    checkpoints.AFTER_CLAIM,
    checkpoints.AFTER_RESERVATION,
    checkpoints.AFTER_REPLY,
    checkpoints.AFTER_COMPANIES,
    checkpoints.BEFORE_STORE,
    checkpoints.INSIDE_TERMINAL,
    checkpoints.BEFORE_COMMIT,
    checkpoints.AFTER_STORE,
)
IN_TRANSACTION = {checkpoints.INSIDE_TERMINAL, checkpoints.BEFORE_COMMIT}
CAPTURE_POINTS = (checkpoints.BEFORE_CAPTURE, checkpoints.BEFORE_CAPTURE_COMMIT)
PASSES = range(1, tries(1, long=5) + 1)
SETTINGS = {
    "TICK_CLAIM_LIMIT": 1,
    "SLICE_MAX_LIST_PAGES": 2,
    "HOST_MIN_DELAY_MS": 5,
    "SLA_LATE_START_SECONDS": 50,
}
"""One slice thread, so that a frozen process holds one cycle; two pages a slice; time for a process
to start after the cutoff."""
CHANGES = {"2": {"remove": 3, "add": 4, "edit": 2}, "3": {"remove": 2, "restore": 1}}
UNTOUCHED = ("collection_ticks", "external_request_host_limits", "companies")
"""Not of the slice: its tick, the host's slots, and names that a page in flight still registers."""
LEASE_EXPIRED = ("FAILED", "LEASE_EXPIRED")
SUCCESS = ("SUCCESS", None)
CAPTURE = ("snapshot", "capture")
DAGGER = "crash points"
FREEZE = "freeze points"


def opened_world(open_stack: OpenStack) -> tuple[Stack, list[int]]:
    """A day has been collected, the second has begun: pages, companies, details, a board."""
    stack = open_stack(
        source("saramin", "backend", 225, changes=CHANGES),
        source("jumpit", "1", 5, changes=CHANGES),
        source("greenhouse", "acme", 12, changes=CHANGES),
        **SETTINGS,
    )
    sources = [
        stack.add("saramin", "backend"),
        stack.add("jumpit", "1"),
        stack.add("greenhouse", "acme"),
    ]
    stack.tick()
    stack.set_clock(2)
    return stack, sources


def expire_leases(stack: Stack) -> None:
    """The database's clock is past every lease that was given so far."""
    stack.pass_time(seconds=int(stack.pipeline.settings["LEASE_SECONDS"]) + 1)


def running(stack: Stack) -> list[int]:
    """The sources whose cycle is leased."""
    found = stack.rows(
        "SELECT job_source_id FROM job_posting_collection_cycles WHERE cycle_status = 'RUNNING'"
    )
    return [int(row["job_source_id"]) for row in found]


def assert_the_rest_was_collected(stack: Stack, sources: list[int], lost: list[int]) -> None:
    """Day 2 ended for every source, and day 3 follows the catalogues for all of them."""
    for one in sources:
        wanted = LEASE_EXPIRED if one in lost else SUCCESS
        assert stack.end_of(one, 2) == wanted, f"{stack.sources[one]}, lost: {lost}"
    assert_invariants(stack)
    stack.set_clock(3)
    stack.tick()
    for one in sources:
        assert stack.end_of(one, 3) == SUCCESS
        alive = stack.catalogue(one, 3)
        assert stack.cycle(one, 3)["fetched_count"] == len(alive)
        stored = {key for key, row in stack.postings(one).items() if row["status"] == "OPEN"}
        assert stored == alive
    assert_invariants(stack)


@pytest.mark.parametrize("on_pass", PASSES)
@pytest.mark.parametrize("point", POINTS)
def test_a_death_costs_at_most_one_slice_of_one_source(
    open_stack: OpenStack, point: str, on_pass: int
) -> None:
    """R11, R14, R19a, I1 to I8: killed at its first, second, ... pass of the point."""
    stack, sources = opened_world(open_stack)
    before = {one: judged(stack, one) for one in sources}

    with WorkerProcess(stack.environment, crash_at=point, on_pass=on_pass) as worker:
        ended = worker.wait()

    # A day has fewer ends than requests: later passes of some points never come.
    assert ended == -signal.SIGKILL or (ended == 0 and on_pass > 1), worker.output
    lost = running(stack)
    assert len(lost) <= 1
    assert ended == 0 or len(lost) == (point != checkpoints.AFTER_STORE)
    expire_leases(stack)
    assert stack.tick().recovered == len(lost)
    for one in lost:
        assert_nothing_was_judged(before[one], judged(stack, one))
    assert_the_rest_was_collected(stack, sources, lost)
    record(DAGGER, tries=1, killed=int(ended != 0), most_slices_lost=len(lost))


@pytest.mark.parametrize("on_pass", PASSES)
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_froze_past_its_lease_changes_nothing_when_it_wakes(
    open_stack: OpenStack, database_server: PrivateServer, point: str, on_pass: int
) -> None:
    """R14, R19a: others have taken over; it sends nothing more and stores nothing."""
    stack, sources = opened_world(open_stack)
    before = {one: judged(stack, one) for one in sources}
    stop = signal.SIGSTOP

    with WorkerProcess(
        stack.environment, crash_at=point, crash_signal=stop, on_pass=on_pass
    ) as worker:
        stopped = worker.stops_before_it_ends()
        assert stopped or on_pass > 1, worker.output
        lost = running(stack)
        assert not stopped or len(lost) == (point != checkpoints.AFTER_STORE)
        if stopped and point in IN_TRANSACTION:
            end_frozen_session(stack, database_server)
        expire_leases(stack)
        assert stack.tick().recovered == len(lost)
        held = stack.tables(without=UNTOUCHED)
        arrived = len(stack.requests())
        if stopped:
            worker.send(signal.SIGCONT)
        assert worker.wait() == 0, worker.output

    assert stack.tables(without=UNTOUCHED) == held
    assert len(stack.requests()) == arrived
    for one in lost:
        assert_nothing_was_judged(before[one], judged(stack, one))
    assert_the_rest_was_collected(stack, sources, lost)
    record(FREEZE, tries=1, frozen=int(stopped), most_slices_lost=len(lost))


def end_frozen_session(stack: Stack, server: PrivateServer) -> None:
    """What the server's idle time-out does 20 s later to a session that stands in a transaction."""
    (session,) = stack.rows(
        "SELECT p.id FROM information_schema.innodb_trx AS t JOIN"
        " information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
        " WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()"
    )
    server.execute(f"KILL {session['id']}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("point", CAPTURE_POINTS)
def test_a_capture_that_dies_or_freezes_leaves_the_morning_to_another(
    open_stack: OpenStack, database_server: PrivateServer, point: str, number: signal.Signals
) -> None:
    """R36, R38, R39, I7: nothing of it is seen, another instance captures, once and for ever."""
    stack, sources = opened_world(open_stack)
    stack.tick()
    stack.set_clock(2, time(9, 0))
    with WorkerProcess(
        stack.environment, CAPTURE, crash_at=point, crash_signal=number
    ) as capturing:
        capturing.wait_for(point)
        if number is signal.SIGKILL:
            assert capturing.wait() == -signal.SIGKILL
        else:
            capturing.wait_until_stopped()
            end_frozen_session(stack, database_server)
        report = stack.pipeline.snapshots.capture_at_nine(worker=worker_name())
        assert report.captured_here, report.note
        held = stack.tables(without=["job_posting_collection_sla_capture_attempts"])
        if number is signal.SIGSTOP:
            capturing.send(signal.SIGCONT)
            assert capturing.wait() == 0, capturing.output

    assert stack.tables(without=["job_posting_collection_sla_capture_attempts"]) == held
    assert_snapshot_equals_cycles(stack, 2, sources)
    assert_invariants(stack)
    record("capture crash points", tries=1)

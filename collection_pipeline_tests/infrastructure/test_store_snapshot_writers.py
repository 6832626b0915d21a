"""The capture among writers: each write lies wholly before or wholly after it (R36, R38, I7)."""

import threading
from collections.abc import Callable
from datetime import UTC

import pytest
from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.gate import hold_for_write
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.morning import (
    NINE,
    SET_FETCHED,
    Morning,
    after,
    fetched_items,
    held_at,
    jump_to,
    just_before,
    write_under_gate,
)
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    holding_commit,
    open_transaction,
    rivals,
    run_sql,
    wait_until_blocked,
)
from collection_pipeline_tests.kit.slices import complete, store_slice, work_of

OpenStore = Callable[..., Store]


@pytest.fixture
def store(early_store: Store) -> Store:
    """The first process, at 08:58."""
    return early_store


def test_a_write_that_waited_for_the_gate_lands_after_the_capture(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R36: wholly after, with a time of after the cutoff; the item shows the state before it."""
    cycle_id = store.due_cycle(next_eligible_at=after(-180))
    claimed = store.claim()
    with rivals() as start, held_at(checkpoints.BEFORE_CAPTURE_COMMIT) as held:
        capturing = start(lambda: rival.capture(at=0.5))
        held.wait_until_reached()
        store.now = after(0.75)
        writing = start(lambda: store_slice(store, claimed, complete(work_of(["1", "2"]))))
        wait_until_blocked(store)
        held.let_go()
        assert capturing.result(PATIENCE_SECONDS).captured_here
        assert writing.result(PATIENCE_SECONDS) is not None
    (item,) = morning.items()
    assert (item["cycle_status"], item["fetched_count"]) == ("RUNNING", 0)
    cycle = store.cycle(cycle_id)
    assert (cycle["cycle_status"], cycle["fetched_count"]) == ("SUCCESS", 2)
    assert cycle["finished_at"] > NINE


def test_a_write_that_was_committing_when_the_gate_was_asked_for_is_in_the_snapshot(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R36: wholly before; the capture waits for it even beyond the cutoff."""
    store.due_cycle(next_eligible_at=after(-180))
    claimed = store.claim()
    store.now = after(-1.5)
    with rivals() as start, holding_commit(store.engine, "collection_slices") as held:
        writing = start(lambda: store_slice(store, claimed, complete(work_of(["1", "2"]))))
        held.wait_until_reached()
        capturing = start(lambda: rival.capture(at=-0.5))
        wait_until_blocked(store)
        jump_to(rival.store, after(1))
        held.let_go()
        assert writing.result(PATIENCE_SECONDS) is not None
        assert capturing.result(PATIENCE_SECONDS).captured_here
    (item,) = morning.items()
    assert (item["cycle_status"], item["fetched_count"]) == ("SUCCESS", 2)


@pytest.mark.parametrize(
    ("granted", "status"), [(30.5, "CAPTURED"), (60, "CAPTURED"), (60.000001, "MISSED")]
)
def test_a_hung_writer_delays_the_grant_and_not_the_truth(
    store: Store, morning: Morning, rival: Morning, granted: float, status: str
) -> None:
    """R38: within the tolerance the items are the state at the cutoff; beyond it nothing is."""
    source = store.add_source()
    store.add_cycle(source, fetched_count=1)
    with rivals() as start, open_transaction(store) as hung:
        hold_for_write(hung, DAY)
        capturing = start(lambda: rival.capture(at=-0.5))
        wait_until_blocked(store)
        late_writer = start(lambda: write_under_gate(morning.store, source, 99))
        wait_until_blocked(store, sessions=2)
        jump_to(rival.store, after(granted))
        hung.rollback()
        report = capturing.result(PATIENCE_SECONDS)
        late_writer.result(PATIENCE_SECONDS)
    header = morning.header()
    assert header["capture_status"] == report.header.status.value == status
    if status == "CAPTURED":
        assert header["captured_at"] == after(granted)
        assert fetched_items(morning) == {source: 1}
    else:
        assert "the gate came too late: worker w1" in header["miss_reason"]
        assert morning.items() == []
        assert morning.attempts()[0]["outcome"] == "GATE_TOO_LATE"


def test_a_gate_that_is_never_granted_is_given_up_after_the_tolerance(
    store: Store, open_store: OpenStore
) -> None:
    """R38: the session's lock wait lasts as long as a grant could be in time, then it ends."""
    store.add_source()
    short = {"SLA_CAPTURE_TOLERANCE_SECONDS": 1, "SLA_LATE_START_SECONDS": 1}
    morning = Morning(open_store(now=store.now), **short)
    morning.creation.create_daily_cycles()
    gave_up = "SELECT COUNT(*) FROM job_posting_collection_sla_capture_attempts WHERE outcome = :o"
    with rivals() as start, open_transaction(store) as hung:
        hold_for_write(hung, DAY)
        capturing = start(lambda: morning.capture(at=-0.5))
        wait_until_blocked(store)
        jump_to(morning.store, after(1.5))
        pause = threading.Event()
        for _ in range(200):
            if store.value(gave_up, o="GATE_TOO_LATE"):
                break
            pause.wait(0.05)
        hung.rollback()
        report = capturing.result(PATIENCE_SECONDS)
    assert report.header.status is CaptureStatus.MISSED
    assert "more than 1 s after the cutoff" in (report.header.miss_reason or "")


@pytest.mark.parametrize(("again_at", "status"), [(0.5, "CAPTURED"), (6, "MISSED")])
def test_a_place_in_the_queue_that_was_lost_is_taken_again_only_in_time(
    store: Store, morning: Morning, rival: Morning, again_at: float, status: str
) -> None:
    """R38: between two requests writes may have landed, so a late second one is no capture."""
    store.add_source()
    with rivals() as start, open_transaction(store) as hung:
        hold_for_write(hung, DAY)
        capturing = start(lambda: rival.capture(at=-0.5))
        wait_until_blocked(store)
        jump_to(rival.store, after(again_at))
        (waiting,) = store.rows(
            "SELECT p.id FROM information_schema.innodb_trx AS t JOIN"
            " information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
            " WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'"
        )
        run_sql(hung, f"KILL {waiting['id']}")
        hung.rollback()
        report = capturing.result(PATIENCE_SECONDS)
    assert report.header.status.value == status
    if status == "MISSED":
        assert "lost its place in the queue" in (report.header.miss_reason or "")
        assert morning.items() == []


@pytest.mark.parametrize(("arrives", "status"), [(4, "CAPTURED"), (14, "MISSED")])
def test_when_the_request_arrived_is_the_servers_word(
    store: Store, morning: Morning, rival: Morning, arrives: float, status: str
) -> None:
    """R38: a network or host that stood still after the clock was read let later writes in."""
    source = store.add_source()
    store.add_cycle(source, fetched_count=1)

    def stand_still(connection: Connection) -> None:
        morning.store.now = after(min(arrives, 3))
        write_under_gate(morning.store, source, 99)
        seconds = after(arrives).replace(tzinfo=UTC).timestamp()
        connection.connection.cursor().execute(f"SET SESSION timestamp = {seconds:.6f}")

    with just_before("utc_timestamp(6) AS asked_at", stand_still):
        report = rival.capture(at=-0.5)
    assert report.header.status.value == status
    if status == "MISSED":
        reason = report.header.miss_reason or ""
        assert "reached the database at 2026-12-01 09:00:14.0 KST" in reason
        assert morning.items() == []


def test_a_cycle_that_somebody_locks_beside_the_gate_is_waited_for(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R36: the capture locks the cycles too, against a writer that passed the gate by."""
    source = store.add_source()
    store.add_cycle(source)
    with rivals() as start, open_transaction(store) as foreign:
        run_sql(foreign, SET_FETCHED, n=8, s=source)
        capturing = start(lambda: rival.capture(at=0.5))
        wait_until_blocked(store)
        foreign.commit()
        assert capturing.result(PATIENCE_SECONDS).captured_here
    assert fetched_items(morning) == {source: 8}


def test_items_equal_the_cycles_at_the_captures_place_in_commit_order(
    store: Store, morning: Morning, open_store: OpenStore
) -> None:
    """I7: of every writer's writes exactly those are in the item that found the header open."""
    sources = [store.add_source() for _ in range(4)]
    for source in sources:
        store.add_cycle(source)
    writers = [(open_store(now=after(0.5)), source) for source in sources]
    done, written = threading.Event(), dict.fromkeys(sources, (0, 0))

    def writing(own: Store, source: int) -> None:
        def once(connection: Connection) -> None:
            found = run_sql(
                connection,
                "SELECT capture_status FROM job_posting_collection_sla_snapshots"
                " WHERE snapshot_date = :day",
                day=DAY,
            )
            before, later = written[source]
            is_open = found.scalar_one() == "PENDING"
            total = before + later + 1
            run_sql(connection, SET_FETCHED, n=total, s=source)
            written[source] = (before + 1, later) if is_open else (before, later + 1)

        while not done.is_set():
            own.gate.with_daily_write_gate(DAY, once)

    with rivals() as start:
        running = [start(lambda one=one: writing(*one)) for one in writers]  # type: ignore[misc]  # bound at once
        wait_for(lambda: all(before >= 10 for before, _ in written.values()))
        report = morning.capture(at=0.5)
        wait_for(lambda: all(later >= 10 for _, later in written.values()))
        done.set()
        for one in running:
            one.result(PATIENCE_SECONDS)
    assert report.captured_here
    assert fetched_items(morning) == {source: written[source][0] for source in sources}


def wait_for(is_so: Callable[[], bool]) -> None:
    """Returns once ``is_so``."""
    pause = threading.Event()
    for _ in range(2_000):
        if is_so():
            return
        pause.wait(0.005)
    raise AssertionError("the writers came to nothing")

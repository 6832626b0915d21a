"""Several instances, broken lines, later work: captured once and never changed (R38, R39)."""

import threading
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.collection.snapshot import CaptureReport
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.gate import hold_for_write
from collection_pipeline.store.sources import JobSources
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.morning import (
    Morning,
    after,
    calling_at,
    held_at,
    jump_to,
    just_before,
    snapshot_rows,
)
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    wait_until_blocked,
)
from collection_pipeline_tests.kit.slices import complete, failed, store_slice, work_of

OpenStore = Callable[..., Store]


@pytest.fixture
def store(early_store: Store) -> Store:
    """The first process, at 08:58."""
    return early_store


# --- several instances


@pytest.mark.parametrize("first", [0, 1])
def test_two_instances_capture_once(morning: Morning, rival: Morning, first: int) -> None:
    """R39: the second waits for the first, finds the header final and says so."""
    morning.store.add_source()
    winner, loser = (morning, rival) if first == 0 else (rival, morning)
    winner.store.now = loser.store.now = after(0.5)
    with rivals() as start, held_at(checkpoints.BEFORE_CAPTURE_COMMIT) as held:
        one = start(lambda: winner.capture(worker="winner"))
        held.wait_until_reached()
        two = start(lambda: loser.capture(worker="loser"))
        wait_until_blocked(morning.store)
        held.let_go()
        reports = [one.result(PATIENCE_SECONDS), two.result(PATIENCE_SECONDS)]
    assert [report.captured_here for report in reports] == [True, False]
    assert [(report.item_count, report.late_count) for report in reports] == [(1, 1)] * 2
    assert reports[1].header == reports[0].header
    assert reports[1].note.startswith("final already: captured")
    outcomes = {row["worker"]: row["outcome"] for row in morning.attempts()}
    assert outcomes == {"winner": "CAPTURED", "loser": "ALREADY_FINAL"}


def test_instances_that_come_at_the_same_time_capture_once(
    store: Store, open_store: OpenStore
) -> None:
    """R39: whoever is first, there is one set of items and one instance that says it was it."""
    for _ in range(5):
        store.add_source()
    mornings = [Morning(open_store(now=after(0.5))) for _ in range(4)]
    Morning(store).creation.create_daily_cycles()
    together = threading.Barrier(len(mornings))

    def capturing(one: Morning) -> CaptureReport:
        together.wait(PATIENCE_SECONDS)
        return one.capture()

    with rivals() as start:
        started = [start(lambda one=one: capturing(one)) for one in mornings]  # type: ignore[misc]  # bound at once
        reports = [one.result(PATIENCE_SECONDS) for one in started]
    assert sorted(report.captured_here for report in reports) == [False] * 3 + [True]
    assert {report.header for report in reports} == {reports[0].header}
    assert len(mornings[0].items()) == 5


def test_an_instance_that_comes_late_leaves_the_day_to_one_that_waits_in_time(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R38, R39: one late, one waiting in time: CAPTURED."""
    store.add_source()
    with rivals() as start, open_transaction(store) as hung:
        hold_for_write(hung, DAY)
        waiting = start(lambda: rival.capture(at=-0.5, worker="in time"))
        wait_until_blocked(store)
        # Sooner than a lock wait ends: it does not even ask for the gate.
        late = start(lambda: morning.capture(at=6, worker="late")).result(4.5)
        assert late.header.status is CaptureStatus.PENDING
        assert "too late" in late.note
        jump_to(rival.store, after(7))
        hung.rollback()
        assert waiting.result(PATIENCE_SECONDS).captured_here
    outcomes = {row["worker"]: row["outcome"] for row in morning.attempts()}
    assert outcomes == {"in time": "CAPTURED", "late": "LATE"}


def test_a_late_instance_looks_again_for_others_once_it_has_the_gate(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R38: a request in time may become visible only while the late one waits for the gate."""
    store.add_source()
    attempts = CaptureAttempts()

    def asking(connection: Connection) -> None:
        one = attempts.begin(connection, DAY, "in time", None, after(4))
        attempts.ask(connection, one, after(4.9))

    # The statement before it is the late one's own look at the others.
    with just_before("FOR UPDATE", lambda _: rival.store.run(asking)):
        assert morning.capture(at=5.1, worker="late").header.status is CaptureStatus.PENDING
    assert morning.header()["capture_status"] == "PENDING"


def test_an_instance_that_asks_too_late_leaves_the_day_missed(
    store: Store, morning: Morning
) -> None:
    """R38: asked at 09:00:06, at once and with the reason; at 09:00:05 it is still in time."""
    store.add_source()
    report = morning.capture(at=6)
    assert (report.header.status, report.captured_here) == (CaptureStatus.MISSED, False)
    assert "asked at 2026-12-01 09:00:06.0 KST, 6.0 s after the cutoff" in report.note
    assert (morning.items(), report.late_count) == ([], None)


def test_an_instance_that_asks_at_the_last_moment_captures(store: Store, morning: Morning) -> None:
    """R38: exactly SLA_LATE_START_SECONDS after the cutoff."""
    store.add_source()
    assert morning.capture(at=5).captured_here


# --- for ever


def test_a_final_snapshot_never_changes(store: Store, morning: Morning, rival: Morning) -> None:
    """R39: whatever happens later that day and the next, headers and items stay byte for byte."""
    running = store.due_cycle(next_eligible_at=after(-180))
    claimed = store.claim()
    waiting = store.due_cycle(next_eligible_at=after(-180))
    morning.capture(at=0.5)
    of_the_day = [rows[:1] if i == 0 else rows for i, rows in enumerate(snapshot_rows(store))]

    def unchanged() -> None:
        headers, items = snapshot_rows(store)
        assert [headers[:1], items] == of_the_day

    store.now = rival.store.now = after(60)
    assert store_slice(store, claimed, complete(work_of(["1"]))) is not None
    assert store_slice(store, store.claim(), failed(work_of(["2"]))) is not None
    unchanged()
    store.add_source()
    store.run(
        lambda c: JobSources().switch(
            c, store.cycle(running)["job_source_id"], active=False, now=after(60)
        )
    )
    store.write("UPDATE job_sources SET label = 'another'")
    store.switch_on(enabled=False)
    unchanged()
    for moment in (60, 3_600, 90_000):
        rival.store.now = after(moment)
        rival.creation.create_daily_cycles()
        rival.store.repository.recover_expired()
        rival.service.mark_missed_snapshot()
        if moment < 86_400:
            assert not rival.capture().captured_here
        unchanged()
    assert store.status(waiting) == "FAILED"


# --- broken lines


@pytest.fixture
def proxy(database_server: PrivateServer) -> Iterator[DatabaseProxy]:
    """A line to the server that a test can break."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as made:
        yield made


@pytest.mark.parametrize("lost", ["commit", "answer"])
def test_a_capture_whose_commit_was_lost_is_captured_once(
    store: Store, open_store: OpenStore, proxy: DatabaseProxy, lost: str
) -> None:
    """R39: its own attempt's row says whether it was stored; else it is captured again in time."""
    store.add_source()
    morning = Morning(open_store(proxy.url(store.url), now=store.now))
    morning.creation.create_daily_cycles()
    lose = proxy.lose_next_commit if lost == "commit" else proxy.lose_next_commit_answer
    struck = lose(containing="sla_snapshot_items")
    with calling_at("nowhere", lambda: None) as passed:
        report = morning.capture(at=0.5)
    assert struck.is_set() and report.captured_here
    assert passed.count(checkpoints.BEFORE_CAPTURE_COMMIT) == (2 if lost == "commit" else 1)
    assert len(morning.items()) == 1
    assert morning.header()["capture_status"] == "CAPTURED"

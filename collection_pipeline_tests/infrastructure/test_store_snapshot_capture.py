"""What the capture writes, and the moment at which it does (R36, R37, R38, R41)."""

import itertools
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from collection_pipeline import checkpoints
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.judged import abnormal, close_guarded
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.morning import (
    NINE,
    Morning,
    after,
    calling_at,
    fetched_items,
    jump_to,
    just_before,
    sources_in_every_state,
    write_under_gate,
)
from collection_pipeline_tests.kit.rivals import (
    run_sql,
)

OpenStore = Callable[..., Store]
WRITES_ITEMS = "INSERT INTO job_posting_collection_sla_snapshot_items"


@pytest.fixture
def store(early_store: Store) -> Store:
    """The first process, at 08:58."""
    return early_store


# --- what an item says


def test_judged_expressions_equal_the_truth_table(store: Store) -> None:
    """R41: every state, complete or not, with no, one and many postings."""
    combinations = itertools.product(CycleStatus, (0, 1), (0, 1, 5_000))
    for source, (status, is_complete, fetched) in enumerate(combinations, start=1):
        store.add_cycle(source, status, is_complete=is_complete, fetched_count=fetched)
    judged = (cycles.c.cycle_status, cycles.c.is_complete, cycles.c.fetched_count)
    found = store.run(
        lambda connection: connection.execute(
            select(*judged, abnormal(*judged), close_guarded(*judged))
        ).all()
    )
    assert len(found) == 36
    for word, complete_, kept, is_odd, is_guarded in found:
        status, is_complete = CycleStatus(word), bool(complete_)
        expected = (
            is_abnormal(status, is_complete=is_complete, fetched_count=kept),
            is_close_guarded(status, is_complete=is_complete, fetched_count=kept),
        )
        assert (is_odd, is_guarded) == expected, (word, is_complete, kept)


def test_a_capture_writes_one_item_a_source_as_its_cycle_stands(
    store: Store, morning: Morning
) -> None:
    """R36, R42: the cycle's columns, judged, with what a reader needs about the source."""
    counts = {"list_page_count": 3, "fetched_count": 7, "detail_request_count": 2}
    by_state = sources_in_every_state(store, **counts)
    store.write(
        "UPDATE job_posting_collection_cycles SET is_complete = 1 WHERE cycle_status = 'SUCCESS'"
    )
    store.write(
        "UPDATE job_posting_collection_cycles SET failure_reason = 'TIMEOUT'"
        " WHERE cycle_status = 'FAILED'"
    )
    store.write(
        "UPDATE job_posting_collection_cycles SET budget_exhausted_reason = 'POSTINGS'"
        " WHERE cycle_status = 'BUDGET_EXHAUSTED'"
    )

    report = morning.capture(at=0.25)

    assert report.captured_here
    assert (report.item_count, report.late_count) == (6, 5)
    assert report.gate_held_seconds is not None
    header = morning.header()
    assert (header["capture_status"], header["captured_at"]) == ("CAPTURED", after(0.25))
    assert (header["scheduled_at"], header["miss_reason"]) == (NINE, None)
    reasons = {"FAILED": "TIMEOUT", "BUDGET_EXHAUSTED": "POSTINGS"}
    expected = [
        {
            "snapshot_id": header["id"],
            "job_source_id": source,
            "source_label": "a source",
            "cycle_status": status.value,
            "is_complete": int(status is CycleStatus.SUCCESS),
            **counts,
            "abnormal": int(status is CycleStatus.FAILED),
            "close_guarded": int(status is not CycleStatus.SUCCESS),
            "platform": "greenhouse",
            "source_type": "COMPANY_BOUND",
            "reason": reasons.get(status.value),
        }
        for status, source in by_state.items()
    ]
    assert morning.items() == expected
    (attempt,) = morning.attempts()
    assert (attempt["worker"], attempt["outcome"]) == ("w1", "CAPTURED")
    assert attempt["asked_at"] == attempt["ended_at"] == after(0.25)


def test_only_runnable_sources_are_items(store: Store, morning: Morning) -> None:
    """R37, R44: not a disabled one, not an unsupported platform, not one of an older system."""
    kept = store.add_source()
    for source in (store.add_source(active=False), store.add_source("ashby")):
        store.add_cycle(source)
    elsewhere = store.add_source()
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status)"
        " VALUES (:s, :d, 'SUCCESS')",
        s=elsewhere,
        d=DAY,
    )
    morning.capture(at=0.1)
    assert [row["job_source_id"] for row in morning.items()] == [kept]
    assert (
        store.rows(
            "SELECT id FROM job_posting_collection_cycles WHERE job_source_id = :s", s=elsewhere
        )
        == []
    )


def test_with_the_aggregator_flag_off_only_company_boards_are_items(
    store: Store, morning: Morning
) -> None:
    """R37: one predicate decides, and it is read inside the capture."""
    board, aggregator = store.add_source("lever"), store.add_source("saramin")
    store.add_cycle(board)
    store.add_cycle(aggregator)
    store.switch_on(AGGREGATOR_FLAG, enabled=False)
    morning.capture(at=0.1)
    assert [row["job_source_id"] for row in morning.items()] == [board]


def test_missing_cycles_are_filled_in_inside_the_capture(store: Store, morning: Morning) -> None:
    """R36: a source that is added while the gate is being waited for has its cycle and item."""
    added: list[int] = []
    with calling_at(checkpoints.BEFORE_CAPTURE, lambda: added.append(store.add_source())):
        report = morning.capture(at=0.1)
    cycle = store.row("SELECT * FROM job_posting_collection_cycles")
    assert (cycle["job_source_id"], cycle["cycle_status"]) == (added[0], "NOT_STARTED")
    assert [row["cycle_status"] for row in morning.items()] == ["NOT_STARTED"]
    assert report.late_count == 1


def test_cycles_of_other_days_are_no_items(store: Store, morning: Morning) -> None:
    """R36: one item a source, of the cycle of the snapshot's own day."""
    source = store.add_source()
    store.add_cycle(source, CycleStatus.SUCCESS, DAY - timedelta(days=1), fetched_count=9)
    store.add_cycle(source, CycleStatus.PENDING, fetched_count=2)
    store.add_cycle(source, CycleStatus.NOT_STARTED, DAY + timedelta(days=1))

    assert morning.capture(at=0.25).item_count == 1
    (item,) = morning.items()
    assert (item["cycle_status"], item["fetched_count"]) == ("PENDING", 2)


def test_a_source_that_becomes_runnable_after_the_fill_is_an_item_without_a_cycle(
    store: Store, morning: Morning
) -> None:
    """R36, R37: the statement that writes the items decides alone who is eligible."""
    added: list[int] = []
    with just_before(WRITES_ITEMS, lambda _: added.append(store.add_source())):
        assert morning.capture(at=0.1).captured_here
    (item,) = morning.items()
    assert (item["job_source_id"], item["cycle_status"]) == (added[0], "NOT_STARTED")
    assert (item["is_complete"], item["fetched_count"], item["close_guarded"]) == (0, 0, 1)
    assert morning.creation.create_daily_cycles().made_cycles


@pytest.mark.parametrize(
    ("flag_on", "words"), [(True, "no source was eligible"), (False, DISPATCH_FLAG)]
)
def test_a_morning_without_anything_to_capture_is_not_applicable(
    store: Store, morning: Morning, flag_on: bool, words: str
) -> None:
    """R37: no eligible source, or the main flag off; final, without items and without a count."""
    if not flag_on:
        store.add_cycle(store.add_source())
        store.switch_on(DISPATCH_FLAG, enabled=False)
    report = morning.capture(at=0.1)
    header = morning.header()
    assert (header["capture_status"], header["captured_at"]) == ("NOT_APPLICABLE", None)
    assert words in header["miss_reason"]
    assert (morning.items(), report.late_count, report.captured_here) == ([], None, False)
    assert morning.attempts()[0]["outcome"] == "NOT_APPLICABLE"


# --- the moment


def test_a_fraction_of_a_millisecond_before_nine_is_before_nine(
    store: Store, morning: Morning
) -> None:
    """R38: rounded to seconds, 08:59:59.9996 would be captured; it is waited out instead."""
    store.add_source()
    moment = after(0.0001)
    with calling_at(checkpoints.BEFORE_CAPTURE, lambda: jump_after_a_reading(store, moment)):
        report = morning.capture(at=-0.0004)
    assert report.header.captured_at == moment


def jump_after_a_reading(store: Store, target: object) -> None:
    """The clock moves once the capture has found that it is too early."""
    waiter = threading.Timer(0.05, lambda: jump_to(store, target))  # type: ignore[arg-type]  # its result is not asked for
    waiter.start()


def test_a_cutoff_at_midnight_is_captured_by_a_run_of_the_day_before(store: Store) -> None:
    """R38: the cutoff is a setting; the due header decides, not today's date."""
    midnight = NINE - timedelta(hours=9)
    store.now = midnight - timedelta(seconds=0.5)
    store.add_source()
    morning = Morning(store, SLA_CUTOFF="00:00")
    with calling_at(checkpoints.BEFORE_CAPTURE, lambda: jump_to(store, midnight)):
        report = morning.capture()
    assert report.header.snapshot_date == DAY
    assert (report.header.captured_at, report.item_count) == (midnight, 1)


def test_a_run_that_is_far_too_early_leaves_no_trace(store: Store, morning: Morning) -> None:
    """R38: it says when the gate is asked for; five minutes ahead it begins to wait."""
    before = store.tables()
    report = morning.capture(at=-300.1)
    assert (report.header.status, report.captured_here) == (CaptureStatus.PENDING, False)
    assert "from 2026-12-01T08:59:59+09:00" in report.note
    assert store.tables() == before
    stop = threading.Event()
    stop.set()
    morning.capture(at=-300, stop=stop)
    assert morning.attempts()[0]["outcome"] == "STOPPED"


def test_a_stopped_run_gives_the_gate_back_and_another_captures(
    store: Store, morning: Morning, rival: Morning
) -> None:
    """R18: stopped while it holds the gate before the cutoff; nothing of it stays."""
    source, stop = store.add_source(), threading.Event()
    with calling_at(checkpoints.BEFORE_CAPTURE, stop.set):
        report = morning.capture(at=-0.5, stop=stop)
    assert report.header.status is CaptureStatus.PENDING
    assert "stopped" in report.note
    write_under_gate(rival.store, source, 5)
    assert rival.capture(at=0.2, worker="w2").captured_here
    assert fetched_items(morning) == {source: 5}
    assert [row["outcome"] for row in morning.attempts()] == ["STOPPED", "CAPTURED"]


# --- the session


def test_the_gates_session_waits_as_long_as_a_grant_may_be_in_time(
    store: Store, morning: Morning
) -> None:
    """R38: tolerance, lead and late start; after the grant no other lock is waited for so long."""
    seen: list[int] = []
    engine = morning._open_gate_engine()
    with engine.connect() as connection:
        asked = "SELECT @@session.innodb_lock_wait_timeout, @@session.wait_timeout"
        lock_wait, idle = run_sql(connection, asked).one()
        isolation = run_sql(
            connection,
            "SHOW SESSION VARIABLES WHERE Variable_name IN"
            " ('transaction_isolation', 'tx_isolation')",
        ).one()[1]
        seen.append(connection.connection.dbapi_connection._read_timeout)  # type: ignore[union-attr]  # PyMySQL has no name for it
    engine.dispose()
    assert (lock_wait, idle, isolation) == (66, 20, "READ-COMMITTED")
    assert seen[0] > lock_wait


def test_after_the_grant_no_lock_is_waited_for_longer_than_usual(
    store: Store, morning: Morning
) -> None:
    """R38: with the gate held, every writer of the day would wait as long."""
    store.add_source()
    asked = "SELECT @@session.innodb_lock_wait_timeout"
    found: list[int] = []
    with just_before(WRITES_ITEMS, lambda c: found.append(run_sql(c, asked).scalar_one())):
        assert morning.capture(at=0.5).captured_here
    assert found == [5]

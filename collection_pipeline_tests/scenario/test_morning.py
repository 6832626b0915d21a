"""The morning with real workers and real processes: before, at and after 09:00 (R35 to R39)."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, time, timedelta

import pytest

from collection_pipeline import checkpoints
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.rivals import rivals, wait_until_blocked
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Row, Stack, wait_until
from collection_pipeline_tests.kit.webhook_receiver import WebhookReceiver, status
from collection_pipeline_tests.kit.worker_entry import STARTED
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

ROWS = {"done": 20, "slow": 350, "other": 30}
CAPTURE = ("snapshot", "capture")
SMALL = {"TICK_CLAIM_LIMIT": 1, "SLICE_MAX_LIST_PAGES": 1, "HOST_MIN_DELAY_MS": 5}


def nine(stack: Stack, number: int = 1) -> datetime:
    """The cutoff of day ``number``, naive UTC."""
    return utc_of_kst(stack.day(number), time(9))


def to_nine(stack: Stack, seconds: float = 0.0, number: int = 1) -> None:
    """The clock is so many seconds after the cutoff; before it where negative."""
    stack.move_clock_to(nine(stack, number) + timedelta(seconds=seconds))


def header(stack: Stack, number: int = 1) -> Row:
    """The day's whole header."""
    (row,) = stack.rows(
        "SELECT * FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day",
        day=stack.day(number),
    )
    return row


def items(stack: Stack) -> list[Row]:
    """Every whole item, by day and source."""
    return stack.rows(
        "SELECT * FROM job_posting_collection_sla_snapshot_items"
        " ORDER BY snapshot_id, job_source_id"
    )


def attempts(stack: Stack) -> list[Row]:
    """Every attempt in the order in which they began."""
    return stack.rows("SELECT * FROM job_posting_collection_sla_capture_attempts ORDER BY id")


def capture(stack: Stack) -> CaptureStatus:
    """The service in this process."""
    return stack.pipeline.snapshots.capture_at_nine(worker="here").header.status


@contextmanager
def waiting_captures(stack: Stack, count: int, **options: object) -> Iterator[list[WorkerProcess]]:
    """Processes that have begun to wait for the cutoff; the clock stands some minutes ahead."""
    to_nine(stack, -240)
    with ExitStack() as opened:
        made = [WorkerProcess(stack.environment, CAPTURE, **options) for _ in range(count)]  # type: ignore[arg-type]  # by name
        for process in made:
            opened.enter_context(process)
        wait_until("every process has begun", lambda: len(attempts(stack)) == count)
        yield made


def test_a_snapshot_stays_what_it_was_when_a_source_ends_a_minute_later(
    open_stack: OpenStack,
) -> None:
    """R4, R36, R39: the items are of 09:00, the work goes on, and the next morning is its own."""
    catalogues = [source("saramin", key, rows) for key, rows in ROWS.items()]
    stack = open_stack(*catalogues, **SMALL)
    done = stack.add("saramin", "done")
    stack.tick()
    slow = stack.add("saramin", "slow")
    stack.tick(drain=False)
    to_nine(stack, -0.6)
    unstarted = stack.add("saramin", "other")

    assert capture(stack) is CaptureStatus.CAPTURED

    before = (header(stack), items(stack))
    assert before[0]["captured_at"] >= nine(stack)
    states = {row["job_source_id"]: row["cycle_status"] for row in before[1]}
    assert states == {done: "SUCCESS", slow: "PENDING", unstarted: "NOT_STARTED"}
    stack.switch(unstarted, active=False)
    to_nine(stack, 60)
    stack.tick()
    assert stack.end_of(slow) == ("SUCCESS", None)
    stack.switch(unstarted, active=True)
    stack.tick()
    assert stack.cycle(unstarted)["cycle_status"] != "NOT_STARTED", "R4: dispatch goes on"
    stack.set_clock(2, time(9, 0, 1))
    assert capture(stack) is CaptureStatus.CAPTURED
    assert (header(stack), items(stack)[:3]) == before
    assert len(items(stack)) == 6
    assert_invariants(stack)


def test_two_processes_capture_once(open_stack: OpenStack) -> None:
    """R39: both wait for 09:00, both end well, one of them has captured."""
    stack = open_stack(source("saramin", "one", 5))
    stack.add("saramin", "one")
    with waiting_captures(stack, 2) as processes:
        to_nine(stack, -0.9)
        assert [process.wait() for process in processes] == [0, 0]
        said = sorted(process.printed for process in processes)
    assert "CAPTURED, captured 1 source(s)" in said[0]
    assert "CAPTURED, final already" in said[1]
    assert len(items(stack)) == 1
    assert nine(stack) <= header(stack)["captured_at"] < nine(stack) + timedelta(seconds=5)
    assert sorted(row["outcome"] for row in attempts(stack)) == ["ALREADY_FINAL", "CAPTURED"]
    assert all(row["asked_at"] >= nine(stack) - timedelta(seconds=1) for row in attempts(stack))


def test_a_process_killed_before_its_commit_leaves_nothing_and_is_named(
    open_stack: OpenStack,
) -> None:
    """R36, R38: no item, no header, no lock; the next tick says MISSED and who died."""
    stack = open_stack(source("saramin", "one", 5))
    source_id = stack.add("saramin", "one")
    point = checkpoints.BEFORE_CAPTURE_COMMIT
    with waiting_captures(stack, 1, crash_at=point) as (process,):
        to_nine(stack, -0.5)
        assert process.wait() == -signal.SIGKILL
        name = f":{process.pid}"
    assert header(stack)["capture_status"] == "PENDING"
    assert items(stack) == []

    stack.tick()
    assert stack.end_of(source_id) == ("SUCCESS", None), "its gate was given back"
    to_nine(stack, 62)
    assert stack.pipeline.dispatch.has_work()
    stack.tick()
    assert not stack.pipeline.dispatch.has_work()
    missed = header(stack)
    assert missed["capture_status"] == "MISSED"
    assert name in missed["miss_reason"]
    assert "never ended" in missed["miss_reason"]
    assert items(stack) == []


def test_a_writer_stopped_inside_its_transaction_delays_the_grant_not_the_truth(
    open_stack: OpenStack,
) -> None:
    """R38: asked at 08:59:59.5, granted at about 09:00:30 behind a stopped worker."""
    stack = open_stack(source("saramin", "slow", 350), **SMALL)
    slow = stack.add("saramin", "slow")
    to_nine(stack, -30)
    frozen = {"crash_at": checkpoints.BEFORE_COMMIT, "crash_signal": signal.SIGSTOP}
    with WorkerProcess(stack.environment, **frozen) as worker:  # type: ignore[arg-type]  # by name
        worker.wait_until_stopped()
        to_nine(stack, -0.5)
        with rivals() as start:
            capturing = start(lambda: capture(stack))
            with closing(Store(stack.url, now=None)) as witness:
                wait_until_blocked(witness)
            to_nine(stack, 30)
            worker.send(signal.SIGCONT)
            assert capturing.result(30) is CaptureStatus.CAPTURED
        captured = header(stack)
        assert timedelta(seconds=30) <= captured["captured_at"] - nine(stack)
        assert captured["captured_at"] - nine(stack) < timedelta(seconds=60)
        (item,) = items(stack)
        # What the stopped worker had begun to store is in, its next slice is not.
        assert (item["job_source_id"], item["list_page_count"]) == (slow, 1)
        assert worker.wait() == 0
    assert stack.end_of(slow) == ("SUCCESS", None)
    assert items(stack) == [item]
    assert_invariants(stack)


@pytest.mark.parametrize("has_capture_run", [True, False])
def test_activation_at_ten_is_no_incident(open_stack: OpenStack, has_capture_run: bool) -> None:
    """R37, R44: the day of the activation is NOT_APPLICABLE, with and without a run at 09:00."""
    stack = open_stack(source("saramin", "one", 5))
    stack.set_flags(enabled=False)
    source_id = stack.add("saramin", "one")
    stack.tick()
    if has_capture_run:
        to_nine(stack, 1)
        assert capture(stack) is CaptureStatus.NOT_APPLICABLE
    to_nine(stack, 3_600)
    stack.set_flags()
    stack.tick()
    settled = header(stack)
    assert settled["capture_status"] == "NOT_APPLICABLE"
    assert "was off at the cutoff" in settled["miss_reason"]
    assert stack.end_of(source_id) == ("SUCCESS", None)
    assert (items(stack), len(attempts(stack))) == ([], int(has_capture_run))


def test_a_day_that_begins_after_its_cutoff_is_not_applicable(open_stack: OpenStack) -> None:
    """R35, R37: first deployed at 11:00; no header for the day before, tomorrow's is waiting."""
    stack = open_stack(source("saramin", "one", 5))
    stack.add("saramin", "one")
    to_nine(stack, 7_200)
    stack.tick()
    found = stack.rows("SELECT * FROM job_posting_collection_sla_snapshots ORDER BY snapshot_date")
    assert [(row["snapshot_date"], row["capture_status"]) for row in found] == [
        (stack.day(1), "NOT_APPLICABLE"),
        (stack.day(2), "PENDING"),
    ]
    assert capture(stack) is CaptureStatus.NOT_APPLICABLE
    assert run_date_of(stack.now()) == stack.day(1)


def test_a_morning_without_a_capture_is_missed_by_the_next_tick(open_stack: OpenStack) -> None:
    """R38: recovery is a part of every tick, and the sensor sees that there is work."""
    stack = open_stack(source("saramin", "one", 5))
    stack.add("saramin", "one")
    to_nine(stack, -30)
    stack.tick()
    assert not stack.pipeline.dispatch.has_work()
    to_nine(stack, 58)
    assert not stack.pipeline.dispatch.has_work()
    to_nine(stack, 61.1)
    assert stack.pipeline.dispatch.has_work()
    stack.tick()
    assert header(stack)["capture_status"] == "MISSED"
    assert "although a tick ran" in header(stack)["miss_reason"]
    assert not stack.pipeline.dispatch.has_work()


def test_a_failing_webhook_undoes_nothing_and_a_later_tick_delivers(
    open_stack: OpenStack,
) -> None:
    """R40: the report waits in the outbox, the sensor sees when it is due, its key stays."""
    state = "SELECT state FROM notification_outbox"
    with WebhookReceiver(status("503 Service Unavailable")) as receiver:
        stack = open_stack(source("saramin", "one", 5), WEBHOOK_URL=receiver.url)
        stack.add("saramin", "one")
        to_nine(stack, -30)
        stack.tick()
        to_nine(stack, -0.5)
        assert capture(stack) is CaptureStatus.CAPTURED
        captured = header(stack), items(stack)
        stack.tick()
        assert stack.value(state) == "WAITING"
        assert not stack.pipeline.dispatch.has_work()
        stack.pass_time(minutes=5)
        assert stack.pipeline.dispatch.has_work()
        stack.tick()
        assert stack.value(state) == "DELIVERED"
        assert not stack.pipeline.dispatch.has_work()
        assert receiver.kinds == ["MORNING_REPORT"] * 2 and len(set(receiver.keys)) == 1
    assert (header(stack), items(stack)) == captured


def test_a_process_that_is_asked_to_stop_ends_its_waiting(open_stack: OpenStack) -> None:
    """R18: SIGTERM; the day is still to be captured by another run, which the code says (75)."""
    stack = open_stack()
    with waiting_captures(stack, 1) as (process,):
        process.wait_for(STARTED)
        process.send(signal.SIGTERM)
        assert process.wait() == 75
        assert "stopped before the capture" in process.printed
    assert attempts(stack)[0]["outcome"] == "STOPPED"
    assert header(stack)["capture_status"] == "PENDING"

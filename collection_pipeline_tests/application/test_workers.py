"""Workers claim within their allowance, wait for each other, and end when asked (R5, R18)."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import pytest

from collection_pipeline.collection.slice_processor import SliceReport
from collection_pipeline.collection.workers import SliceWorkers, WorkerFault
from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import JobSource, SourceType
from collection_pipeline.store.claim import ClaimedCycle

DEADLINE_SECONDS = 20.0
"""No test waits so long unless it fails."""
NEVER = float("inf")


def claimed(number: int) -> ClaimedCycle:
    """A cycle as the queue hands it out."""
    return ClaimedCycle(
        JobPostingCollectionCycle(id=number, job_source_id=number, run_date=date(2026, 12, 1)),
        JobSource(number, "wanted", SourceType.AGGREGATOR, f"source {number}", {}),
    )


def report(cycle: ClaimedCycle) -> SliceReport:
    """What a slice of ``cycle`` reports."""
    return SliceReport(
        cycle.cycle.id, cycle.source.id, "wanted", "", date(2026, 12, 1), CycleStatus.PENDING
    )


class Queue:
    """Due cycles, claims counted.

    A slice waits for its event in ``held`` and its party in ``meets``, then raises its fault, or
    puts what it ``brings``, and ``times_back`` times its own cycle, into the queue.
    """

    def __init__(self, *numbers: int) -> None:
        self.due = deque(numbers)
        self.claims = 0
        self.empty_claims = 0
        self.worked: list[int] = []
        self.times_back: dict[int, int] = {}
        self.stop = threading.Event()
        self.went_empty = threading.Event()
        self.someone_left = threading.Event()
        self.held: dict[int, threading.Event] = {}
        self.brings: dict[int, list[int]] = {}
        self.meets: dict[int, threading.Barrier] = {}
        self.faults: dict[int, Exception] = {}
        self.entered = 0
        self.left = 0
        self._lock = threading.Lock()

    def claim(self) -> ClaimedCycle | None:
        """The next due cycle."""
        with self._lock:
            self.claims += 1
            if self.due:
                return claimed(self.due.popleft())
            self.empty_claims += 1
            self.went_empty.set()
            return None

    def work(self, cycle: ClaimedCycle, asked_at: float) -> SliceReport:
        """One slice; it may wait, fail, or put its cycle back into the queue."""
        number = cycle.cycle.id
        assert asked_at <= time.monotonic()
        if number in self.held:
            assert self.held[number].wait(DEADLINE_SECONDS), "nobody released the slice"
        if number in self.meets:
            self.meets[number].wait(DEADLINE_SECONDS)
        if number in self.faults:
            raise self.faults[number]
        with self._lock:
            self.worked.append(number)
            self.due.extend(self.brings.get(number, []))
            if self.times_back.get(number, 0) > 0:
                self.times_back[number] -= 1
                self.due.append(number)
        return report(cycle)

    @contextmanager
    def slice_worker(self) -> Iterator[None]:
        """What a worker's thread is wrapped in."""
        with self._lock:
            self.entered += 1
        try:
            yield
        finally:
            with self._lock:
                self.left += 1
            self.someone_left.set()

    @property
    def workers(self) -> SliceWorkers:
        """Workers over this queue."""
        return SliceWorkers(self.claim, self.work, self.slice_worker, self.stop)

    def run(
        self, threads: int, *, claims: int | None, ends_at: float = NEVER
    ) -> list[SliceReport | WorkerFault]:
        """Everything that the workers report."""
        return list(self.workers.run(threads, claims=claims, ends_at=ends_at))


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    """R18: whatever happened, every worker's thread has ended."""
    yield
    assert [thread.name for thread in threading.enumerate() if "slice-" in thread.name] == []


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("claims", "slices"), [(1, 1), (3, 3), (5, 5), (9, 5)])
def test_a_tick_claims_its_allowance_and_no_more(threads: int, claims: int, slices: int) -> None:
    """Spec section 3, TICK_CLAIM_LIMIT: cycles claimed a tick."""
    queue = Queue(1, 2, 3, 4, 5)
    assert len(queue.run(threads, claims=claims)) == slices
    assert len(queue.worked) == slices
    assert queue.claims <= claims


def test_a_bounded_tick_counts_a_cycle_that_comes_back_as_another_claim() -> None:
    """R5: slices of one cycle use up the allowance like those of others."""
    queue = Queue(1)
    queue.times_back = {1: 99}
    assert len(queue.run(1, claims=4)) == 4


def test_a_drain_goes_on_until_nothing_is_due() -> None:
    """R5: cycles that come back are claimed again, however often."""
    queue = Queue(1, 2, 3)
    queue.times_back = {1: 7, 3: 20}
    reports = queue.run(3, claims=None)
    assert len(reports) == 3 + 7 + 20
    assert not queue.due


def test_a_drain_of_an_empty_queue_ends_at_once() -> None:
    """R5: nothing due and nothing worked."""
    queue = Queue()
    assert queue.run(4, claims=None) == []
    assert queue.claims == 4


def test_an_idle_worker_waits_for_a_slice_that_may_put_its_cycle_back() -> None:
    """R5: slice 1 brings two cycles back while 2 is worked; they are worked at the same time."""
    queue = Queue(1, 2)
    queue.brings = {1: [3, 4]}
    queue.held = {1: queue.went_empty, 2: threading.Event()}
    together = threading.Barrier(2, action=queue.held[2].set)
    queue.meets = {3: together, 4: together}
    reports = queue.run(3, claims=None)
    assert not [item for item in reports if isinstance(item, WorkerFault)]
    assert sorted(queue.worked) == [1, 2, 3, 4]


def test_an_idle_worker_of_a_bounded_tick_does_not_wait() -> None:
    """R5: it leaves while a slice is worked; the next tick finds what comes back."""
    queue = Queue(1)
    queue.held = {1: queue.someone_left}
    items = queue.run(2, claims=9)
    assert [type(item) for item in items] == [SliceReport]


@pytest.mark.parametrize("claims", [None, 50])
def test_asked_to_stop_nothing_more_is_claimed(claims: int | None) -> None:
    """R18: the slice in flight ends and is reported."""
    queue = Queue(1, 2)
    queue.times_back = {1: 10_000, 2: 10_000}
    seen = []
    for item in queue.workers.run(2, claims=claims, ends_at=NEVER):
        seen.append(item)
        queue.stop.set()
    assert len(seen) == len(queue.worked)
    assert queue.claims == len(queue.worked)
    assert len(queue.due) == 2


def test_nothing_is_claimed_once_the_tick_was_asked_to_stop() -> None:
    """R18."""
    queue = Queue(1, 2)
    queue.stop.set()
    assert queue.run(2, claims=None) == []
    assert queue.claims == 0


def test_nothing_is_claimed_after_the_tick_has_ended() -> None:
    """R5: ``max_seconds`` of a tick."""
    queue = Queue(1, 2)
    assert queue.run(2, claims=None, ends_at=time.monotonic()) == []
    assert queue.claims == 0


@pytest.mark.parametrize("claims", [None, 5])
def test_a_fault_is_reported_and_the_others_go_on(claims: int | None) -> None:
    """R11: recovery ends that cycle; the other slices of the tick are not lost."""
    queue = Queue(1, 2, 3, 4)
    error = RuntimeError("the database is away")
    queue.faults = {2: error}
    items = queue.run(2, claims=claims)
    faults = [item for item in items if isinstance(item, WorkerFault)]
    assert [fault.error for fault in faults] == [error]
    assert sorted(queue.worked) == [1, 3, 4]
    assert queue.left == queue.entered == 2


def test_a_fault_of_every_worker_ends_the_tick_with_all_of_them() -> None:
    """R11: nobody waits for a worker that is gone."""
    queue = Queue(1, 2, 3)
    queue.faults = {number: RuntimeError(str(number)) for number in (1, 2, 3)}
    items = queue.run(2, claims=None)
    assert len(items) == 2
    assert all(isinstance(item, WorkerFault) for item in items)


def test_a_fault_while_claiming_is_reported_too() -> None:
    """R11."""

    def claim() -> ClaimedCycle | None:
        raise ConnectionError("no database")

    queue = Queue()
    workers = SliceWorkers(claim, queue.work, queue.slice_worker, queue.stop)
    items = list(workers.run(2, claims=None, ends_at=NEVER))
    assert [type(item) for item in items] == [WorkerFault, WorkerFault]


def test_an_interrupt_of_the_caller_asks_the_slices_to_end_and_waits_for_them() -> None:
    """R18: SIGINT reaches the caller's thread; what is being worked is stored first."""
    queue = Queue(1, 2)
    queue.held = {2: queue.stop}
    reports = queue.workers.run(2, claims=None, ends_at=NEVER)
    first = next(reports)
    assert isinstance(first, SliceReport)
    with pytest.raises(KeyboardInterrupt):
        reports.throw(KeyboardInterrupt())  # type: ignore[attr-defined]  # it is a generator
    assert queue.stop.is_set()
    assert sorted(queue.worked) == [1, 2]
    assert queue.left == queue.entered


def test_a_caller_that_stops_listening_leaves_no_worker_behind() -> None:
    """R18: closing the reports is an interrupt too."""
    queue = Queue(1)
    queue.times_back = {1: 10_000}
    reports = queue.workers.run(2, claims=None, ends_at=NEVER)
    assert isinstance(next(reports), SliceReport)
    reports.close()  # type: ignore[attr-defined]  # it is a generator
    assert queue.stop.is_set()
    assert queue.left == queue.entered == 2


def test_every_worker_attends_as_a_slice_worker() -> None:
    """R25, I3: the guard knows the threads that may send, from first to last."""
    queue = Queue(1, 2, 3)
    queue.run(3, claims=3)
    assert (queue.entered, queue.left) == (3, 3)

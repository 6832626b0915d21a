"""Slices in parallel threads: each claims, works and stores, then claims again (R5, R18).

Threads in one process suffice, since a slice mostly waits for its host. A worker that finds
nothing due waits while others still work, since their cycles may come back into the queue.
"""

import gc
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from collection_pipeline.collection.slice_processor import SliceReport
from collection_pipeline.store.claim import ClaimedCycle

COLLECTED_AFTER_OBJECTS = 50_000
Claim = Callable[[], ClaimedCycle | None]
Work = Callable[[ClaimedCycle, float], SliceReport]


@dataclass(frozen=True)
class WorkerFault:
    """A worker ended with an error that was not a slice's own outcome."""

    error: Exception


class _Rota:
    """Which claims are still allowed, and how many slices are being worked."""

    def __init__(self, claims: int | None, ends_at: float, stop: threading.Event) -> None:
        self._changed = threading.Condition()
        self._claims = claims
        self._working = 0
        self.ended = 0
        self._ends_at = ends_at
        self._stop = stop

    def begin(self) -> bool:
        """Take one allowed claim; False when the tick is over."""
        with self._changed:
            if self._is_over() or self._claims == 0:
                return False
            if self._claims is not None:
                self._claims -= 1
            self._working += 1
            return True

    def end(self, *, worked: bool) -> None:
        """A claim is done; ``worked`` when it found a cycle and its slice has ended."""
        with self._changed:
            self._working -= 1
            self.ended += worked
            if not worked and self._claims is not None:
                self._claims += 1  # a claim that found nothing is left to others
            self._changed.notify_all()

    def wait_for_others(self, ended_before: int) -> bool:
        """Whether to claim again: once a slice has ended since ``ended_before`` was read.

        An ended slice may have put its cycle back; False when none is being worked any more.
        """
        with self._changed:
            while not self._is_over():
                if self.ended != ended_before:
                    return True
                if self._working == 0:
                    return False
                self._changed.wait(timeout=1.0)
            return False

    def _is_over(self) -> bool:
        return self._stop.is_set() or time.monotonic() >= self._ends_at


class SliceWorkers:
    """A pool of threads for one tick."""

    def __init__(
        self,
        claim: Claim,
        work: Work,
        slice_worker: Callable[[], AbstractContextManager[None]],
        stop: threading.Event,
    ) -> None:
        self._claim = claim
        self._work = work
        self._slice_worker = slice_worker
        self._stop = stop

    def run(
        self, threads: int, *, claims: int | None, ends_at: float
    ) -> Iterator[SliceReport | WorkerFault]:
        """Reports as slices end, in the caller's thread.

        ``claims`` bounds how many cycles are claimed, ``None`` goes on until nothing is due;
        ``ends_at`` is a monotonic time. When the caller's thread is interrupted the slices are
        asked to end, and are waited for (R18).
        """
        done: queue.Queue[SliceReport | WorkerFault | None] = queue.Queue()
        rota = _Rota(claims, ends_at, self._stop)
        pool = [
            threading.Thread(
                target=self._attend,
                args=(rota, done, claims is None),
                name=f"slice-{number}",
                daemon=False,
            )
            for number in range(threads)
        ]
        with _seldom_collected():
            yield from self._reports(pool, done)

    def _reports(
        self, pool: list[threading.Thread], done: "queue.Queue[SliceReport | WorkerFault | None]"
    ) -> Iterator[SliceReport | WorkerFault]:
        for thread in pool:
            thread.start()
        try:
            yield from _until_all_ended(done, len(pool))
        except BaseException:
            self._stop.set()
            raise
        finally:
            for thread in pool:
                thread.join()

    def _attend(
        self,
        rota: _Rota,
        done: "queue.Queue[SliceReport | WorkerFault | None]",
        drains: bool,
    ) -> None:
        try:
            with self._slice_worker():
                while rota.begin():
                    ended_before = rota.ended
                    report = None
                    try:
                        report = self._one_slice()
                    finally:
                        rota.end(worked=report is not None)
                    if report is not None:
                        done.put(report)
                    elif not (drains and rota.wait_for_others(ended_before)):
                        break
        except Exception as error:
            done.put(WorkerFault(error))
        finally:
            done.put(None)

    def _one_slice(self) -> SliceReport | None:
        asked_at = time.monotonic()
        claimed = self._claim()
        return None if claimed is None else self._work(claimed, asked_at)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Bodies are thousands of objects without cycles, which the collector would visit in vain.

    Reference counts free them all the same, so memory stays as it is.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], COLLECTED_AFTER_OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _until_all_ended(
    done: "queue.Queue[SliceReport | WorkerFault | None]", workers: int
) -> Iterator[SliceReport | WorkerFault]:
    while workers:
        item = done.get()
        if item is None:
            workers -= 1
        else:
            yield item

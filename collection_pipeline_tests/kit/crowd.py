"""A crowd of worker processes that are killed and frozen at random, and started again.

Invariant: what happens to whom is drawn from one seed; a worker acts on itself at a named point, or
is killed from outside at any moment after it. Nothing outlives the crowd.
"""

import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from collection_pipeline import checkpoints
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.worker_process import WorkerProcess

POINTS = (
    checkpoints.AFTER_CLAIM,
    checkpoints.AFTER_REPLY,
    checkpoints.BEFORE_STORE,
    checkpoints.BEFORE_COMMIT,
    checkpoints.AFTER_STORE,
)
FREEZE_POINTS = (checkpoints.AFTER_CLAIM, checkpoints.AFTER_REPLY, checkpoints.BEFORE_STORE)
"""Not inside a transaction: its locks would stop everybody until the server ends the session."""

PATIENCE_SECONDS = 240.0


@dataclass(frozen=True)
class Fate:
    """``kind``: killed at a point, killed from outside soon after it, frozen there, or spared."""

    kind: str
    point: str = ""
    on_pass: int = 1


class Crowd:
    """``processes`` at a time over one stack, until the queue is drained and all fates are met."""

    def __init__(
        self, stack: Stack, seed: int, *, processes: int, kills: int, freezes: int
    ) -> None:
        self._stack = stack
        self._processes = processes
        drawn = random.Random(seed)
        freezing = [_freeze(drawn) for _ in range(freezes)]
        others = [*(_kill(drawn) for _ in range(kills)), *freezing[1:]]
        drawn.shuffle(others)
        # Those that are killed at a point come next, for the same reason.
        others.sort(key=lambda fate: fate.kind != "killed")
        # The first of them freezes while there is still work to be frozen in.
        self._fates = [*freezing[:1], *others]
        self._has_frozen = threading.Event()
        self._lock = threading.Lock()
        self.happened: Counter[str] = Counter()

    def work(self, meanwhile: Callable[[], object]) -> None:
        """Returns when no process is left; ``meanwhile`` runs beside them, freezes wait for it."""
        done = threading.Event()
        with ThreadPoolExecutor(self._processes + 1) as lanes:
            running = [lanes.submit(self._lane, done)]
            # Once the others work, they hold every lease that the hosts allow.
            self._has_frozen.wait()
            running += [lanes.submit(self._lane, done) for _ in range(self._processes - 1)]
            running.append(lanes.submit(self._beside, meanwhile, done))
            for one in running:
                one.result()

    def _beside(self, meanwhile: Callable[[], object], done: threading.Event) -> None:
        try:
            meanwhile()
        finally:
            done.set()

    def _lane(self, done: threading.Event) -> None:
        try:
            while (fate := self._next_fate()) is not None:
                self._live(fate, done)
            self._live(Fate("spared"), done)
        finally:
            self._has_frozen.set()

    def _next_fate(self) -> Fate | None:
        with self._lock:
            return self._fates.pop(0) if self._fates else None

    def _live(self, fate: Fate, done: threading.Event) -> None:
        number = signal.SIGSTOP if fate.kind == "frozen" else signal.SIGKILL
        own_end = fate.point if fate.kind in {"killed", "frozen"} else None
        environment = dict(self._stack.environment)
        if fate.kind == "frozen":
            # Another thread would be frozen too, perhaps inside a transaction.
            environment["COLLECTION_TICK_CLAIM_LIMIT"] = "1"
        with WorkerProcess(
            environment,
            crash_at=own_end,
            crash_signal=number,
            on_pass=fate.on_pass,
            patience_seconds=PATIENCE_SECONDS,
        ) as worker:
            met = fate.kind != "spared" and worker.passes(fate.point, fate.on_pass)
            if met and fate.kind == "killed from outside":
                worker.send(signal.SIGKILL)
            if met and fate.kind == "frozen":
                worker.wait_until_stopped()
                self._has_frozen.set()
                done.wait()
                self._let_leases_end()
                worker.send(signal.SIGCONT)
            self._count(fate, met, worker.wait(), worker.output)

    def _let_leases_end(self) -> None:
        """The database's clock passes every lease, also those of the workers that are awake."""
        with self._lock:
            self._stack.pass_time(seconds=int(self._stack.pipeline.settings["LEASE_SECONDS"]) + 1)
            self._stack.pipeline.repository.recover_expired()

    def _count(self, fate: Fate, met: bool, code: int, output: str) -> None:
        was_killed = met and fate.kind.startswith("killed")
        # A worker that had nothing left to do may have ended before it could be killed.
        assert code == (-signal.SIGKILL if was_killed else 0) or (was_killed and code == 0), output
        with self._lock:
            self.happened["processes"] += 1
            self.happened["killed"] += code == -signal.SIGKILL
            self.happened["frozen"] += met and fate.kind == "frozen"


def _kill(drawn: random.Random) -> Fate:
    kind = drawn.choice(("killed", "killed from outside"))
    return Fate(kind, drawn.choice(POINTS), drawn.randint(1, 4))


def _freeze(drawn: random.Random) -> Fate:
    return Fate("frozen", drawn.choice(FREEZE_POINTS), drawn.randint(1, 3))

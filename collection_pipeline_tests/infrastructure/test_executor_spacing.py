"""Several executors in real time over real sockets share one host (I6)."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise

from collection_pipeline.domain.key_quota import KeyQuota
from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline.platforms.contract import (
    PlatformReply,
    PlatformRequest,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.executor import ExecutedRequest, SourceRequestExecutor
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline_tests.kit.executor_fixtures import ANY_PATH, get, make_settings
from collection_pipeline_tests.kit.hostile_server import HostileServer, answering, reply

DELAY_SECONDS = 0.05
TOLERANCE_SECONDS = 0.005
EXECUTORS = 4
REQUESTS_EACH = 8


class SharedThrottle:
    """The rule of R26 in memory, shared by threads as the table's row is by processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_allowed_at = 0.0

    def reserve(
        self,
        host: str,
        delay_seconds: float,
        longest_wait_seconds: float,
        quota: KeyQuota | None = None,
        missed: ThrottleSlot | None = None,
    ) -> ThrottleSlot | ThrottleRefusal:
        """The host's next moment."""
        with self._lock:
            now = time.monotonic()
            slot = max(now, self._next_allowed_at)
            self._next_allowed_at = slot + delay_seconds
            return ThrottleSlot(slot - now)

    def hold_back(self, host: str, seconds: float) -> None:
        """Not provoked here."""
        raise AssertionError(host)


class OpenPermit:
    """Lets everything pass, for a minute; waits in real time."""

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + 60
        self._stop = threading.Event()

    def stop_reason(self) -> str | None:
        """Nothing stops."""
        return None

    def seconds_left(self) -> float:
        """Until the minute is over."""
        return self._ends_at - time.monotonic()

    def wait(self, seconds: float) -> bool:
        """A real wait."""
        return not self._stop.wait(seconds)

    def assert_none_open(self) -> None:
        """No database here."""


class TimedSender(RequestsSender):
    """Notes the moment after the last check, when only the write is left."""

    def __init__(self, writes: list[float]) -> None:
        super().__init__(make_settings())
        self._writes = writes

    def send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        deadline_seconds: float,
        before_write: Callable[[], None] | None = None,
    ) -> PlatformReply:
        """As the sender does, with a note."""

        def noted() -> None:
            assert before_write is not None
            before_write()
            self._writes.append(time.monotonic())

        return super().send(request, policy, deadline_seconds, noted)


def test_all_workers_together_keep_the_delay() -> None:
    """I6. Judged where the bytes leave: the threads of a test share one interpreter lock with its
    receiver, whose own lateness would be measured instead."""
    throttle, writes = SharedThrottle(), list[float]()
    outcomes: list[object] = []

    def work(base_url: str) -> None:
        permit = OpenPermit()
        with TimedSender(writes) as sender:
            executor = SourceRequestExecutor(sender, throttle, permit, permit, make_settings())
            for _ in range(REQUESTS_EACH):
                outcomes.append(executor.execute(get(base_url), ANY_PATH, DELAY_SECONDS))

    with HostileServer(answering(reply(b"{}"))) as server:
        workers = [threading.Thread(target=work, args=(server.base_url,)) for _ in range(EXECUTORS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    assert len(outcomes) == EXECUTORS * REQUESTS_EACH
    assert all(isinstance(o, ExecutedRequest) and o.reply is not None for o in outcomes)
    assert len(server.requests) == len(writes) == EXECUTORS * REQUESTS_EACH
    shortest = min(later - sooner for sooner, later in pairwise(sorted(writes)))
    assert shortest >= DELAY_SECONDS - TOLERANCE_SECONDS

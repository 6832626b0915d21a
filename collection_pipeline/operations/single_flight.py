"""One thread that asks one slow question at a time, for callers who cannot wait for it.

However many callers ask while the question hangs, one thread and one connection hang with it; each
caller is told after its own time that there is no answer. A caller who comes while it is being
asked gets that answer.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs ``ask``, which must not raise, in a thread of its own."""

    def __init__(self, name: str, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._guard = threading.Lock()
        self._running: Future[T] | None = None

    async def answer(self, seconds: float) -> T | None:
        """What ``ask`` returns, or ``None`` when it takes longer than ``seconds``."""
        with self._guard:
            if self._running is None or self._running.done():
                self._running = self._executor.submit(self._ask)
            running = asyncio.wrap_future(self._running)
        done, _ = await asyncio.wait({running}, timeout=seconds)
        return running.result() if done else None

    def close(self) -> None:
        """Ask nothing more; waits for a question that hangs, which ends by its own bound."""
        self._executor.shutdown(wait=True, cancel_futures=True)

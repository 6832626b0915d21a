"""An interrupted ingest ends after the page in flight, and only then its run ends (R18, R48).

Dagster's own way would raise in the middle of a statement of the session that holds the lock. A run
that was asked to terminate and then fails is CANCELED for Dagster all the same.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """The event that an interrupt sets meanwhile, instead of raising."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    if threading.current_thread() is not threading.main_thread():
        # Only there can handlers be set; a run's own process executes its ops there.
        yield asked
        return
    before = {number: signal.signal(number, ask) for number in INTERRUPTS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

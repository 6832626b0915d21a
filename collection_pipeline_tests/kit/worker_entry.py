"""The command line in a process that a test kills (``python -m <this module> tick ...``).

The process says on a pipe which named point it passes, and at the one that the environment names
it kills or stops itself. One point is the kit's own: the start. A process to be stopped has one
slice thread (``TICK_CLAIM_LIMIT`` 1): a frozen thread that claims would keep its locks until the
server ends its session.
"""

import logging
import os
import signal
import sys
import threading
from collections import Counter

from collection_pipeline import checkpoints

EVENTS_FD = "COLLECTION_TEST_EVENTS_FD"
CRASH_POINT = "COLLECTION_TEST_CRASH_POINT"
CRASH_SIGNAL = "COLLECTION_TEST_CRASH_SIGNAL"
CRASH_PASS = "COLLECTION_TEST_CRASH_PASS"
LOG_LEVEL = "COLLECTION_TEST_LOG_LEVEL"
STARTED = "started"
"""The kit's own point: everything is imported, the command line has not begun."""


class Points:
    """Reports every point; acts at the named one, at its named pass."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._events = int(environ[EVENTS_FD])
        self._crash_point = environ.get(CRASH_POINT)
        self._signal = signal.Signals[environ.get(CRASH_SIGNAL, "SIGKILL")]
        self._pass = int(environ.get(CRASH_PASS, "1"))
        self._passed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reach(self, name: str) -> None:
        """Called by the process's own threads; others stand still with it."""
        with self._lock:
            self._passed[name] += 1
            os.write(self._events, f"{name} {self._passed[name]}\n".encode())
            if (name, self._passed[name]) == (self._crash_point, self._pass):
                # Sent to the process, it might be another thread's to take, and this one would
                # run on into the next transaction for a moment.
                signal.pthread_kill(threading.get_ident(), self._signal)


if __name__ == "__main__":
    # Here, since other entries of the kit share the points and not the command line.
    from collection_pipeline.cli.main import main

    logging.basicConfig(level=os.environ.get(LOG_LEVEL, "WARNING"), stream=sys.stderr)
    watched = Points(dict(os.environ))
    checkpoints.install(watched.reach)
    watched.reach(STARTED)
    main()

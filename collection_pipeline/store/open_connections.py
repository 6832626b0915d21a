"""Which threads hold a connection, so that no request is ever sent inside a transaction (R25, I3).

The project checks a connection out only for the length of one transaction, so "checked out" is the
wider and safer question. A thread that works slices answers for itself: its short transactions
cannot span another thread's request. Any other thread that holds a connection while a request is
about to be sent is a fault, for its transaction may be waiting for that very request.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from collection_pipeline.domain.transaction_guard import OpenTransaction


class OpenConnections:
    """The register of one engine's checked-out connections; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: dict[int, int] = {}
        self._slice_workers: set[int] = set()

    def watch(self, engine: Engine) -> None:
        """Follow the engine's pool."""
        event.listen(engine, "checkout", self._checked_out)
        event.listen(engine, "checkin", self._checked_in)

    @contextmanager
    def slice_worker(self) -> Iterator[None]:
        """The calling thread works slices and asserts for itself before each request."""
        thread = threading.get_ident()
        with self._lock:
            self._slice_workers.add(thread)
        try:
            yield
        finally:
            with self._lock:
                self._slice_workers.discard(thread)

    def assert_none_open(self) -> None:
        """Raise ``OpenTransaction`` where a request could wait inside a transaction (R25)."""
        me = threading.get_ident()
        with self._lock:
            holders = set(self._holders.values())
            offenders = {me} & holders | (holders - self._slice_workers)
        if offenders:
            raise OpenTransaction(
                f"{len(offenders)} thread(s) hold a database connection while a request is sent"
            )

    def _checked_out(self, _connection: Any, record: object, _proxy: object) -> None:
        with self._lock:
            self._holders[id(record)] = threading.get_ident()

    def _checked_in(self, _connection: Any, record: object) -> None:
        with self._lock:
            self._holders.pop(id(record), None)

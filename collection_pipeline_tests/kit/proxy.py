"""A TCP proxy between a client and MySQL that breaks the line exactly where a test asks.

    lose_next_commit          the connection dies before COMMIT reaches the server: nothing stored
    lose_next_commit_answer   the server commits, then the connection dies: stored, client unsure
    go_silent                 connections are accepted and kept, no byte passes
    cut                       all connections die, new ones are refused

Invariant: an armed fault strikes one COMMIT and says so through `struck`; everything else passes
unchanged. The client must not use TLS. Both commit faults may be tied to a word of an earlier
statement of the same transaction, so that a neighbour's commit does not set them off.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from collection_pipeline_tests.kit.proxy_line import CommitFault, ProxyLine


class DatabaseProxy:
    """Listens on a loopback port of its own and forwards to `upstream_port`."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream = ("127.0.0.1", upstream_port)
        self._guard = threading.Lock()
        self._armed: list[CommitFault] = []
        self._lines: dict[ProxyLine, threading.Thread] = {}
        self._silent = threading.Event()
        self._listener = _listen(0)
        self.port: int = self._listener.getsockname()[1]
        self._serve()

    def url(self, url: str) -> str:
        """The same URL through this proxy."""
        parts = urlsplit(url)
        account = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{account}@127.0.0.1:{self.port}"))

    def lose_next_commit(self, *, containing: str = "", skip: int = 0) -> threading.Event:
        """The next matching COMMIT never reaches the server. The event is set when it struck."""
        return self._arm(CommitFault("before", containing, skip))

    def lose_next_commit_answer(self, *, containing: str = "", skip: int = 0) -> threading.Event:
        """The next matching COMMIT is carried out, its answer is lost."""
        return self._arm(CommitFault("after", containing, skip))

    def go_silent(self) -> None:
        """From now on nothing passes; connections stay open, new ones are accepted."""
        self._silent.set()

    def cut(self) -> None:
        """Ends all connections and refuses new ones."""
        self._close_listener()
        self._end_lines()

    def restore(self) -> None:
        """Back to plain forwarding; lines that were silent go on with what was held back."""
        self._silent.clear()
        if self._listener.fileno() < 0:
            self._listener = _listen(self.port)
            self._serve()

    def close(self) -> None:
        """Ends everything."""
        self.cut()

    @property
    def connections(self) -> int:
        """Lines that are open now."""
        with self._guard:
            return len(self._lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _arm(self, fault: CommitFault) -> threading.Event:
        with self._guard:
            self._armed.append(fault)
        return fault.struck

    def _take_fault(self, transaction: list[str]) -> CommitFault | None:
        with self._guard:
            for fault in self._armed:
                if not any(fault.containing in statement for statement in transaction):
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                self._armed.remove(fault)
                return fault
        return None

    def _serve(self) -> None:
        self._acceptor = threading.Thread(
            target=self._accept, args=(self._listener,), name="proxy-accept", daemon=True
        )
        self._acceptor.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            line = ProxyLine(client, self._take_fault, self._silent)
            thread = threading.Thread(target=self._run, args=(line,), name="proxy", daemon=True)
            with self._guard:
                self._lines[line] = thread
            thread.start()

    def _run(self, line: ProxyLine) -> None:
        try:
            line.carry(self._upstream)
        finally:
            with self._guard:
                self._lines.pop(line)

    def _close_listener(self) -> None:
        # Closing alone would leave the thread in accept, and the port with it.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()

    def _end_lines(self) -> None:
        with self._guard:
            lines = dict(self._lines)
        for line in lines:
            line.end()
        for thread in lines.values():
            thread.join()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener

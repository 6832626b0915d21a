"""A listening socket on the loopback: one thread per keep-alive connection.

Invariant: only loopback addresses are bound, and :meth:`Listener.stop` leaves no thread behind.
"""

import contextlib
import ipaddress
import itertools
import socket
from collections.abc import Callable
from threading import Event, Lock, Thread

from collection_pipeline.simulator.connection import BadRequestError, RequestReader, stamp_arrivals
from collection_pipeline.simulator.delivery import deliver
from collection_pipeline.simulator.messages import Reply, Request

BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
BACKLOG = 512
JOIN_SECONDS = 5.0
CONNECTION_NUMBERS = itertools.count(1)


class NotLoopbackError(ValueError):
    """The simulator serves this machine only."""


class Listener:
    """Accepts connections on one port and answers their requests."""

    def __init__(self, name: str, host: str, port: int, answer: Callable[[Request], Reply]) -> None:
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise NotLoopbackError(host)
        self._name = name
        self._answer = answer
        self._stopping = Event()
        self._clients: dict[socket.socket, Thread] = {}
        self._lock = Lock()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        stamp_arrivals(self._socket)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        self.base_url = f"http://{shown}:{self.port}"
        self._accepting = Thread(target=self._accept, name=f"simulator-{name}", daemon=True)

    def start(self) -> None:
        """Begin to accept."""
        self._accepting.start()

    @property
    def open_connections(self) -> int:
        """How many connections have a thread now."""
        with self._lock:
            return len(self._clients)

    def stop(self) -> None:
        """End every connection and wait for its thread."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self._accepting.is_alive():
            self._accepting.join(JOIN_SECONDS)
        with self._lock:
            clients = dict(self._clients)
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in clients.values():
            thread.join(JOIN_SECONDS)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._socket.accept()
            except OSError:
                if self._stopping.is_set():
                    return
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = Thread(target=self._serve, args=(client,), daemon=True)
            with self._lock:
                self._clients[client] = thread
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        reader = RequestReader(client, next(CONNECTION_NUMBERS), self._name)
        try:
            with client, contextlib.suppress(OSError):
                try:
                    while (request := reader.next()) is not None:
                        if not deliver(client, request, self._answer(request), self._stopping):
                            return
                except BadRequestError:
                    client.sendall(BAD_REQUEST)
        finally:
            with self._lock:
                self._clients.pop(client, None)

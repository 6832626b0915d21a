"""A loopback server whose every byte a test scripts: slow, cut off, lying, or silent.

One thread per connection runs the script for that connection (the last script serves all further
ones). Scripts wait on the server's own stop event, so that closing the server ends them at once.
"""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

HEAD_END = b"\r\n\r\n"
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class SeenRequest:
    """The head of a request and when its first byte was read (monotonic seconds)."""

    head: bytes
    arrived_at: float
    connection: int

    @property
    def target(self) -> str:
        """Path and query as they came."""
        return self.head.split(b" ", 2)[1].decode("ascii")

    def header(self, name: str) -> str | None:
        """The first header called ``name``, or ``None``."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode("latin-1")
        return None


class Peer:
    """The server's side of one connection, handed to a script."""

    def __init__(self, sock: socket.socket, number: int, server: "HostileServer") -> None:
        self.socket = sock
        self.number = number
        self._server = server

    def read_request(self) -> SeenRequest | None:
        """The next request's head, recorded; ``None`` when the client has gone."""
        head, arrived_at = b"", 0.0
        while HEAD_END not in head:
            data = self.socket.recv(65_536)
            if not data:
                return None
            arrived_at = arrived_at or time.monotonic()
            head += data
        seen = SeenRequest(head, arrived_at, self.number)
        self._server.requests.append(seen)
        return seen

    def send(self, data: bytes) -> None:
        """Send ``data`` at once."""
        self.socket.sendall(data)

    def drip(self, data: bytes, interval_seconds: float) -> None:
        """Send one byte at a time; stops when the client or the server is gone."""
        for byte in data:
            if self._server.stopping.wait(interval_seconds):
                return
            self.socket.sendall(bytes([byte]))

    def hold(self) -> None:
        """Say nothing until the client goes or the server stops."""
        while self.socket.recv(65_536):
            pass

    def reset(self) -> None:
        """Close with a RST instead of a FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


Script = Callable[[Peer], None]


class HostileServer:
    """Serves ``scripts`` in the order in which connections come; a context manager."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[SeenRequest] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._scripts = scripts
        self._tls = tls
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def base_url(self) -> str:
        """Scheme, host and port for a request's ``base_url``."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> "HostileServer":
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        _cut(self._listener)
        self._acceptor.join(PATIENCE_SECONDS)
        for sock in self._open:
            _cut(sock)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        assert not any(thread.is_alive() for thread in (self._acceptor, *self._threads))

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            self._open.append(sock)
            thread = threading.Thread(
                target=self._serve, args=(sock, self.connections, script), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int, script: Script) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.append(sock)
            script(Peer(sock, number, self))
        except (OSError, ValueError):
            pass  # the client or the server has gone, which many scripts provoke
        finally:
            _cut(sock)


def reply(body: bytes, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """A whole, well-formed reply with its length."""
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode("latin-1") + HEAD_END + body


def answering(*replies: bytes) -> Script:
    """Answer each request of a connection with the next reply, the last for ever; keep it open."""

    def script(peer: Peer) -> None:
        served = 0
        while peer.read_request() is not None:
            peer.send(replies[min(served, len(replies) - 1)])
            served += 1

    return script


def answering_then_closing(data: bytes) -> Script:
    """Answer one request with exactly ``data`` and close: a cut where ``data`` is not whole."""

    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(data)

    return script


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        sock.close()

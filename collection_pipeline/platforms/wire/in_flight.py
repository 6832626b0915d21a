"""One request under way: its total deadline and the moment of its first byte (R25, R28).

The deadline holds for everything: connecting, a TLS handshake that trickles, slow headers, and a
body that comes one byte a second. A timer shuts the TCP connection down when it is reached, which
wakes whatever call is blocked on it, in TLS as well. The timer holds a duplicate of the descriptor,
because the TLS layer takes the original away and ``Connection: close`` closes it early.
"""

import contextlib
import socket
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import Lock, Timer
from types import TracebackType


class InFlight:
    """A context in which the connections of ``http_session`` send one request.

    ``before_write`` is called once, when nothing is left to do but to write the first byte; what it
    raises keeps the request from being sent and reaches the caller.
    """

    def __init__(
        self, deadline_seconds: float, before_write: Callable[[], None] | None = None
    ) -> None:
        self.is_expired = False
        self._ends_at = time.monotonic() + deadline_seconds
        self._before_write = before_write
        self._wire: socket.socket | None = None
        self._is_over = False
        self._lock = Lock()
        self._timer = Timer(max(0.0, deadline_seconds), self._cut)
        self._timer.daemon = True
        self._token: Token[InFlight | None] | None = None

    def __enter__(self) -> "InFlight":
        self._token = _CURRENT.set(self)
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._token is not None:
            _CURRENT.reset(self._token)
        with self._lock:
            self._is_over = True
            self._forget_wire()

    def seconds_left(self) -> float:
        """Seconds until the deadline; not less than a millisecond, since 0 means "no blocking"."""
        return max(0.001, self._ends_at - time.monotonic())

    def watch(self, sock: socket.socket) -> None:
        """Cut this connection at the deadline; ``TimeoutError`` when that has passed already."""
        with self._lock:
            if self.is_expired:
                raise TimeoutError
            self._forget_wire()
            self._wire = socket.fromfd(sock.fileno(), sock.family, sock.type)

    def about_to_write(self) -> None:
        """Called before each write of the request; asks ``before_write`` the first time only."""
        asked, self._before_write = self._before_write, None
        if asked is not None:
            asked()

    def _cut(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self.is_expired = True
            if self._wire is not None:
                # The peer may have closed it in the meantime, which is just as good.
                with contextlib.suppress(OSError):
                    self._wire.shutdown(socket.SHUT_RDWR)

    def _forget_wire(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


_CURRENT: ContextVar[InFlight | None] = ContextVar("in_flight", default=None)


def current_request() -> InFlight:
    """The request that this thread is sending; ``RuntimeError`` outside of any."""
    in_flight = _CURRENT.get()
    if in_flight is None:
        raise RuntimeError("a watched connection was used outside of a request")
    return in_flight

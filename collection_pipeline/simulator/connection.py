"""Reads requests from one keep-alive connection.

Invariant: a request's arrival is the moment its first bytes came, before anything is parsed. The
kernel's receive stamp is used where there is one, because a thread that waits for the interpreter
would read the clock late; it is moved to a monotonic clock with the wall's origin, so that
intervals between arrivals are never disturbed by a clock adjustment (I6).
"""

import contextlib
import socket
import struct
import time

from collection_pipeline.simulator.messages import Request

CHUNK = 65_536
MAX_HEAD = 65_536
MAX_BODY = 4_000_000
SO_TIMESTAMPNS = 35  # Linux; the socket module does not name it
TIMESPEC = struct.Struct("ll")
LONGEST_LAG_NS = 5_000_000_000
WALL_ORIGIN_NS = time.time_ns() - time.monotonic_ns()


def clock_us() -> int:
    """Microseconds since 1970 by a clock that never jumps."""
    return (WALL_ORIGIN_NS + time.monotonic_ns()) // 1_000


def stamp_arrivals(door: socket.socket) -> None:
    """Let the kernel stamp what arrives on the connections of a listening socket, where it can.

    Linux switches its stamps on in the background: what comes in the first milliseconds after
    this call may go unstamped, and is timed when it is read.
    """
    with contextlib.suppress(OSError):
        door.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


class BadRequestError(Exception):
    """What arrived is not an HTTP request that the simulator reads."""


class RequestReader:
    """Takes one request after another from a socket."""

    def __init__(self, client: socket.socket, connection: int, listener: str) -> None:
        self._client = client
        self._connection = connection
        self._listener = listener
        self._buffer = b""
        self._received_us = 0

    def next(self) -> Request | None:
        """The next request; None when the client has closed between two requests."""
        if not self._buffer and not self._receive():
            return None
        arrival_us = self._received_us
        head = self._head()
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            raise BadRequestError(lines[0])
        headers = _headers(lines[1:])
        if parts[2] == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return Request(
            method=parts[0],
            target=_origin_form(parts[1]),
            headers=headers,
            body=self._body(headers),
            arrival_us=arrival_us,
            connection=self._connection,
            listener=self._listener,
        )

    def _receive(self) -> bool:
        room = socket.CMSG_SPACE(TIMESPEC.size)
        data, ancillary, _, _ = self._client.recvmsg(CHUNK, room)
        self._received_us = clock_us() - _lag_ns(ancillary) // 1_000
        self._buffer += data
        return bool(data)

    def _head(self) -> bytes:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD or not self._receive():
                raise BadRequestError("head")
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        return head

    def _body(self, headers: dict[str, str]) -> bytes:
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdigit() or int(length) > MAX_BODY:
            raise BadRequestError("body")
        size = int(length)
        while len(self._buffer) < size:
            if not self._receive():
                raise BadRequestError("body")
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return body


def _lag_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    now = time.time_ns()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS) and len(data) == TIMESPEC.size:
            seconds, nanos = TIMESPEC.unpack(data)
            lag: int = now - (seconds * 1_000_000_000 + nanos)
            return lag if 0 <= lag < LONGEST_LAG_NS else 0
    return 0


def _headers(lines: list[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequestError("header")
        headers[name.strip().lower()] = value.strip()
    return headers


def _origin_form(target: str) -> str:
    if target.startswith("/"):
        return target
    _, _, rest = target.partition("://")
    return "/" + rest.partition("/")[2]

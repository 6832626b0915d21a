"""How a reply's bytes leave the socket, with the faults of the transport.

Invariant: a slow or silent answer ends when the client leaves or the simulator stops; a worker
that was killed leaves no thread behind.
"""

import gzip
import select
import socket
import struct
from email.utils import formatdate
from http import HTTPStatus
from threading import Event

from collection_pipeline.simulator.messages import Reply, Request

SMALLEST_PACKED = 860  # bytes; what content networks leave uncompressed
POLL_SECONDS = 0.1
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
MISSING_BYTES = 1_000


def deliver(client: socket.socket, request: Request, reply: Reply, stopping: Event) -> bool:
    """Send the reply; the answer says whether the connection can serve another request."""
    body, encoding = _coded(request, reply)
    kind = reply.delivery.kind
    if kind == "timeout":
        _wait_until_left(client, stopping)
        return False
    if kind == "reset":
        reset(client)
        return False
    if kind == "delay" and (left(client, reply.delivery.seconds, stopping)):
        return False
    keep = request.header("connection").lower() != "close"
    stated = len(body) + (MISSING_BYTES if kind == "reset_midbody" else 0)
    head = _head(reply, encoding, stated, keep)
    if kind == "slow":
        return _send_slowly(client, head, body, reply, stopping) and keep
    if kind == "reset_midbody":
        client.sendall(head + body[: int(len(body) * reply.delivery.kept)])
        # What was sent must arrive before the reset, which would throw it away.
        left(client, POLL_SECONDS, stopping)
        reset(client)
        return False
    client.sendall(head + body)
    return keep


def reset(client: socket.socket) -> None:
    """End the connection with RST instead of FIN."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    client.close()


def left(client: socket.socket, seconds: float, stopping: Event) -> bool:
    """Wait; True as soon as the client has left or the simulator stops."""
    waited = 0.0
    while waited < seconds:
        step = min(POLL_SECONDS, seconds - waited)
        if stopping.is_set() or _gone(client, step):
            return True
        waited += step
    return False


def _wait_until_left(client: socket.socket, stopping: Event) -> None:
    while not left(client, 1.0, stopping):
        pass


def _gone(client: socket.socket, seconds: float) -> bool:
    poller = select.poll()  # select() fails on descriptors above 1023
    poller.register(client, select.POLLIN | select.POLLRDHUP)
    events = poller.poll(seconds * 1000)
    return any(mask & (select.POLLRDHUP | select.POLLHUP | select.POLLERR) for _, mask in events)


def _send_slowly(
    client: socket.socket, head: bytes, body: bytes, reply: Reply, stopping: Event
) -> bool:
    whole = body
    if reply.delivery.part == "headers":
        whole = head + body
    else:
        client.sendall(head)
    for place in range(len(whole)):
        client.sendall(whole[place : place + 1])
        if left(client, reply.delivery.seconds, stopping):
            return False
    return True


def _coded(request: Request, reply: Reply) -> tuple[bytes, str | None]:
    if reply.encoding == "identity":
        return reply.body, None
    if reply.encoding is not None:
        return reply.body, reply.encoding
    if len(reply.body) >= SMALLEST_PACKED and "gzip" in request.header("accept-encoding"):
        return gzip.compress(reply.body, 1), "gzip"
    return reply.body, None


def _head(reply: Reply, encoding: str | None, length: int, keep: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {_phrase(reply.status)}",
        f"Date: {formatdate(usegmt=True)}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {length}",
        f"Connection: {'keep-alive' if keep else 'close'}",
        *(f"{name}: {value}" for name, value in reply.headers),
    ]
    if encoding:
        lines.append(f"Content-Encoding: {encoding}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Simulated"

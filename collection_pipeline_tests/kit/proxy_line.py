"""One connection through the database proxy, carried by a thread of its own.

Invariant: when a commit fault has struck, the server has finished with the session (its locks are
free) before the client learns anything, so that what a test sees does not depend on timing.
"""

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from collection_pipeline_tests.kit.mysql_packets import (
    HEADER_BYTES,
    Packet,
    ends_transaction,
    is_commit,
    split_packets,
)

_CHUNK_BYTES = 65536
_WAKE_SECONDS = 0.05
_SERVER_SECONDS = 30.0


@dataclass(eq=False)
class CommitFault:
    """What happens to one COMMIT: lost `before` or `after` the server carries it out.

    `containing` must occur in a statement of the transaction; `skip` matching commits pass first.
    """

    moment: Literal["before", "after"]
    containing: str = ""
    skip: int = 0
    struck: threading.Event = field(default_factory=threading.Event)


class ProxyLine:
    """Carries bytes both ways until one side ends, a fault strikes or `end` is called."""

    def __init__(
        self,
        client: socket.socket,
        take_fault: Callable[[list[str]], CommitFault | None],
        silent: threading.Event,
    ) -> None:
        self._client = client
        self._take_fault = take_fault
        self._silent = silent
        self._ended = threading.Event()
        self._buffer = bytearray()
        self._transaction: list[str] = []

    def end(self) -> None:
        """Ends the line from any thread; the client sees a reset."""
        self._ended.set()

    def carry(self, upstream_address: tuple[str, int]) -> None:
        """Runs until the line is over. A server that refuses ends the client's line at once."""
        with contextlib.suppress(OSError), socket.create_connection(upstream_address) as upstream:
            while not self._ended.is_set():
                if self._silent.is_set():
                    self._ended.wait(_WAKE_SECONDS)
                    continue
                ready, _, _ = select.select([self._client, upstream], [], [], _WAKE_SECONDS)
                if not all(self._pass_on(source, upstream) for source in ready):
                    break
        self._reset_client()

    def _pass_on(self, source: socket.socket, upstream: socket.socket) -> bool:
        """False when the line is over."""
        if self._silent.is_set():
            return True
        data = source.recv(_CHUNK_BYTES)
        if not data:
            return False
        if source is upstream:
            self._client.sendall(data)
            return True
        self._buffer += data
        return all(self._pass_packet(packet, upstream) for packet in split_packets(self._buffer))

    def _pass_packet(self, packet: Packet, upstream: socket.socket) -> bool:
        if packet.statement:
            self._transaction.append(packet.statement)
        fault = self._take_fault(self._transaction) if is_commit(packet.statement) else None
        if fault is not None:
            self._strike(fault, packet, upstream)
            return False
        if ends_transaction(packet.statement):
            self._transaction.clear()
        upstream.sendall(packet.raw)
        return True

    def _strike(self, fault: CommitFault, commit: Packet, upstream: socket.socket) -> None:
        upstream.settimeout(_SERVER_SECONDS)
        if fault.moment == "after":
            upstream.sendall(commit.raw)
            _read_packet(upstream)
        # The server reads the end of the line, rolls back what is open, and closes.
        upstream.shutdown(socket.SHUT_WR)
        while upstream.recv(_CHUNK_BYTES):
            pass
        # Before the client can know: it may look at the event at once.
        fault.struck.set()
        self._reset_client()

    def _reset_client(self) -> None:
        with contextlib.suppress(OSError):
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._client.close()


def _read_packet(source: socket.socket) -> None:
    answer = b""
    while len(answer) < HEADER_BYTES or len(answer) < HEADER_BYTES + int.from_bytes(
        answer[:3], "little"
    ):
        data = source.recv(_CHUNK_BYTES)
        if not data:
            raise ConnectionResetError("the server ended the line instead of answering")
        answer += data

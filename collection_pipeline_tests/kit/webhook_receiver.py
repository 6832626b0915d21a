"""A webhook on loopback: it records every message it is sent, and answers as a test wishes.

Its address is a secret in every part, so that a test can search for it. An answer that hangs or
trickles waits on the server's own stop event; nothing outlives the receiver.
"""

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import quote

from collection_pipeline_tests.kit.hostile_server import HEAD_END, HostileServer, Peer, SeenRequest

SECRET_WORDS = ("T0PlantedTeam", "B0PlantedHook", "pl4nted/Key+x")
SECRET_PATH = "/services/" + "/".join(quote(word, safe="") for word in SECRET_WORDS)
SECRET_QUERY = "token=" + quote("q4nted Token/+", safe="")
_TRACES = (*SECRET_WORDS, "q4nted", "pl4nted", "T0Planted", "B0Planted")

Answering = Callable[[Peer], None]


def traces_of_the_address(text: str) -> list[str]:
    """Parts of the secret address in ``text``: raw, percent-encoded once or twice."""
    spellings = {each for word in _TRACES for each in (word, _encoded(word), _encoded(word, 2))}
    return sorted(each for each in spellings if each.lower() in text.lower())


@dataclass(frozen=True)
class Received:
    """One message as it came."""

    request: SeenRequest
    body: bytes

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return self.request.header("Idempotency-Key") or ""

    @property
    def document(self) -> dict[str, Any]:
        """Its body as JSON."""
        document: dict[str, Any] = json.loads(self.body)
        return document


class WebhookReceiver:
    """Answers the first messages with ``answers``, all further ones with 200; a context manager.

    ``on_message`` is called for each message before it is answered, in the server's thread; what it
    raises is kept in ``faults``.
    """

    def __init__(self, *answers: Answering) -> None:
        self.answers = list(answers)
        self.messages: list[Received] = []
        self.faults: list[BaseException] = []
        self.arrived = threading.Semaphore(0)
        self.on_message: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._server = HostileServer(self._serve)

    @property
    def url(self) -> str:
        """The secret address."""
        return f"{self._server.base_url}{SECRET_PATH}?{SECRET_QUERY}"

    @property
    def keys(self) -> list[str]:
        """The idempotency keys in the order in which they came."""
        return [message.key for message in self.messages]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the messages, where they are in the JSON form."""
        return [message.document["kind"] for message in self.messages]

    def __enter__(self) -> "WebhookReceiver":
        self._server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.__exit__(kind, error, trace)

    def _serve(self, peer: Peer) -> None:
        seen = peer.read_request()
        if seen is None:
            return
        body = seen.head.partition(HEAD_END)[2]
        length = int(seen.header("Content-Length") or 0)
        while len(body) < length:
            data = peer.socket.recv(65_536)
            if not data:
                return
            body += data
        with self._lock:
            self.messages.append(Received(seen, body))
            answer = self.answers.pop(0) if self.answers else status("200 OK", b"ok")
        if self.on_message is not None:
            try:
                self.on_message()
            except BaseException as fault:  # handed to the test, which asserts that there is none
                self.faults.append(fault)
        self.arrived.release()
        answer(peer)


def status(line: str, body: bytes = b"", *headers: str) -> Answering:
    """A whole answer that ends its connection."""
    lines = (f"HTTP/1.1 {line}", f"Content-Length: {len(body)}", "Connection: close", *headers)
    return lambda peer: peer.send("\r\n".join(lines).encode() + HEAD_END + body)


def hanging(peer: Peer) -> None:
    """No answer at all."""
    peer.hold()


def trickling_head(peer: Peer) -> None:
    """An answer whose head would take minutes."""
    peer.drip(b"HTTP/1.1 200 OK\r\nX-Pad: " + b"x" * 2_000, 0.1)


def trickling_body(peer: Peer) -> None:
    """A good status, then a body that would take minutes."""
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n")
    peer.drip(b"x" * 2_000, 0.1)


def cut_off(peer: Peer) -> None:
    """A good status and half of a body."""
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\nhalf")


def cut_off_inside(peer: Peer) -> None:
    """A good status and a compressed body whose end is missing, though its length is right."""
    half = gzip.compress(b"x" * 2_000)[:-12]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(half)}\r\n\r\n"
    peer.send(head.encode() + half)


def endless(peer: Peer) -> None:
    """A good status and a body without end."""
    peer.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        peer.send(b"x" * 65_536)


def no_http(peer: Peer) -> None:
    """Something else than HTTP."""
    peer.send(b"SSH-2.0-whatever\r\n\r\n")


def reset(peer: Peer) -> None:
    """A connection that is reset."""
    peer.reset()


def _encoded(text: str, times: int = 1) -> str:
    for _ in range(times):
        text = quote(text, safe="")
    return text

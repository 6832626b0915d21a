"""HTTP messages as values: what a connection reads and what it must write."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"
XML_TYPE = "application/xml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `arrival_us` is the wall clock in microseconds when its first byte was read."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    arrival_us: int
    connection: int
    listener: str

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.target.partition("?")[0])

    @property
    def raw_query(self) -> str:
        """The query as it was sent."""
        return self.target.partition("?")[2]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The decoded query, repeats kept in order."""
        return parse_qsl(self.raw_query, keep_blank_values=True)

    def header(self, name: str) -> str:
        """A header's value, "" when it was not sent."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the bytes leave: plainly, or in one of the ways of :mod:`delivery`."""

    kind: str = "plain"
    seconds: float = 0.0
    kept: float = 1.0
    part: str = "body"


PLAIN = Delivery()


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `encoding` None lets the connection compress for a client that accepts it."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()
    encoding: str | None = None
    ids: tuple[str, ...] = ()
    delivery: Delivery = field(default=PLAIN)


def json_bytes(value: object) -> bytes:
    """Compact UTF-8 JSON, Korean unescaped as the platforms send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def json_reply(value: Any, status: int = 200, ids: tuple[str, ...] = ()) -> Reply:
    """A JSON answer."""
    return Reply(status, json_bytes(value), ids=ids)

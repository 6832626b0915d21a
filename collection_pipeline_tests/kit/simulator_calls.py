"""Raw HTTP calls to a simulator: what arrived on the wire, before any client softens it."""

import gzip
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from collection_pipeline.simulator.server import SimulatorServer

WANTED_V4 = "/api/v4/jobs"
WANTED_CHAOS = "/api/chaos/navigation/v1/results"
SARAMIN = "/job-search"
JUMPIT = "/api/positions"
ACCESS_KEY = "demo-access-key"
JSON_ACCEPT = {"Accept": "application/json"}


@dataclass(frozen=True)
class Answer:
    """Status, headers (lower-case names) and the undecoded body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON, unpacked when it is labelled gzip."""
        packed = self.headers.get("content-encoding") == "gzip"
        return json.loads(gzip.decompress(self.body) if packed else self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def call(
    base_url: str,
    target: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: object = None,
    timeout: float = 10.0,
) -> Answer:
    """One request on a connection of its own."""
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, target, data, JSON_ACCEPT | (headers or {}))
        response = connection.getresponse()
        received = response.read()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, received)
    finally:
        connection.close()


def target(path: str, **parameters: object) -> str:
    """A path with its query; two underscores stand for a dash (`access__key`)."""
    named = {name.replace("__", "-"): value for name, value in parameters.items()}
    return f"{path}?{urlencode(named)}"


def saramin(keywords: str, start: int = 0, count: int = 10, key: str = ACCESS_KEY) -> str:
    """The target of one Saramin page."""
    return target(SARAMIN, access__key=key, keywords=keywords, start=start, count=count)


def source(platform: str, key: str, count: int, **more: object) -> dict[str, object]:
    """One source of a scenario."""
    return {"platform": platform, "key": key, "count": count, **more}


def one_source(platform: str, key: str, count: int, **more: object) -> SimulatorServer:
    """A server whose scenario has one source."""
    rule = source(platform, key, count, **more)
    return SimulatorServer(scenario={"base_date": "2026-12-01", "sources": [rule]})

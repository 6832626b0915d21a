"""An HTTP proxy before the simulator that bends list bodies, the same way for the same seed.

Invariant: one body of a search is bent, by one mutation that its seed chooses; everything else
passes unchanged. The platform's log knows nothing of it, so its ids say what was really there.
"""

import http.client
import json
import random
import threading
from collections.abc import Callable
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

Mutation = Callable[[Any, random.Random], Any]


class MutatingProxy:
    """Bends what passes while it is ``armed``; ``bent`` tells what was done to which search."""

    def __init__(self, upstream: str, seed: int, search_parameter: str, page_count: int) -> None:
        self.armed = False
        self.bent: dict[str, str] = {}
        self._upstream = urlsplit(upstream).netloc
        self._seed = seed
        self._search_parameter = search_parameter
        self._pages = page_count
        self._served: dict[str, int] = {}
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body = proxy.fetch(self.path)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Silent: the platform's log is the witness."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def base_url(self) -> str:
        """Where the proxy listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def fetch(self, target: str) -> tuple[int, bytes]:
        """The platform's answer, bent where it is its search's turn."""
        connection = http.client.HTTPConnection(self._upstream, timeout=10)
        try:
            headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        search = dict(parse_qsl(urlsplit(target).query)).get(self._search_parameter, target)
        with self._lock:
            page = self._served[search] = self._served.get(search, -1) + 1 if self.armed else -1
        chance = random.Random(f"{self._seed}|{search}")
        if not self.armed or page != chance.randrange(self._pages):
            return response.status, body
        name = chance.choice(sorted(MUTATIONS))
        self.bent[search] = f"page {page}: {name}"
        return response.status, encoded(MUTATIONS[name](json.loads(body), chance))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def encoded(body: Any) -> bytes:
    """Bytes as they are, anything else as JSON."""
    return body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()


def places(body: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON body, from the outside in."""
    found: list[tuple[Any, Any]] = []
    waiting = [body]
    for container in waiting:
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


def outer_places(body: Any) -> list[tuple[Any, Any]]:
    """The places of the envelope and of the first row, where a change hurts most."""
    return [(holder, key) for holder, key in places(body) if isinstance(holder, dict)][:25]


def rows_of(body: Any) -> list[Any]:
    """The longest list of objects in a body."""
    lists = [body] if isinstance(body, list) else []
    lists += [holder[key] for holder, key in places(body) if isinstance(holder[key], list)]
    of_objects = [rows for rows in lists if rows and isinstance(rows[0], dict)]
    return max(of_objects, key=len, default=[])


def _drop_key(body: Any, chance: random.Random) -> Any:
    holder, key = chance.choice(outer_places(body))
    del holder[key]
    return body


def _rename_key(body: Any, chance: random.Random) -> Any:
    holder, key = chance.choice(outer_places(body))
    holder[f"{key}_v2"] = holder.pop(key)
    return body


def _other_type(body: Any, chance: random.Random) -> Any:
    holder, key = chance.choice(outer_places(body))
    holder[key] = chance.choice([None, "", [], {}, 0, -1, True, "x", [None], 10**30])
    return body


def _drop_rows(body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    del rows[chance.randrange(len(rows)) :]
    return body


def _thin_rows(body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    rows[:] = [row for row in rows if chance.random() < 0.8]
    return body


def _repeat_rows(body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    rows[:] = [deepcopy(chance.choice(rows[:10])) for _ in rows]
    return body


def _spoil_row(body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    rows[chance.randrange(len(rows))] = chance.choice([None, {}, [], "row", 7])
    return body


def _change_numbers(body: Any, chance: random.Random) -> Any:
    for holder, key in outer_places(body):
        value = holder[key]
        if isinstance(value, str) and value.isdigit() and chance.random() < 0.5:
            holder[key] = str(int(value) // 2)
        elif isinstance(value, int) and not isinstance(value, bool) and chance.random() < 0.5:
            holder[key] = value // 2
    return body


def _cut(body: Any, chance: random.Random) -> bytes:
    whole = encoded(body)
    return whole[: chance.randrange(1, len(whole))]


def _flip_bytes(body: Any, chance: random.Random) -> bytes:
    whole = bytearray(encoded(body))
    for _ in range(20):
        whole[chance.randrange(len(whole))] = chance.randrange(256)
    return bytes(whole)


def _wrap(body: Any, chance: random.Random) -> Any:
    named = body if isinstance(body, dict) else {"data": body}
    return chance.choice([{"data": body}, [body], {"error": {"code": 4}, **named}])


def _replace(_body: Any, chance: random.Random) -> Any:
    return chance.choice([b"", b"null", b"[]", b"{}", b"0", b'""', b"<html></html>", b"\xff\xfe"])


MUTATIONS: dict[str, Mutation] = {
    "another type": _other_type,
    "cut": _cut,
    "dropped key": _drop_key,
    "dropped rows": _drop_rows,
    "flipped bytes": _flip_bytes,
    "halved numbers": _change_numbers,
    "renamed key": _rename_key,
    "repeated rows": _repeat_rows,
    "replaced": _replace,
    "spoilt row": _spoil_row,
    "thinned rows": _thin_rows,
    "wrapped": _wrap,
}

"""The page server: Saramin's search, answered from bytes that were made before the first request.

    python -m benchmarks.contest.page_server --sizes 2600 20000

One process, one event loop, HTTP/1.1 with connections kept open; an answer is one lookup and one
write, so that it is far faster than any contestant (``discarding`` measures it). ``latency=N`` on
standard input makes each later answer wait for N milliseconds. Prints its port when it is ready and
ends with its standard input.
"""

import argparse
import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from benchmarks.contest.catalogue import PAGE_ROWS, SOURCES, keyword, page_body, pages_of

ACCESS_KEY = "contest-access-key"
PATH = "/job-search"
HEAD_END = b"\r\n\r\n"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

Pages = dict[tuple[str, int], bytes]


def prepared_pages(sizes: list[int]) -> Pages:
    """Every answer, head and body, by keyword and page."""
    return {
        (keyword(source, rows), page): _answer(page_body(source, rows, page))
        for rows in sizes
        for source in range(SOURCES)
        for page in range(pages_of(rows))
    }


def _answer(body: bytes) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json;charset=UTF-8\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class PageServer:
    """Finds the answer for a request's target; remembers it, so that a target is read once."""

    def __init__(self, pages: Pages) -> None:
        self.latency_seconds = 0.0
        self._pages = pages
        self._by_target: dict[bytes, bytes] = {}

    def answer(self, target: bytes) -> bytes:
        """The whole answer; 404 for what no contestant may ask."""
        known = self._by_target.get(target)
        if known is None:
            known = self._by_target[target] = self._read(target.decode("latin-1"))
        return known

    def _read(self, target: str) -> bytes:
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != PATH or asked.get("access-key") != ACCESS_KEY:
            return NOT_FOUND
        if asked.get("count") != str(PAGE_ROWS) or not asked.get("start", "").isdecimal():
            return NOT_FOUND
        return self._pages.get((asked.get("keywords", ""), int(asked["start"])), NOT_FOUND)


class PageConnection(asyncio.Protocol):
    """One connection; requests have no body and come one after the other."""

    def __init__(self, server: PageServer) -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._received += data
        while HEAD_END in self._received:
            head, _, self._received = self._received.partition(HEAD_END)
            answer = self._server.answer(head.split(b" ", 2)[1])
            if self._server.latency_seconds:
                loop = asyncio.get_running_loop()
                loop.call_later(self._server.latency_seconds, self._write, answer)
            else:
                self._write(answer)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


async def serve(server: PageServer) -> None:
    """Listen on a free loopback port until standard input ends."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: PageConnection(server), "127.0.0.1", 0)
    print(f"port {listening.sockets[0].getsockname()[1]}", flush=True)
    async with listening:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            name, _, value = line.strip().partition("=")
            if name == "latency":
                server.latency_seconds = int(value) / 1000
                print("ok", flush=True)


def main() -> None:
    """Prepare the pages and serve them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", required=True)
    asyncio.run(serve(PageServer(prepared_pages(parser.parse_args().sizes))))


if __name__ == "__main__":
    main()

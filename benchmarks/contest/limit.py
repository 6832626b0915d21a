"""The limit: the least that any Python can do which stores each page with its cursor at once.

Threads, one kept connection to the page server and one to the database each; a page is one
multi-row statement by mysqlclient, its cursor another, and both are one transaction. No lease, no
budget, no throttle, no sightings, no missed delta. Variants, as words of ``variant``:

``same``       reads and stores the pipeline's own 27 columns in its own table, by its own parser
               and statement: what is left between that and the pipeline is the queue itself
``stdlib``     the standard library's JSON instead of orjson
``requests``, ``urllib3``, ``httpx``   instead of the standard library's HTTP client
``shares=N``   how many threads share a source's pages
"""

import http.client
import itertools
import json
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import httpx
import MySQLdb
import orjson
import requests
import urllib3

from benchmarks.contest.catalogue import PAGE_ROWS
from benchmarks.contest.nine_columns import UPSERT, row_of, store_many
from benchmarks.contest.task import ContestTask, ready

CURSOR = (
    "INSERT INTO contest_cursors (source, share, next_page) VALUES (%s, %s, %s) "
    "ON DUPLICATE KEY UPDATE next_page = VALUES(next_page)"
)
# As the pipeline has it: at REPEATABLE READ two sources' upserts lock each other's gaps.
READ_COMMITTED = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
DEFAULT_SHARES = 1

Get = Callable[[str], bytes]
Rows = tuple[list[tuple[object, ...]], int]
Read = Callable[[str, int, bytes], Rows]
Store = Callable[[Any, str, list[tuple[object, ...]]], None]


def standard_library(task: ContestTask) -> Get:
    """``http.client``, the answer's body in one read."""
    host, _, port = task.base_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port))

    def get(target: str) -> bytes:
        connection.request("GET", target, headers={"Accept": "application/json"})
        return connection.getresponse().read()

    return get


def by_requests(task: ContestTask) -> Get:
    """A session that keeps its connection."""
    session = requests.Session()
    return lambda target: session.get(task.base_url + target, timeout=30).content


def by_urllib3(task: ContestTask) -> Get:
    """A pool of one connection."""
    pool = urllib3.PoolManager()
    return lambda target: pool.request("GET", task.base_url + target).data


def by_httpx(task: ContestTask) -> Get:
    """A client that keeps its connection."""
    client = httpx.Client()
    return lambda target: client.get(task.base_url + target).content


def nine_by_orjson(word: str, _page: int, body: bytes) -> Rows:
    """Nine columns, the answer read and each row's JSON written by orjson."""
    jobs = orjson.loads(body)["jobs"]
    rows: list[tuple[object, ...]] = [
        row_of(word, job, orjson.dumps(job).decode()) for job in jobs["job"]
    ]
    return rows, int(jobs["total"])


def nine_by_stdlib(word: str, _page: int, body: bytes) -> Rows:
    """The same by the standard library."""
    jobs = json.loads(body)["jobs"]
    rows: list[tuple[object, ...]] = [
        row_of(word, job, json.dumps(job, ensure_ascii=False)) for job in jobs["job"]
    ]
    return rows, int(jobs["total"])


def same_columns(task: ContestTask) -> tuple[Read, Store]:
    """The pipeline's parser, and its statements for its own table."""
    # Only this variant pays for importing the pipeline, before the start is told.
    from collection_pipeline.domain.cycle import JobPostingCollectionCycle
    from collection_pipeline.domain.source import Platform
    from collection_pipeline.platforms.adapters.registry import build_registry
    from collection_pipeline.platforms.contract import PlatformReply, Position
    from collection_pipeline.settings import load_settings
    from collection_pipeline.store.postings import (
        posting_row,
        posting_upserts,
        shared_columns,
    )

    adapter = build_registry(load_settings({}))[Platform.SARAMIN]
    now = datetime(2026, 12, 1)
    shared = {
        word: shared_columns(JobPostingCollectionCycle(0, number + 1, now.date()), now)
        for number, word in enumerate(task.keywords)
    }

    def read(_word: str, page: int, body: bytes) -> Rows:
        position: Position = {"start": page, "count": PAGE_ROWS}
        listed = adapter.read_page({}, position, PlatformReply(200, {}, body))
        return [posting_row(row, None, "NONE") for row in listed.rows], listed.stated_total or 0

    def store(cursor: Any, word: str, rows: list[tuple[object, ...]]) -> None:
        for statement, parameters in posting_upserts(shared[word], rows, keeps_detail=False):
            cursor.execute(statement, parameters)

    return read, store


def store_nine(cursor: Any, _word: str, rows: list[tuple[object, ...]]) -> None:
    """The nine columns of all rows by one statement."""
    store_many(cursor, UPSERT, rows)


def collect_share(
    task: ContestTask, word: str, first: int, step: int, get: Get, read: Read, store: Store
) -> None:
    """Pages ``first``, ``first + step`` and so on of one source, each stored with its cursor."""
    connection = MySQLdb.connect(**task.mysqlclient_arguments, init_command=READ_COMMITTED)
    cursor = connection.cursor()
    total = first * PAGE_ROWS + 1
    for page in itertools.count(first, step):
        if page * PAGE_ROWS >= total:
            break
        rows, total = read(word, page, get(task.target(word, page)))
        store(cursor, word, rows)
        cursor.execute(CURSOR, (word, first, page + step))
        connection.commit()
    connection.close()


def main() -> None:
    """One thread a share of a source."""
    task = ContestTask.read()
    words = task.variant.split()
    shares = next((int(w.partition("=")[2]) for w in words if w.startswith("shares=")), 0)
    shares = min(shares or DEFAULT_SHARES, task.pages)
    clients = {"requests": by_requests, "urllib3": by_urllib3, "httpx": by_httpx}
    client = next((clients[word] for word in words if word in clients), standard_library)
    read: Read = nine_by_stdlib if "stdlib" in words else nine_by_orjson
    store: Store = store_nine
    if "same" in words:
        read, store = same_columns(task)
    ready()
    failures: list[BaseException] = []

    def work(word: str, first: int) -> None:
        try:
            collect_share(task, word, first, shares, client(task), read, store)
        except Exception as error:
            failures.append(error)

    pool = [
        threading.Thread(target=work, args=(word, first))
        for word in task.keywords
        for first in range(shares)
    ]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    if failures:
        sys.exit(f"{len(failures)} threads failed, the first by {failures[0]!r}")


if __name__ == "__main__":
    main()

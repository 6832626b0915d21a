"""The competitors: what an engineer would write in an afternoon, in two forms.

Threads, one ``requests`` session each, pages in order, one multi-row upsert a page, one commit a
page. No lease, no cursor, no budget, no throttle, no sightings, no missed delta, no details.
``NineColumns`` stores what is at hand; ``SamePostings`` reads and stores the same 27 columns as the
pipeline, with the pipeline's own parser and statement, so that it shows what the queue costs.
"""

import json
import threading
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import pymysql
import requests
from sqlalchemy.engine import make_url

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.source import Platform
from collection_pipeline.platforms.adapters.registry import build_registry
from collection_pipeline.platforms.contract import PlatformReply
from collection_pipeline.settings import Settings
from collection_pipeline.store.postings import posting_row, posting_upserts, shared_columns

TABLE = """
CREATE TABLE bare_postings (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  keyword VARCHAR(100) NOT NULL,
  source_job_id VARCHAR(191) NOT NULL,
  title VARCHAR(500) NOT NULL,
  company VARCHAR(255),
  location VARCHAR(500),
  url VARCHAR(2000),
  salary VARCHAR(255),
  expires_at BIGINT,
  raw MEDIUMTEXT,
  UNIQUE KEY (keyword, source_job_id)
) DEFAULT CHARSET=utf8mb4
"""
INSERT = (
    "INSERT INTO bare_postings "
    "(keyword, source_job_id, title, company, location, url, salary, expires_at, raw) VALUES"
)
ROW_OF_NINE = "(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
UPDATE = (
    "ON DUPLICATE KEY UPDATE title = VALUES(title), company = VALUES(company), "
    "location = VALUES(location), url = VALUES(url), salary = VALUES(salary), "
    "expires_at = VALUES(expires_at), raw = VALUES(raw)"
)
PAGE_ROWS = 110


Statement = tuple[str, tuple[object, ...]]


@dataclass(frozen=True)
class Page:
    """What a page becomes: statements with their parameters, its rows and its stated total."""

    statements: list[Statement]
    rows: int
    total: int


class PageKind(Protocol):
    """How a page becomes rows of one statement."""

    def read(self, keyword: str, body: bytes) -> Page:
        """The page's statements."""


class NineColumns:
    """The columns that a first version would have."""

    def read(self, keyword: str, body: bytes) -> Page:
        """Straight from the JSON."""
        jobs = json.loads(body)["jobs"]
        rows = [_row(keyword, job) for job in jobs["job"]]
        values = ", ".join([ROW_OF_NINE] * len(rows))
        parameters = tuple(value for row in rows for value in row)
        return Page([(f"{INSERT} {values} {UPDATE}", parameters)], len(rows), int(jobs["total"]))


class SamePostings:
    """The pipeline's parser and its statement."""

    def __init__(self, settings: Settings) -> None:
        self._adapter = build_registry(settings)[Platform.SARAMIN]
        self._now = datetime(2026, 12, 1)

    def read(self, keyword: str, body: bytes) -> Page:
        """Through ``read_page``; the keyword's number stands for the source."""
        condition = {"keywords": [keyword]}
        position = self._adapter.first_position(condition, PAGE_ROWS)
        page = self._adapter.read_page(condition, position, PlatformReply(200, {}, body))
        source = int(keyword.split("-")[0].removeprefix("rate"))
        cycle = JobPostingCollectionCycle(0, source, self._now.date())
        rows = [posting_row(row, None, "NONE") for row in page.rows]
        statements = posting_upserts(shared_columns(cycle, self._now), rows, keeps_detail=False)
        return Page(list(statements), len(rows), page.stated_total or 0)


def collect(
    database_url: str,
    base_url: str,
    access_key: str,
    keywords: list[str],
    threads: int,
    kind: PageKind,
) -> int:
    """Collect every keyword; returns how many rows were stored."""
    work: SimpleQueue[str] = SimpleQueue()
    for keyword in keywords:
        work.put(keyword)
    stored = [0] * threads
    pool = [
        threading.Thread(
            target=_collect_keywords,
            args=(database_url, base_url, access_key, work, stored, number, kind),
        )
        for number in range(threads)
    ]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return sum(stored)


def connect(database_url: str) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """A plain PyMySQL connection to the database of a SQLAlchemy URL."""
    url = make_url(database_url)
    return pymysql.connect(
        host=url.host or "127.0.0.1",
        port=url.port or 3306,
        user=url.username or "",
        password=url.password or "",
        database=url.database,
        charset="utf8mb4",
        ssl_disabled=True,
    )


def _collect_keywords(
    database_url: str,
    base_url: str,
    access_key: str,
    work: "SimpleQueue[str]",
    stored: list[int],
    number: int,
    kind: PageKind,
) -> None:
    with connect(database_url) as connection, requests.Session() as session:
        while True:
            try:
                keyword = work.get_nowait()
            except Empty:
                return
            page, total = 0, 1
            while page * PAGE_ROWS < total:
                reply = session.get(
                    f"{base_url}/job-search",
                    params={
                        "access-key": access_key,
                        "keywords": keyword,
                        "start": str(page),
                        "count": str(PAGE_ROWS),
                        "sort": "pd",
                    },
                    headers={"Accept": "application/json"},
                    timeout=30,
                )
                read = kind.read(keyword, reply.content)
                total = read.total
                with connection.cursor() as cursor:
                    for statement, parameters in read.statements:
                        cursor.execute(statement, parameters)
                connection.commit()
                stored[number] += read.rows
                page += 1


def _row(keyword: str, job: dict[str, Any]) -> tuple[object, ...]:
    return (
        keyword,
        job["id"],
        job["position"]["title"],
        job["company"]["detail"]["name"],
        job["position"]["location"]["name"],
        job["url"],
        (job.get("salary") or {}).get("name"),
        int(job.get("expiration-timestamp") or 0),
        json.dumps(job, ensure_ascii=False),
    )

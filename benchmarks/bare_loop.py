"""The competitor: what an engineer would write in an afternoon.

Threads, one ``requests`` session each, pages in order, one multi-row upsert a page, one commit a
page. No lease, no cursor, no budget, no throttle, no sightings, no missed delta, no details.
"""

import json
import threading
from queue import Empty, SimpleQueue
from typing import Any

import pymysql
import requests
from sqlalchemy.engine import make_url

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
UPSERT = (
    "INSERT INTO bare_postings "
    "(keyword, source_job_id, title, company, location, url, salary, expires_at, raw) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
    "ON DUPLICATE KEY UPDATE title = VALUES(title), company = VALUES(company), "
    "location = VALUES(location), url = VALUES(url), salary = VALUES(salary), "
    "expires_at = VALUES(expires_at), raw = VALUES(raw)"
)
PAGE_ROWS = 110


def collect(
    database_url: str, base_url: str, access_key: str, keywords: list[str], threads: int
) -> int:
    """Collect every keyword; returns how many rows were stored."""
    work: SimpleQueue[str] = SimpleQueue()
    for keyword in keywords:
        work.put(keyword)
    stored = [0] * threads
    pool = [
        threading.Thread(
            target=_collect_keywords,
            args=(database_url, base_url, access_key, work, stored, number),
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
) -> None:
    with connect(database_url) as connection, requests.Session() as session:
        while True:
            try:
                keyword = work.get_nowait()
            except Empty:
                return
            page, total = 0, 1
            while page * PAGE_ROWS < total:
                body = session.get(
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
                ).json()["jobs"]
                total = int(body["total"])
                rows = [_row(keyword, job) for job in body["job"]]
                with connection.cursor() as cursor:
                    cursor.executemany(UPSERT, rows)
                connection.commit()
                stored[number] += len(rows)
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

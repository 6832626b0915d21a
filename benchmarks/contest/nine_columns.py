"""The nine columns that every contestant stores, and the plain table for them.

A posting's row: source, id, title, company, location, link, salary, deadline (unix seconds), JSON.
"""

from collections.abc import Sequence
from typing import Any

COLUMNS = (
    "source",
    "source_job_id",
    "title",
    "company",
    "location",
    "url",
    "salary",
    "expires_at",
    "raw",
)
Row = tuple[str, str, str, str, str, str, str, int, str]

TABLE = """
CREATE TABLE contest_postings (
  source VARCHAR(100) NOT NULL,
  source_job_id VARCHAR(191) NOT NULL,
  title VARCHAR(500) NOT NULL,
  company VARCHAR(255),
  location VARCHAR(500),
  url VARCHAR(2000),
  salary VARCHAR(255),
  expires_at BIGINT,
  raw MEDIUMTEXT,
  PRIMARY KEY (source, source_job_id)
) DEFAULT CHARSET=utf8mb4
"""
CURSOR_TABLE = """
CREATE TABLE contest_cursors (
  source VARCHAR(100) NOT NULL,
  share INT NOT NULL,
  next_page INT NOT NULL,
  PRIMARY KEY (source, share)
) DEFAULT CHARSET=utf8mb4
"""
# VALUES() is the form that mysqlclient sends as one statement for many rows.
UPSERT = (
    f"INSERT INTO contest_postings ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(['%s'] * len(COLUMNS))}) ON DUPLICATE KEY UPDATE "
    + ", ".join(f"{name} = VALUES({name})" for name in COLUMNS[2:])
)
LONGEST_STATEMENT = 32 * 1024 * 1024
"""mysqlclient cuts a statement for many rows at 64 KiB unless its cursor says otherwise."""


def row_of(word: str, job: dict[str, Any], raw: str) -> Row:
    """One ``job`` of the answer; ``raw`` is its JSON."""
    position = job["position"]
    return (
        word,
        job["id"],
        position["title"],
        job["company"]["detail"]["name"],
        position["location"]["name"],
        job["url"],
        job["salary"]["name"],
        int(job["expiration-timestamp"]),
        raw,
    )


def store_many(cursor: Any, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """All rows by one statement on a mysqlclient cursor."""
    cursor.max_stmt_length = LONGEST_STATEMENT
    cursor.executemany(statement, rows)

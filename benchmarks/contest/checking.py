"""After each load: every row is there, one row says what the catalogue says, every cycle succeeded.

A contest in which somebody loses rows would measure nothing.
"""

import contextlib
import json
from datetime import UTC, datetime
from html import unescape

from benchmarks.contest.catalogue import posting, posting_id
from benchmarks.contest.contestants import Contestant, Store
from benchmarks.contest.nine_columns import row_of
from benchmarks.contest.task import ContestTask
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.local_db.server import PrivateServer

NINE = "title, company, location, url, salary, expires_at, raw"
POSTINGS = "title, company_name, location_raw, url, salary, deadline_at, raw_list"


class WrongRows(Exception):
    """A contestant's rows are not what the page server gave it."""


def check(
    contestant: Contestant, server: PrivateServer, task: ContestTask, day: datetime | None
) -> None:
    """Raises ``WrongRows``; ``day`` is a moment of the pipeline's simulated day."""
    if contestant.store is Store.NOWHERE:
        return
    name = task.database.database
    is_pipeline = contestant.store is not Store.NINE_COLUMNS
    table = f"`{name}`.{'job_postings' if is_pipeline else 'contest_postings'}"
    if "tables" in contestant.variant.split():
        table = _united(name or "", task.sources)
    source, number = task.sources - 1, task.rows * 2 // 3
    source_key = source + 1 if is_pipeline else task.keywords[source]
    column = "job_source_id" if is_pipeline else "source"
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*), COUNT(DISTINCT {column}, source_job_id) FROM {table} t")
        counted = cursor.fetchone()
        cursor.execute(
            f"SELECT {POSTINGS if is_pipeline else NINE} FROM {table} t "
            f"WHERE {column} = %s AND source_job_id = %s",
            (source_key, posting_id(source, number)),
        )
        row = cursor.fetchone()
        if contestant.store is Store.QUEUE:
            assert day is not None
            cursor.execute(
                f"SELECT cycle_status, COUNT(*) FROM `{name}`.job_posting_collection_cycles "
                "WHERE run_date = %s GROUP BY cycle_status",
                (run_date_of(day),),
            )
            ends = dict(cursor.fetchall())
            if ends != {"SUCCESS": task.sources}:
                raise WrongRows(f"{contestant.name}: cycles ended {ends}")
    wanted = task.sources * task.rows
    if counted != (wanted, wanted):
        raise WrongRows(f"{contestant.name}: {counted} rows and keys instead of {wanted}")
    if row is None or _plain(row) != _expected(source, number):
        raise WrongRows(f"{contestant.name}: {row} instead of {_expected(source, number)}")


def _united(name: str, sources: int) -> str:
    tables = (f"SELECT * FROM `{name}`.contest_postings_{number}" for number in range(sources))
    return f"({' UNION ALL '.join(tables)})"


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    """A stored row with texts unescaped, the deadline in unix seconds and the JSON read."""
    title, company, location, url, salary, expires, raw = row
    if isinstance(expires, datetime):
        expires = int(expires.replace(tzinfo=UTC).timestamp())
    texts = (unescape(str(text)) for text in (title, company, location, url, salary))
    return (*texts, expires, json.loads(str(raw)))


def _expected(source: int, number: int) -> tuple[object, ...]:
    job = posting(source, number)
    _, _, *columns = row_of("", job, json.dumps(job))
    return _plain(tuple(columns))

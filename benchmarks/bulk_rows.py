"""Rows by the million for a benchmark: made by the server itself, in bounded transactions.

Invariant: no statement makes more than ``CHUNK_ROWS`` rows, since a server with a small buffer pool
hangs under one merge of many large ones.
"""

from sqlalchemy import Engine, text

from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate

CHUNK_ROWS = 20_000
CYCLES = "job_posting_collection_cycles"


def migrated(url: str) -> Engine:
    """An engine over an empty database, whose tables this makes."""
    engine = open_engine(url)
    migrate(engine)
    return engine


def insert_numbered(
    engine: Engine, into: str, select: str, count: int, values: dict[str, object] | None = None
) -> None:
    """``INSERT INTO into SELECT select`` for each number ``n`` from 0 to ``count``, less one."""
    statement = text(
        f"INSERT INTO {into} WITH RECURSIVE numbers AS (SELECT :first AS n"
        " UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)"
        f" SELECT {select} FROM numbers"
    )
    for first in range(0, count, CHUNK_ROWS):
        last = min(first + CHUNK_ROWS, count) - 1
        with engine.begin() as connection:
            bound = (
                "max_recursive_iterations"
                if connection.dialect.is_mariadb  # type: ignore[attr-defined]  # MySQL's dialects have it
                else "cte_max_recursion_depth"
            )
            connection.execute(text(f"SET SESSION {bound} = {CHUNK_ROWS + 1}"))
            connection.execute(statement, {**(values or {}), "first": first, "last": last})


def analyze(engine: Engine, *tables: str) -> None:
    """Fresh statistics, as a table that grew over months has them."""
    with engine.connect() as connection:
        connection.execute(text(f"ANALYZE TABLE {', '.join(tables)}")).all()

"""What statements cost the server: their plans, the rows they lock, the rows they read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Engine, event, text

from collection_pipeline_tests.kit.database import DAY, HOST, NOON, Store
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS, holding_commit, rivals
from collection_pipeline_tests.kit.servers import wanted_kind

T = TypeVar("T")

CHUNK_ROWS = 10_000
LOCKING = ("FOR UPDATE", "LOCK IN SHARE MODE", "UPDATE ", "DELETE ")


@dataclass
class Statements:
    """Statements in the order in which they were sent, each with its parameters."""

    sent: list[tuple[str, Any]] = field(default_factory=list)

    def on(self, *words: str) -> list[tuple[str, Any]]:
        """Those that contain all of ``words``."""
        return [one for one in self.sent if all(word in one[0] for word in words)]

    @property
    def locking(self) -> list[tuple[str, Any]]:
        """Those that lock what they find; inserts lock what they make."""
        return [
            one
            for one in self.sent
            if any(word in one[0] for word in LOCKING) and not one[0].startswith("INSERT")
        ]


@contextmanager
def listening(engine: Engine) -> Iterator[Statements]:
    """Notes every statement that the engine sends."""
    noted = Statements()

    def note(_connection: Any, _c: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        noted.sent.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield noted
    finally:
        event.remove(engine, "before_cursor_execute", note)


def plan_of(store: Store, statement: str, parameters: Any) -> list[dict[str, Any]]:
    """The server's plan: one row a table, with ``key``, ``type``, ``rows`` and ``Extra``."""
    form = "" if wanted_kind() == "mariadb" else "FORMAT=TRADITIONAL "
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN {form}{statement}", parameters)
        return [dict(row._mapping) for row in rows]


def rows_read(store: Store, work: Callable[[], T]) -> tuple[T, int]:
    """What ``work`` returns, and how many rows the server's engine read for it.

    The store must use one connection at a time, so that its session counts.
    """

    def counted() -> tuple[int, int]:
        found = store.rows("SHOW SESSION STATUS LIKE 'Handler_read%'")
        total = sum(int(row["Value"]) for row in found)
        return store.value("SELECT CONNECTION_ID()"), total

    session, before = counted()
    result = work()
    same_session, after = counted()
    assert same_session == session
    _, again = counted()
    return result, after - before - (again - after)


def rows_locked(store: Store, other: Store, work: Callable[[], Any], touching: str) -> int:
    """How many rows and index entries a transaction holds just before its COMMIT."""
    asked = (
        "SELECT COALESCE(MAX(t.trx_rows_locked), 0) FROM information_schema.innodb_trx AS t "
        "JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id "
        "WHERE p.db = DATABASE()"
        if wanted_kind() == "mariadb"
        else "SELECT COUNT(*) FROM performance_schema.data_locks "
        "WHERE object_schema = DATABASE() AND lock_type = 'RECORD'"
    )
    with rivals() as start, holding_commit(store.engine, touching) as held:
        working = start(work)
        held.wait_until_reached()
        locked = int(other.value(asked))
        held.let_go()
        working.result(PATIENCE_SECONDS)
    return locked


def numbers_from(first: int) -> str:
    """A SELECT of the ``CHUNK_ROWS`` numbers ``n`` from ``first`` on.

    Few enough for the server to keep them in memory while it sorts.
    """
    digits = " UNION ALL ".join(f"SELECT {digit} AS d" for digit in range(10))
    tables = ", ".join(f"({digits}) AS {name}" for name in "abcd")
    return f"SELECT {first} + a.d + 10*b.d + 100*c.d + 1000*d.d AS n FROM {tables}"


def fill_queue(store: Store, cycles: int, hosts: int = 1, sources: int = 60) -> None:
    """``cycles`` due cycles of the day; the first ``sources`` of them have a runnable source.

    The last host's rows are as many as those of each other; the first is ``HOST``.
    """
    name = f"IF(n % {hosts} = 0, '{HOST}', CONCAT('host', n % {hosts}, '.test'))"
    with store.engine.begin() as connection:
        for first in range(0, min(cycles, sources), CHUNK_ROWS):
            connection.execute(
                text(
                    "INSERT INTO job_sources (id, platform, source_type, label, search_condition) "
                    "SELECT n + 1, 'greenhouse', 'COMPANY_BOUND', 'a', '{}' "
                    f"FROM ({numbers_from(first)}) AS s WHERE n < :sources"
                ),
                {"sources": min(cycles, sources)},
            )
        for first in range(0, cycles, CHUNK_ROWS):
            connection.execute(
                text(
                    "INSERT INTO job_posting_collection_cycles (job_source_id, run_date, "
                    "cycle_status, request_host, next_eligible_at, created_at, updated_at) "
                    f"SELECT n + 1, :day, 'PENDING', {name}, "
                    ":now - INTERVAL 2 HOUR + INTERVAL n * 10000 MICROSECOND, :now, :now "
                    f"FROM ({numbers_from(first)}) AS s WHERE n < :cycles ORDER BY n"
                ),
                {"day": DAY, "now": NOON, "cycles": cycles},
            )
        connection.execute(
            text(
                "INSERT INTO collection_host_claims SELECT DISTINCT request_host "
                "FROM job_posting_collection_cycles"
            )
        )
    store.gate.ensure_header(DAY)
    with store.engine.connect() as connection:
        connection.execute(text("ANALYZE TABLE job_posting_collection_cycles, job_sources")).all()

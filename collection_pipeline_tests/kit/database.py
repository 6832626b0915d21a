"""The store's services as one process has them, over a database of the test's own.

A store's clock stands still where a test freezes it: each session that is checked out gets
``SET timestamp``, so the database itself tells the time.
"""

import contextlib
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event, text

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.source import JobSource, Platform, source_type_of
from collection_pipeline.store.claim import ClaimedCycle, ClaimTerms
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.schema import metadata
from collection_pipeline.store.schema.cycles import cycles, host_claims
from collection_pipeline.store.slice_end import EndTerms, SliceEnd
from collection_pipeline.store.sources import JobSources
from collection_pipeline.store.throttle import PersistentHostRequestThrottle
from collection_pipeline.store.transaction import TransactionRunner

T = TypeVar("T")

NOON = datetime(2026, 12, 1, 3, 0)
"""12:00 KST on 1 December 2026, naive UTC."""
DAY = run_date_of(NOON)
YESTERDAY = DAY - timedelta(days=1)
LEASE = timedelta(seconds=600)
HOST = "board.test"
PLATFORMS = frozenset({"greenhouse", "lever", "saramin", "wanted", "jumpit"})
Row = dict[str, Any]


class Store:
    """The services of one process over a database; each has connections of its own."""

    def __init__(self, url: str, now: datetime | None = NOON, close_after: int = 2) -> None:
        self.url = url
        self.now = now
        self.service_offset = timedelta()
        """What the clock that the service reads adds to the server's; the store has it undone."""
        self.engine: Engine = open_engine(url)
        event.listen(self.engine, "checkout", self._freeze)
        self.transactions = TransactionRunner(self.engine)
        self.clock = DatabaseClock()
        self.gate = CollectionSlaCutoffGate(self.transactions, self.clock, time(9))
        self.repository = JobPostingCollectionCycleRepository(
            self.transactions,
            self.clock,
            self.gate,
            SliceEnd(self.clock, EndTerms(close_after, broken_after=3)),
        )
        self.throttle = PersistentHostRequestThrottle(self.transactions, self.clock)

    def close(self) -> None:
        """Gives every connection back to the server."""
        self.engine.dispose()

    def run(self, work: Callable[[Connection], T]) -> T:
        """``work`` in a transaction of its own."""
        return self.transactions.run(work)

    def rows(self, statement: str, **values: object) -> list[Row]:
        """What a SELECT finds, by column name."""
        return self.run(
            lambda connection: [
                dict(row._mapping) for row in connection.execute(text(statement), values)
            ]
        )

    def row(self, statement: str, **values: object) -> Row:
        """The only row that a SELECT finds."""
        (one,) = self.rows(statement, **values)
        return one

    def value(self, statement: str, **values: object) -> Any:
        """The only column of the only row."""
        (one,) = self.row(statement, **values).values()
        return one

    def write(self, statement: str, **values: object) -> int:
        """Carries out a statement; returns the rows it met."""
        return self.run(lambda connection: connection.execute(text(statement), values).rowcount)

    def tables(self) -> dict[str, list[Row]]:
        """Every row of every table, in key order: what a loser must leave as it was."""
        return {
            table.name: self.rows(
                f"SELECT * FROM {table.name} ORDER BY "
                + ", ".join(column.name for column in table.primary_key)
            )
            for table in metadata.sorted_tables
        }

    def switch_on(self, *names: str, enabled: bool = True) -> None:
        """Switches flags; both collection flags where none is named."""
        for name in names or (DISPATCH_FLAG, AGGREGATOR_FLAG):
            self.run(
                lambda connection, name=name: FeatureFlags().set(  # type: ignore[misc]  # bound at once
                    connection, name, enabled=enabled, by="test", now=self.now or NOON
                )
            )

    def add_source(
        self, platform: str = "greenhouse", *, active: bool = True, company_id: int | None = None
    ) -> int:
        """A job source; returns its id."""
        source = JobSource(
            0,
            platform,
            source_type_of(Platform(platform)),
            "a source",
            {"board": ["demo"]},
            company_id,
            active,
        )
        return self.run(lambda connection: JobSources().add(connection, source, self.now or NOON))

    def add_cycle(
        self,
        source_id: int,
        status: CycleStatus = CycleStatus.PENDING,
        run_date: date = DAY,
        host: str = HOST,
        **columns: object,
    ) -> int:
        """A cycle as the queue would hold it; ``columns`` replace what is put there by default."""
        values: dict[str, object] = {"request_host": host, "next_eligible_at": NOON}
        if status is CycleStatus.NOT_STARTED:
            values = {}
        if status is CycleStatus.RUNNING:
            values |= {"lease_token": f"token-{source_id}", "lease_owner": "someone"}
            values |= {"lease_until": NOON + LEASE, "started_at": NOON}
        if status.is_terminal:
            values |= {"next_eligible_at": None, "finished_at": NOON}
        values |= columns

        def adding(connection: Connection) -> int:
            connection.execute(
                text(f"INSERT IGNORE INTO {host_claims.name} (host) VALUES (:host)"), {"host": host}
            )
            added = connection.execute(
                cycles.insert().values(
                    job_source_id=source_id,
                    run_date=run_date,
                    cycle_status=status.value,
                    created_at=NOON,
                    updated_at=NOON,
                    **values,
                )
            )
            return int(added.lastrowid)

        return self.run(adding)

    def due_cycle(self, platform: str = "greenhouse", host: str = HOST, **columns: Any) -> int:
        """A new source with a PENDING cycle of the day; returns the cycle's id."""
        return self.add_cycle(self.add_source(platform), host=host, **columns)

    def terms(self, max_leases_per_host: int = 3, longest_wait_seconds: int = 300) -> ClaimTerms:
        """How this process claims."""
        return ClaimTerms(
            "worker",
            int(LEASE.total_seconds()),
            max_leases_per_host,
            longest_wait_seconds,
            PLATFORMS,
        )

    def claim(self, **terms: int) -> ClaimedCycle:
        """The next due cycle; none is an error of the test."""
        claimed = self.repository.claim_next(self.terms(**terms))
        assert claimed is not None
        return claimed

    def cycle(self, cycle_id: int) -> Row:
        """A cycle's row."""
        return self.row("SELECT * FROM job_posting_collection_cycles WHERE id = :id", id=cycle_id)

    def status(self, cycle_id: int) -> str:
        """A cycle's state."""
        return str(self.cycle(cycle_id)["cycle_status"])

    def _freeze(self, dbapi_connection: Any, record: Any, _proxy: object) -> None:
        stamp = "DEFAULT"
        if self.now is not None:
            at = self.now - self.service_offset
            whole = int(at.replace(microsecond=0, tzinfo=UTC).timestamp())
            stamp = f"{whole}.{at.microsecond:06d}"
        if record.info.get("frozen_at", "DEFAULT") == stamp:
            return
        record.info["frozen_at"] = stamp
        with contextlib.closing(dbapi_connection.cursor()) as cursor:
            cursor.execute(f"SET SESSION timestamp = {stamp}")

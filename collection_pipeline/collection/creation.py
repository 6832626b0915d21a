"""Making the day: headers and NOT_STARTED cycles, idempotently (R35, I1)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection

from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_creation import create_missing_cycles, has_missing_cycles
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.transaction import TransactionRunner


@dataclass(frozen=True)
class CreatedDay:
    """The KST day by the database's clock, and whether anything was missing."""

    run_date: date
    made_headers: list[date]
    made_cycles: bool


class CollectionCycleDomainService:
    """Creates headers and cycles; every tick and the 00:00 job call it first."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        gate: CollectionSlaCutoffGate,
        platforms: Collection[str],
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._gate = gate
        self.platforms = platforms

    def create_daily_cycles(self) -> CreatedDay:
        """Today's and tomorrow's header (also with flags off), then today's missing cycles."""
        made_headers = self._gate.ensure_headers()
        today = self._transactions.run(self._clock.today)
        missing = self._transactions.run(
            lambda connection: has_missing_cycles(connection, today, self.platforms)
        )
        if missing:
            self._gate.with_daily_write_gate(
                today, lambda connection: self._create(connection, today)
            )
        return CreatedDay(today, made_headers, missing)

    def is_missing_anything(self, connection: Connection) -> bool:
        """Whether a tick would have to make a header or a cycle, by plain reads."""
        today = self._clock.today(connection)
        return self._gate.is_missing_header(connection) or has_missing_cycles(
            connection, today, self.platforms
        )

    def _create(self, connection: Connection, today: date) -> None:
        now = self._clock.now(connection)
        create_missing_cycles(connection, today, self.platforms, now)

"""The gate: the row of a day's SLA snapshot header (R13, R35, R36).

Every cycle state write takes it shared before anything else, the 09:00 capture takes it
exclusively, so each write falls wholly before or wholly after the capture and writers do not wait
for each other. The row is made ahead of time in a transaction of its own, after a plain read:
an upsert in the hot path would ask for the exclusive lock.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TypeVar

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import IntegrityError

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.domain.snapshot import SnapshotHeader
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.schema.operations import sla_snapshots
from collection_pipeline.store.snapshots import header_of
from collection_pipeline.store.transaction import TransactionRunner

T = TypeVar("T")

AFTER_CUTOFF_REASON = "the header was first made after the cutoff"


class GateMissing(Exception):
    """The day has no snapshot header yet; ``CollectionSlaCutoffGate`` makes it and runs again."""


class CollectionSlaCutoffGate:
    """Runs state writes of a day under its gate, and makes the days' headers."""

    def __init__(self, transactions: TransactionRunner, clock: DatabaseClock, cutoff: time) -> None:
        self._transactions = transactions
        self._clock = clock
        self._cutoff = cutoff

    def with_daily_write_gate(
        self,
        run_date: date,
        action: Callable[[Connection], T],
        *,
        until: float | None = None,
        was_committed: Callable[[Connection], bool] | None = None,
    ) -> T:
        """``action``'s result, from one transaction that holds the gate of ``run_date`` shared."""

        def gated(connection: Connection) -> T:
            hold_for_write(connection, run_date)
            return action(connection)

        try:
            return self._transactions.run(gated, until=until, was_committed=was_committed)
        except GateMissing:
            self.ensure_header(run_date)
            return self._transactions.run(gated, until=until, was_committed=was_committed)

    def ensure_headers(self) -> list[date]:
        """Today's and tomorrow's header (R35); returns the days for which one was made."""
        today = self._transactions.run(self._clock.today)
        return [day for day in (today, today + timedelta(days=1)) if self.ensure_header(day)]

    def is_missing_header(self, connection: Connection) -> bool:
        """Whether today's or tomorrow's header is still to be made, by plain reads."""
        today = self._clock.today(connection)
        return not all(_has_header(connection, day) for day in (today, today + timedelta(days=1)))

    def ensure_header(self, day: date) -> bool:
        """Make ``day``'s header unless it is there; True when it was made.

        A header first made after its cutoff is NOT_APPLICABLE at once (R37).
        """
        if self._transactions.run(lambda connection: _has_header(connection, day)):
            return False
        try:
            self._transactions.run(lambda connection: self._insert_header(connection, day))
        except IntegrityError:
            return False
        return True

    def _insert_header(self, connection: Connection, day: date) -> None:
        now = self._clock.now(connection)
        scheduled_at = utc_of_kst(day, self._cutoff)
        is_late = now >= scheduled_at
        connection.execute(
            sla_snapshots.insert().values(
                snapshot_date=day,
                scheduled_at=scheduled_at,
                capture_status="NOT_APPLICABLE" if is_late else "PENDING",
                miss_reason=AFTER_CUTOFF_REASON if is_late else None,
                created_at=now,
            )
        )


def hold_for_write(connection: Connection, run_date: date) -> None:
    """Take the gate of ``run_date`` shared; raises ``GateMissing`` where there is no header.

    The status is read although nobody asks for it: a read that the date's index alone can answer
    would lock the index entry and not the row.
    """
    row = connection.execute(
        select(sla_snapshots.c.id, sla_snapshots.c.capture_status)
        .where(sla_snapshots.c.snapshot_date == run_date)
        .with_for_update(read=True)
    ).one_or_none()
    if row is None:
        raise GateMissing(f"no snapshot header for {run_date}")


@dataclass(frozen=True)
class HeldGate:
    """``asked_at``: when the server received the request, by its own clock (naive UTC)."""

    header: SnapshotHeader
    asked_at: datetime


def hold_for_capture(connection: Connection, day: date) -> HeldGate:
    """Take the gate of ``day`` exclusively and read its header; raises ``GateMissing``.

    From the request on no new write of that day begins (R38), so ask for it only when what follows
    is short. Never in a transaction that holds it shared. The statement says itself when it
    arrived: a network or a host that stood still may have held it back since the clock was asked.
    """
    row = connection.execute(
        select(sla_snapshots, func.utc_timestamp(text("6")).label("asked_at"))
        .where(sla_snapshots.c.snapshot_date == day)
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise GateMissing(f"no snapshot header for {day}")
    return HeldGate(header_of(row), row.asked_at)


def _has_header(connection: Connection, day: date) -> bool:
    statement = select(sla_snapshots.c.id).where(sla_snapshots.c.snapshot_date == day)
    return connection.execute(statement).one_or_none() is not None

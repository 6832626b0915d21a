"""Attempts at the capture, so that recovery can say why there is no snapshot (R38).

A row is committed before the gate is asked for; its end is written in the transaction that decides,
which is also what tells an attempt whose COMMIT was lost how it ended. Only its own attempt writes
a row.
"""

from datetime import date, datetime

from sqlalchemy import Connection, Row, select

from collection_pipeline.domain.missed_snapshot import CaptureAttempt, CaptureOutcome
from collection_pipeline.store.schema.operations import sla_capture_attempts

MOST_ATTEMPTS = 1_000


class CaptureAttempts:
    """Reads and writes on a connection of the caller's transaction; instants are naive UTC."""

    def begin(
        self,
        connection: Connection,
        day: date,
        worker: str,
        dagster_run_id: str | None,
        now: datetime,
    ) -> int:
        """A run means to capture ``day``; returns the attempt's id."""
        statement = sla_capture_attempts.insert().values(
            snapshot_date=day, worker=worker, dagster_run_id=dagster_run_id, began_at=now
        )
        return int(connection.execute(statement).lastrowid)

    def ask(self, connection: Connection, attempt_id: int, now: datetime) -> None:
        """It asks for the gate."""
        self._write(connection, attempt_id, asked_at=now)

    def end(
        self, connection: Connection, attempt_id: int, outcome: CaptureOutcome, now: datetime
    ) -> None:
        """It is over."""
        self._write(connection, attempt_id, ended_at=now, outcome=outcome.value)

    def outcome(self, connection: Connection, attempt_id: int) -> CaptureOutcome | None:
        """How it ended, if that was committed."""
        statement = select(sla_capture_attempts.c.outcome).where(
            sla_capture_attempts.c.id == attempt_id
        )
        word = connection.execute(statement).scalar_one()
        return None if word is None else CaptureOutcome(word)

    def of_day(self, connection: Connection, day: date) -> list[CaptureAttempt]:
        """The day's attempts in the order in which they began."""
        statement = (
            select(sla_capture_attempts)
            .where(sla_capture_attempts.c.snapshot_date == day)
            .order_by(sla_capture_attempts.c.id)
            .limit(MOST_ATTEMPTS)
        )
        return [_attempt(row) for row in connection.execute(statement)]

    def _write(self, connection: Connection, attempt_id: int, **values: object) -> None:
        connection.execute(
            sla_capture_attempts.update()
            .where(sla_capture_attempts.c.id == attempt_id)
            .values(**values)
        )


def _attempt(row: Row[tuple[object, ...]]) -> CaptureAttempt:
    return CaptureAttempt(
        row.id,
        row.worker,
        row.began_at,
        row.asked_at,
        row.ended_at,
        None if row.outcome is None else CaptureOutcome(row.outcome),
    )

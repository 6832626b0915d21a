"""The outbox: what is to be told, told at least once, in the order of its ids (R40).

A row is made once for a day and kind. Delivering claims it first, in a short transaction that also
writes when it may be tried again: this is the claim's lease, so that a process that dies between
sending and marking leaves a row that is sent again later under the same key. Nobody holds a
transaction while a message is on its way (R25).
"""

import secrets
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, and_, exists, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.elements import ColumnElement

from collection_pipeline.domain.notification import MORNING_KINDS, retry_after
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.schema.operations import notification_outbox as outbox
from collection_pipeline.store.schema.operations import sla_snapshots
from collection_pipeline.store.transaction import mysql_error_code

DUPLICATE_KEY = 1062
KEY_RANDOM_BYTES = 8
LAST_ERROR_MAX_CHARS = 300
MOST_DAYS_AT_ONCE = 31


class OutboxState(StrEnum):
    """WAITING is due some day; the others are the end of a row."""

    WAITING = "WAITING"
    DELIVERED = "DELIVERED"
    LOGGED = "LOGGED"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True)
class ClaimedMessage:
    """A row that one process is about to send; ``attempt`` counts this try."""

    row_id: int
    idempotency_key: str
    payload: str
    attempt: int


@dataclass(frozen=True)
class OutboxEntry:
    """A row as people look at it; instants are naive UTC."""

    row_id: int
    notification_date: date
    kind: str
    idempotency_key: str
    payload: str
    state: str
    attempt_count: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    last_error: str | None
    created_at: datetime


class NotificationOutbox:
    """Reads and writes ``notification_outbox`` on a connection of the caller's transaction."""

    def add(
        self, connection: Connection, day: date, kind: str, payload: str, now: datetime
    ) -> bool:
        """Make the day's row of this kind; False where it is there, also of another process.

        Its key names kind and day and ends in a random part: several databases may share a webhook.
        """
        if self.has(connection, day, kind):
            return False
        key = f"{kind}:{day.isoformat()}:{secrets.token_hex(KEY_RANDOM_BYTES)}"
        values = {
            "notification_date": day,
            "kind": kind,
            "idempotency_key": key,
            "payload": payload,
            "state": OutboxState.WAITING.value,
            "next_attempt_at": now,
            "created_at": now,
        }
        try:
            connection.execute(outbox.insert().values(**values))
        except IntegrityError as error:
            if mysql_error_code(error) != DUPLICATE_KEY:
                raise
            return False
        return True

    def has(self, connection: Connection, day: date, kind: str) -> bool:
        """Whether the day's row of this kind is there."""
        statement = select(outbox.c.id).where(
            outbox.c.notification_date == day, outbox.c.kind == kind
        )
        return connection.execute(statement).first() is not None

    def untold_snapshots(self, connection: Connection, since: date) -> list[date]:
        """Days whose final header wants a message and has none yet.

        A report of before ``since`` is of no use any more; a MISSED day is told whenever recovery
        comes to it, also weeks later.
        """
        told = exists().where(
            outbox.c.notification_date == sla_snapshots.c.snapshot_date,
            outbox.c.kind.in_(MORNING_KINDS),
        )
        statement = (
            select(sla_snapshots.c.snapshot_date)
            .where(
                or_(
                    sla_snapshots.c.capture_status == CaptureStatus.MISSED.value,
                    and_(
                        sla_snapshots.c.capture_status == CaptureStatus.CAPTURED.value,
                        sla_snapshots.c.snapshot_date >= since,
                    ),
                ),
                ~told,
            )
            .order_by(sla_snapshots.c.snapshot_date)
            .limit(MOST_DAYS_AT_ONCE)
        )
        return list(connection.execute(statement).scalars())

    def has_due(self, connection: Connection, now: datetime) -> bool:
        """Whether a claim would find a row, by a plain read."""
        return connection.execute(select(outbox.c.id).where(_due(now)).limit(1)).first() is not None

    def claim_next(
        self, connection: Connection, now: datetime, after_id: int, least_lease: timedelta
    ) -> ClaimedMessage | None:
        """The due row with the least id above ``after_id``, leased; ``None`` where none is.

        The lease is as long as the pause after a failure of this try, at least ``least_lease``.
        """
        candidates = connection.execute(
            select(outbox.c.id).where(_due(now), outbox.c.id > after_id).order_by(outbox.c.id)
        ).scalars()
        for row_id in candidates.all():
            row = connection.execute(
                select(outbox)
                .where(outbox.c.id == row_id, _due(now))
                .with_for_update(skip_locked=True)
            ).one_or_none()
            if row is None:
                continue
            attempt = row.attempt_count + 1
            connection.execute(
                outbox.update()
                .where(outbox.c.id == row_id)
                .values(
                    attempt_count=attempt,
                    next_attempt_at=now + max(retry_after(attempt), least_lease),
                )
            )
            return ClaimedMessage(row_id, row.idempotency_key, row.payload or "", attempt)
        return None

    def end(
        self, connection: Connection, claimed: ClaimedMessage, state: OutboxState, now: datetime
    ) -> None:
        """The message was delivered or logged: true whoever claimed the row since."""
        connection.execute(
            outbox.update()
            .where(outbox.c.id == claimed.row_id, outbox.c.state == OutboxState.WAITING.value)
            .values(
                state=state.value,
                delivered_at=now if state is OutboxState.DELIVERED else None,
                next_attempt_at=None,
                last_error=None,
            )
        )

    def put_back(
        self, connection: Connection, claimed: ClaimedMessage, error: str, retry_at: datetime
    ) -> None:
        """This try failed; nothing is written over a later claim of the same row."""
        connection.execute(
            outbox.update()
            .where(
                outbox.c.id == claimed.row_id,
                outbox.c.state == OutboxState.WAITING.value,
                outbox.c.attempt_count == claimed.attempt,
            )
            .values(last_error=error[:LAST_ERROR_MAX_CHARS], next_attempt_at=retry_at)
        )

    def hold_back(self, connection: Connection, until: datetime) -> None:
        """Let no waiting row be due before ``until``: the webhook itself is out of order."""
        connection.execute(
            outbox.update()
            .where(outbox.c.state == OutboxState.WAITING.value, _sooner_than(until))
            .values(next_attempt_at=until)
        )

    def expire(self, connection: Connection, created_before: datetime) -> int:
        """Give up waiting rows that are older; returns how many."""
        too_old = (outbox.c.state == OutboxState.WAITING.value) & (
            outbox.c.created_at < created_before
        )
        if connection.execute(select(outbox.c.id).where(too_old).limit(1)).first() is None:
            return 0
        return connection.execute(
            outbox.update()
            .where(too_old)
            .values(state=OutboxState.EXPIRED.value, next_attempt_at=None)
        ).rowcount

    def newest(self, connection: Connection, limit: int = 100) -> list[OutboxEntry]:
        """The last rows, newest first."""
        rows = connection.execute(select(outbox).order_by(outbox.c.id.desc()).limit(limit))
        return [
            OutboxEntry(
                row.id,
                row.notification_date,
                row.kind,
                row.idempotency_key,
                row.payload or "",
                row.state,
                row.attempt_count,
                row.next_attempt_at,
                row.delivered_at,
                row.last_error,
                row.created_at,
            )
            for row in rows
        ]


def _due(now: datetime) -> ColumnElement[bool]:
    return (outbox.c.state == OutboxState.WAITING.value) & or_(
        outbox.c.next_attempt_at.is_(None), outbox.c.next_attempt_at <= now
    )


def _sooner_than(until: datetime) -> ColumnElement[bool]:
    return or_(outbox.c.next_attempt_at.is_(None), outbox.c.next_attempt_at < until)

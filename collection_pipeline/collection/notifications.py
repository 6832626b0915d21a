"""What is to be told is put into the outbox, and what is due there is delivered (R40).

Preparing and delivering are apart, so that a webhook that fails can neither undo nor delay what it
was to tell of. Both may run in any number of processes at once: a message is made once for a day
and kind, and each try of it is claimed in a short transaction before anything is sent.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from collection_pipeline.domain.notification import (
    SOURCES_BROKEN,
    Notification,
    UnreadableNotification,
    numbered_kind,
    retry_after,
)
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.transaction_guard import TransactionGuard
from collection_pipeline.notification.alerts import (
    run_failed,
    seen_rows_old,
    snapshot_missed,
    sources_broken,
)
from collection_pipeline.notification.morning import morning_report
from collection_pipeline.notification.secrecy import settings_redactor
from collection_pipeline.notification.sending import Logged, Notifier, NotSent, Outcome, Sent
from collection_pipeline.settings import Settings
from collection_pipeline.store.broken_sources import BrokenSources
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.outbox import ClaimedMessage, NotificationOutbox, OutboxState
from collection_pipeline.store.snapshots import SlaSnapshots
from collection_pipeline.store.transaction import TransactionRunner

DAYS_TOLD = 7
"""Older mornings are not told any more, and what could not be delivered so long is given up."""
MOST_MESSAGES = 50
MOST_SECONDS = 60.0
LEASE_MARGIN = timedelta(seconds=30)
MOST_NUMBERED = 1_000
UNREADABLE = NotSent("the stored message cannot be read", is_outage=False)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivery:
    """What one round did with the messages that were due."""

    sent: int = 0
    logged: int = 0
    failed: int = 0
    expired: int = 0


class OperationsNotifications:
    """The outbox as a service. Raises what the database raises, never what a webhook does."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        settings: Settings,
        notifier: Notifier,
        guard: TransactionGuard | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._notifier = notifier
        self._guard = guard
        self._monotonic = monotonic
        self._redactor = settings_redactor(settings)
        self._dagster_ui_url = settings.dagster_ui_url
        self._retention_hours = settings["SEEN_RETENTION_HOURS"]
        self._least_lease = timedelta(seconds=settings["WEBHOOK_DEADLINE_SECONDS"]) + LEASE_MARGIN
        self._outbox = NotificationOutbox()
        self._broken = BrokenSources()
        self._snapshots = SlaSnapshots()

    def has_work(self, connection: Connection) -> bool:
        """Whether ``prepare`` or ``deliver`` would do something; plain reads."""
        now = self._clock.now(connection)
        return (
            self._outbox.has_due(connection, now)
            or bool(self._untold_days(connection))
            or self._broken.any_untold(connection)
        )

    def prepare(self) -> int:
        """Put what is to be told into the outbox; returns how many messages this call made."""
        days, any_broken = self._transactions.run(
            lambda connection: (
                self._untold_days(connection),
                self._broken.any_untold(connection),
            )
        )
        made = sum(self._transactions.run(self._telling_morning(day)) for day in days)
        return made + (self._transactions.run(self._tell_broken) if any_broken else 0)

    def note_seen_rows(self, left_over: int) -> bool:
        """Tell of seen rows that the cleanup left; once a day, and not of none."""
        if left_over <= 0:
            return False
        return self._note(lambda day: seen_rows_old(day, left_over, self._retention_hours))

    def note_run_failed(self, job_name: str, run_id: str, message: str) -> bool:
        """Tell of a failed Dagster run: the first of that job on that day."""
        said = self._redactor.text(message)
        return self._note(lambda day: run_failed(day, job_name, run_id, said, self._dagster_ui_url))

    def deliver(self, stop: threading.Event | None = None) -> Delivery:
        """Send what is due, in the order of its ids, until a sign that the webhook is out of order.

        At most ``MOST_MESSAGES``, none begun after ``MOST_SECONDS`` or when asked to ``stop``.
        """
        ends_at = self._monotonic() + MOST_SECONDS
        expired = self._transactions.run(self._expire)
        counts = {Sent: 0, Logged: 0, NotSent: 0}
        last_id = 0
        while sum(counts.values()) < MOST_MESSAGES and self._monotonic() < ends_at:
            if stop is not None and stop.is_set():
                break
            claimed = self._transactions.run(self._claiming(last_id))
            if claimed is None:
                break
            last_id = claimed.row_id
            outcome = self._send(claimed)
            self._transactions.run(self._settling(claimed, outcome))
            counts[type(outcome)] += 1
            if isinstance(outcome, NotSent) and outcome.is_outage:
                break
        return Delivery(counts[Sent], counts[Logged], counts[NotSent], expired)

    def _untold_days(self, connection: Connection) -> list[date]:
        since = self._clock.today(connection) - timedelta(days=DAYS_TOLD - 1)
        return self._outbox.untold_snapshots(connection, since)

    def _telling_morning(self, day: date) -> Callable[[Connection], bool]:
        def telling(connection: Connection) -> bool:
            header = self._snapshots.header(connection, day)
            if header is None or header.status not in {
                CaptureStatus.CAPTURED,
                CaptureStatus.MISSED,
            }:
                return False
            if header.status is CaptureStatus.MISSED:
                notification = snapshot_missed(header)
            else:
                items = self._snapshots.items(connection, header.snapshot_id)
                notification = morning_report(header, items)
            return self._add(connection, notification)

        return telling

    def _tell_broken(self, connection: Connection) -> bool:
        sources = self._broken.lock_untold(connection)
        if not sources:
            return False
        day = self._clock.today(connection)
        kinds = (numbered_kind(SOURCES_BROKEN, number) for number in range(1, MOST_NUMBERED))
        if not any(self._add(connection, sources_broken(kind, day, sources)) for kind in kinds):
            return False
        self._broken.mark_told(connection, [one.job_source_id for one in sources])
        return True

    def _note(self, composing: Callable[[date], Notification]) -> bool:
        return self._transactions.run(
            lambda connection: self._add(connection, composing(self._clock.today(connection)))
        )

    def _add(self, connection: Connection, notification: Notification) -> bool:
        payload = json.dumps(notification.document(), ensure_ascii=False)
        now = self._clock.now(connection)
        return self._outbox.add(connection, notification.day, notification.kind, payload, now)

    def _expire(self, connection: Connection) -> int:
        return self._outbox.expire(
            connection, self._clock.now(connection) - timedelta(days=DAYS_TOLD)
        )

    def _claiming(self, last_id: int) -> Callable[[Connection], ClaimedMessage | None]:
        return lambda connection: self._outbox.claim_next(
            connection, self._clock.now(connection), last_id, self._least_lease
        )

    def _send(self, claimed: ClaimedMessage) -> Outcome:
        notification = message_of(claimed.payload)
        if notification is None:
            return UNREADABLE
        if self._guard is not None:
            self._guard.assert_none_open()
        return self._notifier.send(notification, claimed.idempotency_key)

    def _settling(self, claimed: ClaimedMessage, outcome: Outcome) -> Callable[[Connection], None]:
        def settling(connection: Connection) -> None:
            now = self._clock.now(connection)
            if isinstance(outcome, Sent):
                self._outbox.end(connection, claimed, OutboxState.DELIVERED, now)
            elif isinstance(outcome, Logged):
                self._outbox.end(connection, claimed, OutboxState.LOGGED, now)
            else:
                self._put_back(connection, claimed, outcome, now)

        return settling

    def _put_back(
        self, connection: Connection, claimed: ClaimedMessage, outcome: NotSent, now: datetime
    ) -> None:
        wish = timedelta(seconds=outcome.wish_seconds)
        error = self._redactor.text(outcome.error)
        retry_at = now + max(retry_after(claimed.attempt), wish)
        self._outbox.put_back(connection, claimed, error, retry_at)
        if outcome.is_outage:
            # Or the other waiting messages would each ask a webhook that is down.
            self._outbox.hold_back(connection, now + max(retry_after(1), wish))
        _logger.warning("message %d was not delivered: %s", claimed.row_id, error)


def message_of(payload: str) -> Notification | None:
    """The message that a row of the outbox holds; ``None`` where this release cannot read it."""
    try:
        return Notification.of_document(json.loads(payload))
    except (UnreadableNotification, ValueError):
        return None

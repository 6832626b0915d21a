"""Snapshot headers and items as the capture leaves them, and a notifications service over a store.

Invariant: rows are written in the shape of the schema, so that tests of the notification need no
capture; what the capture writes is tested where it lives.
"""

import time
from collections.abc import Callable
from datetime import date, timedelta

from sqlalchemy import Connection

from collection_pipeline.collection.notifications import OperationsNotifications
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.domain.notification import Notification
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.transaction_guard import TransactionGuard
from collection_pipeline.notification.log_notifier import LogNotifier
from collection_pipeline.notification.sending import Logged, Notifier, Outcome
from collection_pipeline.settings import Settings
from collection_pipeline.store.schema.operations import sla_snapshot_items, sla_snapshots
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.executor_fixtures import make_settings


def add_header(
    store: Store, status: CaptureStatus, day: date = DAY, reason: str | None = None
) -> int:
    """A header of ``day``; returns its id."""
    scheduled = utc_of_kst(day) + timedelta(hours=9)

    def adding(connection: Connection) -> int:
        added = connection.execute(
            sla_snapshots.insert().values(
                snapshot_date=day,
                scheduled_at=scheduled,
                capture_status=status.value,
                captured_at=scheduled if status is CaptureStatus.CAPTURED else None,
                miss_reason=reason,
                created_at=NOON,
            )
        )
        return int(added.lastrowid)

    return store.run(adding)


def add_item(
    store: Store, snapshot_id: int, source_id: int, status: CycleStatus, label: str = "a source"
) -> None:
    """An item of a captured header."""
    values = {"cycle_status": status.value, "is_complete": int(status is CycleStatus.SUCCESS)}
    store.run(
        lambda connection: connection.execute(
            sla_snapshot_items.insert().values(
                snapshot_id=snapshot_id,
                job_source_id=source_id,
                source_label=label,
                platform="wanted",
                source_type="AGGREGATOR",
                fetched_count=10,
                **values,
            )
        )
    )


class Outbasket:
    """A notifier that keeps what it is given, and ends each try as the test says."""

    def __init__(self, *outcomes: Outcome | BaseException) -> None:
        self.outcomes = list(outcomes)
        self.told: list[tuple[str, str]] = []
        self.notifications: list[Notification] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def send(self, notification: Notification, idempotency_key: str) -> Outcome:
        """Record it, then end as told; LOGGED when nothing is told."""
        self.told.append((notification.kind, idempotency_key))
        self.notifications.append(notification)
        self.meanwhile()
        outcome = self.outcomes.pop(0) if self.outcomes else Logged()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def notifications(
    store: Store,
    notifier: Notifier | None = None,
    settings: Settings | None = None,
    guard: TransactionGuard | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> OperationsNotifications:
    """One process's service."""
    return OperationsNotifications(
        store.transactions,
        store.clock,
        settings or make_settings(),
        notifier or LogNotifier(),
        guard,
        monotonic=monotonic,
    )

"""The pace of one host over all processes (R26), and with a moment a call of the key (R20).

``not_before = max(now, next_allowed_at)`` and ``next_allowed_at = not_before + delay``, reserved in
a short transaction of its own under the host row's lock; the wait happens outside. Where a key has
a daily quota, moment and call are taken together or not at all; the host's row is locked first.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp
from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.key_quota import take_call
from collection_pipeline.store.schema.cycles import host_limits
from collection_pipeline.store.transaction import TransactionRunner

_LOCK = "SELECT next_allowed_at FROM external_request_host_limits WHERE host = %s FOR UPDATE"
_MOVE = (
    "UPDATE external_request_host_limits SET next_allowed_at = %s, updated_at = %s WHERE host = %s"
)


class PersistentHostRequestThrottle:
    """``HostRequestThrottleGateway`` over ``external_request_host_limits``."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._monotonic = monotonic

    def reserve(
        self,
        host: str,
        delay_seconds: float,
        longest_wait_seconds: float,
        quota: KeyQuota | None = None,
        missed: ThrottleSlot | None = None,
    ) -> ThrottleSlot | ThrottleRefusal | KeyQuotaUsedUp:
        """The host's next moment, or a refusal when it lies beyond the longest wait.

        Where nobody has reserved since ``missed``, its time is free again. With ``quota`` also one
        of its calls, counted for the KST day of this moment. Run twice
        after a lost COMMIT it merely leaves a moment and a call unused.
        """

        def reserving(connection: Connection) -> ThrottleSlot | ThrottleRefusal | KeyQuotaUsedUp:
            next_allowed_at = _without(missed, self._locked(connection, host))
            asked_at = self._monotonic()
            now = self._clock.now(connection)
            answered_at = self._monotonic()
            not_before = max(now, next_allowed_at) if next_allowed_at else now
            wait = (not_before - now).total_seconds()
            if wait > longest_wait_seconds:
                return ThrottleRefusal(not_before)
            if quota is not None and not take_call(connection, quota, now):
                return KeyQuotaUsedUp()
            ends_at = not_before + timedelta(seconds=delay_seconds)
            self._store(connection, host, ends_at, now)
            return ThrottleSlot(wait, (asked_at, answered_at), (not_before, ends_at))

        return self._transactions.run(reserving)

    def hold_back(self, host: str, seconds: float) -> None:
        """No request to ``host`` for ``seconds``; never shortens a longer hold."""

        def holding(connection: Connection) -> None:
            next_allowed_at = self._locked(connection, host)
            now = self._clock.now(connection)
            until = now + timedelta(seconds=seconds)
            if next_allowed_at is None or until > next_allowed_at:
                self._store(connection, host, until, now)

        self._transactions.run(holding)

    def _locked(self, connection: Connection, host: str) -> datetime | None:
        """The host's next allowed moment under its row's lock; the row is made when missing."""
        found = connection.exec_driver_sql(_LOCK, (host,)).scalar_one_or_none()
        if found is not None:
            return found  # type: ignore[no-any-return]  # a DATETIME column
        now = self._clock.now(connection)
        adding = insert(host_limits).values(host=host, next_allowed_at=now, updated_at=now)
        connection.execute(adding.on_duplicate_key_update(host=adding.inserted.host))
        return connection.exec_driver_sql(_LOCK, (host,)).scalar_one_or_none()

    def _store(
        self, connection: Connection, host: str, next_allowed_at: datetime, now: datetime
    ) -> None:
        connection.exec_driver_sql(_MOVE, (next_allowed_at, now, host))


def _without(missed: ThrottleSlot | None, next_allowed_at: datetime | None) -> datetime | None:
    """The host's next moment as it was before the missed slot, if that is still the last one."""
    if missed is None or missed.span is None:
        return next_allowed_at
    began_at, ended_at = missed.span
    return began_at if next_allowed_at == ended_at else next_allowed_at

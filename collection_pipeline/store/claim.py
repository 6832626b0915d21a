"""Claiming a due cycle: fair over hosts, at most so many leases a host, never twice (R5, I2).

Hosts are looked at in the order of their longest waiting cycle; one at which another claim stands
comes last, so that a claim that hangs delays no other host's. Candidates come from plain reads
in index order; then, in one short transaction, the gate is taken, then the host's row (claims of
one host wait only for each other), then the cycle by primary key with SKIP LOCKED, and every
condition is checked again on the locked row.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto

from sqlalchemy import Connection, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_rows import cycle_of_row
from collection_pipeline.store.due_work import (
    candidates,
    leases_by_host,
    runnable_source,
    waiting_hosts,
)
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.runnable import DISPATCH_FLAG
from collection_pipeline.store.schema.cycles import cycles, host_claims, host_limits
from collection_pipeline.store.transaction import TransactionRunner


@dataclass(frozen=True)
class ClaimTerms:
    """How claims are made: who asks, for how long, and how many leases one host may have."""

    owner: str
    lease_seconds: int
    max_leases_per_host: int
    longest_wait_seconds: float
    platforms: Collection[str]


@dataclass(frozen=True)
class ClaimedCycle:
    """A cycle that is RUNNING under a fresh token, with its source as it was read then."""

    cycle: JobPostingCollectionCycle
    source: JobSource

    @property
    def token(self) -> str:
        """The lease token."""
        if self.cycle.lease_token is None:
            raise ValueError("a claimed cycle has a token")
        return self.cycle.lease_token


@dataclass(frozen=True)
class _DueHost:
    host: str
    live_leases: int


class _NoClaim(Enum):
    """Why a host gave no cycle: it has none that is due, or another claim is at it."""

    NOTHING_DUE = auto()
    HOST_BUSY = auto()


_NOTHING_DUE, _HOST_BUSY = _NoClaim.NOTHING_DUE, _NoClaim.HOST_BUSY


class ClaimQueue:
    """Takes due cycles from the queue, one at a time."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        gate: CollectionSlaCutoffGate,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._gate = gate
        self._flags = FeatureFlags()

    def claim_next(
        self, terms: ClaimTerms, due_before: datetime | None = None
    ) -> ClaimedCycle | None:
        """The next due cycle, or ``None`` when nothing may be claimed now.

        ``due_before`` (naive UTC) keeps a tick from claiming again what it has just put back.
        """
        hosts, today, due = self._transactions.run(
            lambda connection: self._due_hosts(connection, terms, due_before)
        )
        cap = terms.max_leases_per_host
        below_cap = [host.host for host in hosts if host.live_leases < cap]
        # Hosts at which another claim stands are asked again at the end, and waited for then.
        for wait in (False, True):
            busy: list[str] = []
            for host in below_cap:
                claimed = self._claim_of_host(host, today, due, terms, cap, wait=wait)
                if isinstance(claimed, ClaimedCycle):
                    return claimed
                if claimed is _HOST_BUSY:
                    busy.append(host)
            below_cap = busy
        # Also hosts that have come to their cap since they were read: threads of one tick race.
        lone = self._only_host_with_work([host.host for host in hosts], today, due, terms)
        if lone is None:
            return None
        claimed = self._claim_of_host(lone, today, due, terms, None, wait=True)
        return claimed if isinstance(claimed, ClaimedCycle) else None

    def has_due(self, connection: Connection, terms: ClaimTerms) -> bool:
        """Whether a claim would find something, by plain reads; the sensor's question."""
        hosts, today, due = self._due_hosts(connection, terms, None)
        return any(
            next(candidates(connection, host.host, today, due, terms.platforms), None)
            for host in hosts
        )

    def _due_hosts(
        self, connection: Connection, terms: ClaimTerms, due_before: datetime | None
    ) -> tuple[list[_DueHost], date, datetime]:
        now = self._clock.now(connection)
        today = self._clock.today(connection)
        due = min(now, due_before) if due_before else now
        if not self._flags.is_on(connection, DISPATCH_FLAG):
            return [], today, due
        held_back = set(
            connection.execute(
                select(host_limits.c.host).where(
                    host_limits.c.next_allowed_at
                    > now + timedelta(seconds=terms.longest_wait_seconds)
                )
            ).scalars()
        )
        leases = leases_by_host(connection, now)
        in_order = sorted(waiting_hosts(connection, today), key=lambda one: (one[1], one[0]))
        return (
            [
                _DueHost(host, leases.get(host, 0))
                for host, eligible in in_order
                if eligible <= due and host not in held_back
            ],
            today,
            due,
        )

    def _only_host_with_work(
        self, hosts: list[str], today: date, due: datetime, terms: ClaimTerms
    ) -> str | None:
        """The one host that has claimable work, or ``None`` for none or several."""

        def with_work(connection: Connection) -> list[str]:
            found = (
                host
                for host in hosts
                if next(candidates(connection, host, today, due, terms.platforms), None)
            )
            return [host for host, _ in zip(found, range(2), strict=False)]

        working = self._transactions.run(with_work) if hosts else []
        return working[0] if len(working) == 1 else None

    def _claim_of_host(
        self,
        host: str,
        today: date,
        due: datetime,
        terms: ClaimTerms,
        cap: int | None,
        *,
        wait: bool,
    ) -> ClaimedCycle | _NoClaim:
        token = str(uuid.uuid4())

        def claiming(connection: Connection) -> ClaimedCycle | _NoClaim:
            if not _lock_host(connection, host, wait=wait):
                return _HOST_BUSY
            now = self._clock.now(connection)
            if self._clock.today(connection) != today:
                return _NOTHING_DUE
            if cap is not None and leases_by_host(connection, now).get(host, 0) >= cap:
                return _NOTHING_DUE
            for cycle_id in candidates(connection, host, today, due, terms.platforms):
                claimed = self._take(connection, cycle_id, token, terms)
                if claimed is not None:
                    return claimed
            return _NOTHING_DUE

        return self._gate.with_daily_write_gate(
            today,
            claiming,
            was_committed=lambda connection: _token_exists(connection, token),
        )

    def _take(
        self, connection: Connection, cycle_id: int, token: str, terms: ClaimTerms
    ) -> ClaimedCycle | None:
        row = connection.execute(
            select(cycles)
            .where(cycles.c.id == cycle_id, cycles.c.cycle_status == CycleStatus.PENDING.value)
            .with_for_update(skip_locked=True)
        ).one_or_none()
        if row is None:
            return None
        cycle = cycle_of_row(row)
        now = self._clock.now(connection)
        source = runnable_source(connection, cycle, terms.platforms)
        if source is None or cycle.next_eligible_at is None or cycle.next_eligible_at > now:
            return None
        claimed = cycle.claim(token, terms.owner, now + timedelta(seconds=terms.lease_seconds), now)
        connection.execute(
            cycles.update()
            .where(cycles.c.id == cycle.id)
            .values(
                cycle_status=claimed.status.value,
                lease_token=claimed.lease_token,
                lease_owner=claimed.lease_owner,
                lease_until=claimed.lease_until,
                started_at=claimed.started_at,
                updated_at=now,
            )
        )
        return ClaimedCycle(claimed, source)


def _lock_host(connection: Connection, host: str, *, wait: bool) -> bool:
    """Take the host's turn; False where another claim has it and this one does not wait."""
    statement = select(host_claims.c.host).where(host_claims.c.host == host)
    row = connection.execute(statement.with_for_update(skip_locked=not wait)).one_or_none()
    return wait or row is not None


def _token_exists(connection: Connection, token: str) -> bool:
    statement = select(cycles.c.id).where(cycles.c.lease_token == token)
    return connection.execute(statement).first() is not None

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

from sqlalchemy import Connection, bindparam, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_rows import cycle_of_row
from collection_pipeline.store.due_work import (
    WaitingHost,
    candidates,
    runnable_source,
    waiting_hosts,
)
from collection_pipeline.store.gate import CollectionSlaCutoffGate, GateMissing, hold_for_write
from collection_pipeline.store.schema.cycles import cycles, host_claims
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
class _DueWork:
    """What a claim chooses from, as it was read: ``hosts`` have a cycle due at ``due``."""

    hosts: list[WaitingHost]
    today: date
    due: datetime

    def below(self, cap: int) -> list[str]:
        """Hosts with room for a lease."""
        return [one.host for one in self.hosts if one.live_leases < cap]


class _NoClaim(Enum):
    """Why there was no claim: of a host that has none for us, of one at which another claim is, of
    one cycle that was taken, put back or switched off since it was read."""

    NOTHING_DUE = auto()
    HOST_BUSY = auto()
    REFUSED = auto()


_HOST = select(host_claims.c.host).where(host_claims.c.host == bindparam("host"))
_ASK_FOR_HOST, _WAIT_FOR_HOST = _HOST.with_for_update(skip_locked=True), _HOST.with_for_update()
_LOCK_CYCLE = (
    select(cycles)
    .where(cycles.c.id == bindparam("cycle"), cycles.c.cycle_status == CycleStatus.PENDING.value)
    .with_for_update(skip_locked=True)
)
_TAKE_CYCLE = cycles.update().where(cycles.c.id == bindparam("cycle"))
_NOTHING_DUE, _HOST_BUSY, _REFUSED = _NoClaim


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

    def claim_next(
        self, terms: ClaimTerms, due_before: datetime | None = None
    ) -> ClaimedCycle | None:
        """The next due cycle, or ``None`` when nothing may be claimed now.

        ``due_before`` (naive UTC) keeps a tick from claiming again what it has just put back.
        """
        cap = terms.max_leases_per_host
        work, first = self._read_and_claim(terms, due_before)
        if isinstance(first, ClaimedCycle):
            return first
        below_cap = work.below(cap)
        busy = below_cap[:1] if first is _HOST_BUSY else []
        # Hosts at which another claim stands are asked again at the end, and waited for then.
        for hosts, wait in ((below_cap[1:], False), (busy, True)):
            for host in hosts:
                claimed = self._claim_of_host(host, work, terms, cap, wait=wait)
                if isinstance(claimed, ClaimedCycle):
                    return claimed
                if claimed is _HOST_BUSY:
                    busy.append(host)
        # Also hosts that have come to their cap since they were read: threads of one tick race.
        lone = self._only_host_with_work(work, terms)
        if lone is None:
            return None
        claimed = self._claim_of_host(lone, work, terms, None, wait=True)
        return claimed if isinstance(claimed, ClaimedCycle) else None

    def has_due(self, connection: Connection, terms: ClaimTerms) -> bool:
        """Whether a claim would find something, by plain reads; the sensor's question."""
        work = self._due_work(connection, terms, None)
        return any(
            next(candidates(connection, one.host, work.today, work.due, terms.platforms), None)
            for one in work.hosts
        )

    def _read_and_claim(
        self, terms: ClaimTerms, due_before: datetime | None
    ) -> tuple[_DueWork, ClaimedCycle | _NoClaim]:
        """What is due, and a claim of the first host in the same transaction.

        The plain reads come before the gate and lock nothing, so that the order of locks is kept
        and the usual claim is one transaction.
        """
        token = str(uuid.uuid4())

        def reading(connection: Connection) -> tuple[_DueWork, ClaimedCycle | _NoClaim]:
            work = self._due_work(connection, terms, due_before)
            cap = terms.max_leases_per_host
            below_cap = work.below(cap)
            if not below_cap:
                return work, _NOTHING_DUE
            hold_for_write(connection, work.today)
            return work, self._take_of_host(
                connection, below_cap[0], token, work, terms, cap, wait=False
            )

        def was_committed(connection: Connection) -> bool:
            return _token_exists(connection, token)

        try:
            return self._transactions.run(reading, was_committed=was_committed)
        except GateMissing:
            self._gate.ensure_headers()
            return self._transactions.run(reading, was_committed=was_committed)

    def _due_work(
        self, connection: Connection, terms: ClaimTerms, due_before: datetime | None
    ) -> _DueWork:
        now = self._clock.now(connection)
        today = run_date_of(now)
        due = min(now, due_before) if due_before else now
        longest_wait = timedelta(seconds=terms.longest_wait_seconds)
        hosts = waiting_hosts(connection, today, now, longest_wait)
        return _DueWork([one for one in hosts if one.first_due <= due], today, due)

    def _only_host_with_work(self, work: _DueWork, terms: ClaimTerms) -> str | None:
        """The one host that has claimable work, or ``None`` for none or several."""

        def with_work(connection: Connection) -> list[str]:
            found = (
                one.host
                for one in work.hosts
                if next(
                    candidates(connection, one.host, work.today, work.due, terms.platforms), None
                )
            )
            return [host for host, _ in zip(found, range(2), strict=False)]

        working = self._transactions.run(with_work) if work.hosts else []
        return working[0] if len(working) == 1 else None

    def _claim_of_host(
        self, host: str, work: _DueWork, terms: ClaimTerms, cap: int | None, *, wait: bool
    ) -> ClaimedCycle | _NoClaim:
        token = str(uuid.uuid4())
        return self._gate.with_daily_write_gate(
            work.today,
            lambda connection: self._take_of_host(
                connection, host, token, work, terms, cap, wait=wait
            ),
            was_committed=lambda connection: _token_exists(connection, token),
        )

    def _take_of_host(
        self,
        connection: Connection,
        host: str,
        token: str,
        work: _DueWork,
        terms: ClaimTerms,
        cap: int | None,
        *,
        wait: bool,
    ) -> ClaimedCycle | _NoClaim:
        """The host's first cycle that may be taken, in a transaction that holds the gate."""
        if not _lock_host(connection, host, wait=wait):
            return _HOST_BUSY
        for cycle_id in candidates(connection, host, work.today, work.due, terms.platforms):
            taken = self._take(connection, cycle_id, token, terms, cap)
            if taken is not _REFUSED:
                return taken
        return _NOTHING_DUE

    def _take(
        self, connection: Connection, cycle_id: int, token: str, terms: ClaimTerms, cap: int | None
    ) -> ClaimedCycle | _NoClaim:
        row = connection.execute(_LOCK_CYCLE, {"cycle": cycle_id}).one_or_none()
        if row is None:
            return _REFUSED
        cycle = cycle_of_row(row)
        now = self._clock.now(connection)
        if run_date_of(now) != cycle.run_date:
            return _NOTHING_DUE
        found = runnable_source(connection, cycle, now, terms.platforms)
        if found is None or cycle.next_eligible_at is None or cycle.next_eligible_at > now:
            return _REFUSED
        if cap is not None and found.live_leases >= cap:
            return _NOTHING_DUE
        claimed = cycle.claim(token, terms.owner, now + timedelta(seconds=terms.lease_seconds), now)
        connection.execute(
            _TAKE_CYCLE,
            {
                "cycle": cycle.id,
                "cycle_status": claimed.status.value,
                "lease_token": claimed.lease_token,
                "lease_owner": claimed.lease_owner,
                "lease_until": claimed.lease_until,
                "started_at": claimed.started_at,
                "updated_at": now,
            },
        )
        return ClaimedCycle(claimed, found.source)


def _lock_host(connection: Connection, host: str, *, wait: bool) -> bool:
    """Take the host's turn; False where another claim has it and this one does not wait."""
    row = connection.execute(_WAIT_FOR_HOST if wait else _ASK_FOR_HOST, {"host": host})
    return row.one_or_none() is not None or wait


def _token_exists(connection: Connection, token: str) -> bool:
    statement = select(cycles.c.id).where(cycles.c.lease_token == token)
    return connection.execute(statement).first() is not None

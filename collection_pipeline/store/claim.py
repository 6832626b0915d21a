"""Claiming a due cycle: fair over hosts, at most so many leases a host, never twice (R5, I2).

Hosts are looked at in the order of their longest waiting cycle. Candidates come from plain reads
in index order; then, in one short transaction, the gate is taken, then the host's row (claims of
one host wait only for each other), then the cycle by primary key with SKIP LOCKED, and every
condition is checked again on the locked row.
"""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, Select, func, or_, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_rows import cycle_of_row
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.runnable import DISPATCH_FLAG, is_runnable
from collection_pipeline.store.schema.cycles import cycles, host_claims, host_limits
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.sources import source_of_row
from collection_pipeline.store.transaction import TransactionRunner

FIRST_READ_ROWS = 20
LONGEST_READ_ROWS = 1_000
"""A read doubles after a page of refused rows, so that many switched-off sources cost little."""


@dataclass(frozen=True)
class ClaimTerms:
    """How claims are made: who asks, for how long, and how many leases one host may have."""

    owner: str
    lease_seconds: int
    max_leases_per_host: int
    longest_wait_seconds: int
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
        below_cap = [host for host in hosts if host.live_leases < terms.max_leases_per_host]
        for host in below_cap:
            claimed = self._claim_of_host(host.host, today, due, terms, terms.max_leases_per_host)
            if claimed is not None:
                return claimed
        at_cap = [host.host for host in hosts if host not in below_cap]
        lone = self._only_host_with_work(at_cap, today, due, terms)
        return self._claim_of_host(lone, today, due, terms, None) if lone else None

    def has_due(self, connection: Connection, terms: ClaimTerms) -> bool:
        """Whether a claim would find something, by plain reads; the sensor's question."""
        hosts, today, due = self._due_hosts(connection, terms, None)
        return any(
            next(_candidates(connection, host.host, today, due, terms.platforms), None)
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
        first_due = func.min(cycles.c.next_eligible_at)
        waiting = connection.execute(
            select(cycles.c.request_host, first_due)
            .where(cycles.c.cycle_status == CycleStatus.PENDING.value, cycles.c.run_date == today)
            .group_by(cycles.c.request_host)
        ).all()
        held_back = set(
            connection.execute(
                select(host_limits.c.host).where(
                    host_limits.c.next_allowed_at
                    > now + timedelta(seconds=terms.longest_wait_seconds)
                )
            ).scalars()
        )
        leases = _leases_by_host(connection, now)
        in_order = sorted(waiting, key=lambda row: (row[1], row[0]))
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
        """The one host that has claimable work, or ``None`` for none or several.

        Hosts below their cap had none, else the claim would have been made.
        """

        def with_work(connection: Connection) -> list[str]:
            found = (
                host
                for host in hosts
                if next(_candidates(connection, host, today, due, terms.platforms), None)
            )
            return [host for host, _ in zip(found, range(2), strict=False)]

        working = self._transactions.run(with_work) if hosts else []
        return working[0] if len(working) == 1 else None

    def _claim_of_host(
        self, host: str, today: date, due: datetime, terms: ClaimTerms, cap: int | None
    ) -> ClaimedCycle | None:
        token = str(uuid.uuid4())

        def claiming(connection: Connection) -> ClaimedCycle | None:
            _lock_host(connection, host)
            now = self._clock.now(connection)
            if self._clock.today(connection) != today:
                return None
            if cap is not None and _leases_by_host(connection, now).get(host, 0) >= cap:
                return None
            for cycle_id in _candidates(connection, host, today, due, terms.platforms):
                claimed = self._take(connection, cycle_id, token, terms)
                if claimed is not None:
                    return claimed
            return None

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
        source = _runnable_source(connection, cycle, terms.platforms)
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


def _lock_host(connection: Connection, host: str) -> None:
    statement = select(host_claims.c.host).where(host_claims.c.host == host).with_for_update()
    connection.execute(statement)


def _leases_by_host(connection: Connection, now: datetime) -> dict[str, int]:
    """Live leases, read from the few RUNNING rows."""
    statement = (
        select(cycles.c.request_host, func.count())
        .where(cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.lease_until > now)
        .group_by(cycles.c.request_host)
    )
    return {str(row[0]): int(row[1]) for row in connection.execute(statement)}


def _candidates(
    connection: Connection, host: str, today: date, due: datetime, platforms: Collection[str]
) -> Iterator[int]:
    """Ids of due cycles of runnable sources in queue order; refused rows are passed by key."""
    position: tuple[datetime, int] | None = None
    page_rows = FIRST_READ_ROWS
    while True:
        statement = _due_page(host, today, due, position).limit(page_rows)
        rows = connection.execute(statement).all()
        page_rows = min(page_rows * 2, LONGEST_READ_ROWS)
        if not rows:
            return
        position = (rows[-1].next_eligible_at, rows[-1].id)
        runnable = set(
            connection.execute(
                select(job_sources.c.id).where(
                    job_sources.c.id.in_([row.job_source_id for row in rows]),
                    is_runnable(today, platforms),
                )
            ).scalars()
        )
        busy = _sources_running(connection, today)
        yield from (
            row.id
            for row in rows
            if row.job_source_id in runnable and row.job_source_id not in busy
        )


def _due_page(
    host: str, today: date, due: datetime, position: tuple[datetime, int] | None
) -> Select[tuple[int, int, datetime]]:
    statement = select(cycles.c.id, cycles.c.job_source_id, cycles.c.next_eligible_at).where(
        cycles.c.cycle_status == CycleStatus.PENDING.value,
        cycles.c.run_date == today,
        cycles.c.request_host == host,
        cycles.c.next_eligible_at <= due,
    )
    if position is not None:
        eligible_at, cycle_id = position
        statement = statement.where(
            cycles.c.next_eligible_at >= eligible_at,
            or_(cycles.c.next_eligible_at > eligible_at, cycles.c.id > cycle_id),
        )
    return statement.order_by(cycles.c.next_eligible_at, cycles.c.id)


def _sources_running(connection: Connection, today: date) -> set[int]:
    """Sources whose cycle of another date is still RUNNING (R5)."""
    return set(
        connection.execute(
            select(cycles.c.job_source_id).where(
                cycles.c.cycle_status == CycleStatus.RUNNING.value, cycles.c.run_date != today
            )
        ).scalars()
    )


def _runnable_source(
    connection: Connection, cycle: JobPostingCollectionCycle, platforms: Collection[str]
) -> JobSource | None:
    """The source, when it is runnable and no cycle of it of another date is RUNNING."""
    if cycle.job_source_id in _sources_running(connection, cycle.run_date):
        return None
    row = connection.execute(
        select(job_sources).where(
            job_sources.c.id == cycle.job_source_id, is_runnable(cycle.run_date, platforms)
        )
    ).one_or_none()
    return None if row is None else source_of_row(row)


def _token_exists(connection: Connection, token: str) -> bool:
    statement = select(cycles.c.id).where(cycles.c.lease_token == token)
    return connection.execute(statement).first() is not None

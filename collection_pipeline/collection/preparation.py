"""Cycles join the queue: the descriptor is checked before anything is sent (R1 to R3, R23b)."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection

from collection_pipeline.domain.budget import InvalidBudget
from collection_pipeline.domain.failure import CollectionFailure, CollectionFailureReason
from collection_pipeline.platforms.gateway import BadDescriptor, PlatformGateway
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.preparation import (
    UnpreparedCycle,
    add_hosts,
    hosts_without_row,
    prepare_cycles,
    unprepared_cycles,
)
from collection_pipeline.store.transaction import TransactionRunner


@dataclass(frozen=True)
class Prepared:
    """How many cycles became PENDING, and how many ended FAILED with CONFIG."""

    pending: int = 0
    rejected: int = 0


class CyclePreparation:
    """Prepares the day's NOT_STARTED cycles in chunks."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        gate: CollectionSlaCutoffGate,
        repository: JobPostingCollectionCycleRepository,
        gateway: PlatformGateway,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._gate = gate
        self._repository = repository
        self._gateway = gateway

    def prepare(self, run_date: date) -> Prepared:
        """Every NOT_STARTED cycle of runnable sources, chunk by chunk; no HTTP."""
        self._heal_hosts(run_date)
        pending = rejected = last_id = 0
        while True:
            chunk = self._chunk(run_date, last_id)
            if not chunk:
                return Prepared(pending, rejected)
            last_id = chunk[-1].cycle_id
            by_host, failures = self._sorted_out(chunk)
            pending += self._queue(run_date, by_host)
            rejected += sum(
                self._repository.reject(cycle_id, run_date, failure)
                for cycle_id, failure in failures
            )

    def _heal_hosts(self, run_date: date) -> None:
        """Claims find waiting cycles by their hosts' rows, whoever put the cycles there."""
        missing = self._transactions.run(lambda connection: hosts_without_row(connection, run_date))
        if missing:
            self._transactions.run(lambda connection: add_hosts(connection, missing))

    def has_unprepared(self, connection: Connection) -> bool:
        """Whether a tick would have to prepare a cycle or a host, by plain reads."""
        today = self._clock.today(connection)
        return bool(unprepared_cycles(connection, today, 0) or hosts_without_row(connection, today))

    def _chunk(self, run_date: date, after: int) -> list[UnpreparedCycle]:
        return self._transactions.run(
            lambda connection: unprepared_cycles(connection, run_date, after)
        )

    def _sorted_out(
        self, chunk: list[UnpreparedCycle]
    ) -> tuple[dict[str, list[int]], list[tuple[int, CollectionFailure]]]:
        by_host: dict[str, list[int]] = defaultdict(list)
        failures: list[tuple[int, CollectionFailure]] = []
        for cycle in chunk:
            try:
                cycle.source.overrides.check()
                host = self._gateway.host_of(cycle.source.platform, cycle.source.condition)
            except (InvalidBudget, *BadDescriptor) as error:
                failure = CollectionFailure(CollectionFailureReason.CONFIG, str(error))
                failures.append((cycle.cycle_id, failure))
            else:
                by_host[host].append(cycle.cycle_id)
        return by_host, failures

    def _queue(self, run_date: date, by_host: dict[str, list[int]]) -> int:
        if not by_host:
            return 0
        self._transactions.run(lambda connection: add_hosts(connection, by_host.keys()))

        def preparing(connection: Connection) -> int:
            platforms = self._gateway.platforms
            return prepare_cycles(connection, run_date, by_host, platforms, self._clock)

        return self._gate.with_daily_write_gate(run_date, preparing)

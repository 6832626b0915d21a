"""May a slice go on? Asked before each request, answered by the database (R17, R18, R27, I2)."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import Connection, Select, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.prepared import PreparedStatement
from collection_pipeline.store.runnable import is_runnable
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.transaction import TransactionRunner


class LeasedSlicePermit:
    """``SlicePermit`` of one claimed cycle; ``stop`` is set when the process is asked to end."""

    def __init__(
        self,
        transactions: TransactionRunner,
        clock: DatabaseClock,
        claimed: ClaimedCycle,
        platforms: Collection[str],
        *,
        ends_at: float,
        stop: threading.Event,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._claimed = claimed
        self._ends_at = ends_at
        self._stop = stop
        self._monotonic = monotonic
        self._question = PreparedStatement(_standing(claimed, platforms))

    def stop_reason(self) -> str | None:
        """Asked to stop, past midnight, lease lost, or source not runnable; else ``None``."""
        if self._stop.is_set():
            return "asked to stop"
        return self._transactions.run(self._reason_in_database)

    def seconds_left(self) -> float:
        """Until the slice's end, which lies before the end of trust in its lease."""
        return self._ends_at - self._monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait, or return False at once when asked to stop."""
        if seconds <= 0:
            return not self._stop.is_set()
        return not self._stop.wait(seconds)

    def _reason_in_database(self, connection: Connection) -> str | None:
        row = self._question.execute(connection).one_or_none()
        now = self._clock.now(connection)
        if run_date_of(now) != self._claimed.cycle.run_date:
            return "the run date is over"
        if row is None or row.lease_until is None or row.lease_until <= now:
            return "the lease is lost"
        return None if row.is_runnable else "the source is not runnable any more"


def _standing(claimed: ClaimedCycle, platforms: Collection[str]) -> Select[Any]:
    """The lease's end and the one predicate, while the cycle is ours; made once a slice."""
    return (
        select(
            cycles.c.lease_until,
            is_runnable(claimed.cycle.run_date, platforms).label("is_runnable"),
        )
        .join(job_sources, job_sources.c.id == cycles.c.job_source_id)
        .where(
            cycles.c.id == claimed.cycle.id,
            cycles.c.lease_token == claimed.token,
            cycles.c.cycle_status == CycleStatus.RUNNING.value,
        )
    )

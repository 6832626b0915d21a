"""Heartbeats: one row a tick, written when it begins and when it ends."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from collection_pipeline.store.schema.operations import collection_ticks


@dataclass(frozen=True)
class TickCounts:
    """What a tick did."""

    recovered: int = 0
    prepared: int = 0
    claimed: int = 0
    slices: int = 0
    lost: int = 0


class CollectionTicks:
    """Writes ``collection_ticks`` on a connection of the caller's transaction."""

    def begin(
        self,
        connection: Connection,
        tick_id: str,
        worker: str,
        dagster_run_id: str | None,
        now: datetime,
    ) -> None:
        """The tick is at work."""
        connection.execute(
            collection_ticks.insert().values(
                tick_id=tick_id, worker=worker, dagster_run_id=dagster_run_id, started_at=now
            )
        )

    def end(
        self,
        connection: Connection,
        tick_id: str,
        counts: TickCounts,
        seconds: float,
        error: str | None,
        now: datetime,
    ) -> None:
        """The tick is over; ``error`` says why it could not do its work."""
        connection.execute(
            collection_ticks.update()
            .where(collection_ticks.c.tick_id == tick_id)
            .values(
                finished_at=now,
                recovered_count=counts.recovered,
                prepared_count=counts.prepared,
                claimed_count=counts.claimed,
                slice_count=counts.slices,
                lost_count=counts.lost,
                seconds=seconds,
                error=error,
            )
        )

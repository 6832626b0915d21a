"""The record of every ingest of the library register (R49, R51).

    RUNNING -> SUCCESS | FAILED        SKIPPED is written at once, by a run that found the lock busy

Invariant: a RUNNING row is made under the register's lock, so whoever holds the lock and finds one
knows that its run is gone, and closes it as FAILED. A row that has ended never changes: every end
asks for RUNNING. Success is written in the transaction of the stale step, so that rows are never
deactivated by a run that did not succeed.
"""

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, select

from collection_pipeline.store.schema.libraries import ingest_runs

REASON_CHARS = 300
INTERRUPTED = "interrupted: the process ended before the run did"


class IngestStatus(StrEnum):
    """How far a run came."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


@dataclass
class IngestCounts:
    """What a run has done so far, in rows of the last reading; ``unparsed`` counts cells (R51).

    fetched = distinct keyed + duplicates + unkeyable; upserted = added + changed + unchanged.
    """

    fetched: int = 0
    upserted: int = 0
    added: int = 0
    changed: int = 0
    reactivated: int = 0
    deactivated: int = 0
    unkeyable: int = 0
    unparsed: int = 0
    duplicate: int = 0
    left_out: int = 0


@dataclass(frozen=True)
class RunStart:
    """Who started a run and with what configuration."""

    source: str
    trigger: str
    deactivate_stale: bool
    allow_shrink: bool
    dagster_run_id: str | None = None


@dataclass(frozen=True)
class IngestEnd:
    """How a run ends; ``failure_kind`` is the reading's, where reading failed."""

    status: IngestStatus
    reason: str | None = None
    counts: IngestCounts = field(default_factory=IngestCounts)
    stated_total: int | None = None
    failure_kind: str | None = None


class IngestRuns:
    """Reads and writes ``ingest_runs`` on a connection of the caller's transaction."""

    def begin(self, connection: Connection, start: RunStart, now: datetime) -> int:
        """Close what earlier runs left RUNNING, then open a row; only under the lock."""
        connection.execute(
            ingest_runs.update()
            .where(ingest_runs.c.run_status == IngestStatus.RUNNING.value)
            .values(run_status=IngestStatus.FAILED.value, reason=INTERRUPTED, finished_at=now)
        )
        return self._insert(connection, start, now, run_status=IngestStatus.RUNNING.value)

    def skip(self, connection: Connection, start: RunStart, reason: str, now: datetime) -> int:
        """A run that found the lock busy."""
        skipped = {"run_status": IngestStatus.SKIPPED.value, "reason": reason, "finished_at": now}
        return self._insert(connection, start, now, **skipped)

    def end(self, connection: Connection, run_id: int, end: IngestEnd, now: datetime) -> bool:
        """Whether the run was still RUNNING and now has ended like this."""
        ended = connection.execute(
            ingest_runs.update()
            .where(
                ingest_runs.c.id == run_id,
                ingest_runs.c.run_status == IngestStatus.RUNNING.value,
            )
            .values(
                run_status=end.status.value,
                reason=end.reason[:REASON_CHARS] if end.reason else None,
                stated_total=end.stated_total,
                failure_kind=end.failure_kind,
                finished_at=now,
                **_count_columns(end.counts),
            )
        )
        return ended.rowcount == 1

    def status(self, connection: Connection, run_id: int) -> IngestStatus:
        """Where a run stands; waits for a transaction that is about to end it."""
        asked = select(ingest_runs.c.run_status).where(ingest_runs.c.id == run_id)
        return IngestStatus(connection.execute(asked.with_for_update()).scalar_one())

    def _insert(
        self, connection: Connection, start: RunStart, now: datetime, **columns: object
    ) -> int:
        added = connection.execute(
            ingest_runs.insert().values(
                source=start.source,
                trigger_kind=start.trigger,
                dagster_run_id=start.dagster_run_id,
                deactivate_stale=start.deactivate_stale,
                allow_shrink=start.allow_shrink,
                started_at=now,
                **columns,
            )
        )
        return int(added.lastrowid)


def _count_columns(counts: IngestCounts) -> dict[str, int]:
    return {f"{one.name}_count": getattr(counts, one.name) for one in fields(counts)}

"""NOT_STARTED to PENDING: cycles join the queue in chunks (R1 to R3)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, select
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.source import JobSource
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.runnable import is_runnable, is_switched_on
from collection_pipeline.store.schema.cycles import cycles, host_claims
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.sources import source_of_row

PREPARE_CHUNK_CYCLES = 500


@dataclass(frozen=True)
class UnpreparedCycle:
    """A NOT_STARTED cycle of the day with its source."""

    cycle_id: int
    source: JobSource


def unprepared_cycles(
    connection: Connection, run_date: date, after_cycle_id: int
) -> list[UnpreparedCycle]:
    """The next chunk, by cycle id; sources that are switched off stay out (R3)."""
    statement = (
        select(cycles.c.id.label("cycle_id"), job_sources)
        .join(job_sources, job_sources.c.id == cycles.c.job_source_id)
        .where(
            cycles.c.cycle_status == CycleStatus.NOT_STARTED.value,
            cycles.c.run_date == run_date,
            cycles.c.id > after_cycle_id,
            is_switched_on(run_date),
        )
        .order_by(cycles.c.id)
        .limit(PREPARE_CHUNK_CYCLES)
    )
    return [
        UnpreparedCycle(row.cycle_id, source_of_row(row)) for row in connection.execute(statement)
    ]


def hosts_without_row(connection: Connection, run_date: date) -> set[str]:
    """Hosts at which a cycle of the day waits where no claim would look; by plain reads.

    Waiting hosts are read by jumps through the index.
    """
    waiting = (
        select(cycles.c.request_host)
        .with_hint(cycles, "FORCE INDEX (ix_cycles_ready_host)")
        .where(cycles.c.cycle_status == CycleStatus.PENDING.value, cycles.c.run_date == run_date)
        .group_by(cycles.c.request_host)
    )
    hosts = {host for host in connection.execute(waiting).scalars() if host is not None}
    return hosts - _known_hosts(connection, hosts) if hosts else hosts


def _known_hosts(connection: Connection, hosts: Collection[str]) -> set[str]:
    statement = select(host_claims.c.host).where(host_claims.c.host.in_(sorted(hosts)))
    return set(connection.execute(statement).scalars())


def add_hosts(connection: Connection, hosts: Collection[str]) -> None:
    """Make the rows on which claims of one host wait for each other; sorted, idempotent."""
    missing = sorted(set(hosts) - _known_hosts(connection, hosts))
    if missing:
        statement = insert(host_claims).values([{"host": host} for host in missing])
        connection.execute(statement.on_duplicate_key_update(host=statement.inserted.host))


def prepare_cycles(
    connection: Connection,
    run_date: date,
    cycle_ids_by_host: Mapping[str, Sequence[int]],
    platforms: Collection[str],
    clock: DatabaseClock,
) -> int:
    """Move the cycles that are still NOT_STARTED and runnable to PENDING; returns how many.

    The caller holds the gate. Conditions are checked again on the locked rows, the day too: a
    cycle keeps the state in which it ended its day (R16).
    """
    ids = sorted(cycle_id for some in cycle_ids_by_host.values() for cycle_id in some)
    # Forced: a table of few rows would be walked, and each row that is walked is locked.
    locked = (
        select(cycles.c.id, cycles.c.job_source_id)
        .with_hint(cycles, "FORCE INDEX (PRIMARY)")
        .where(cycles.c.id.in_(ids), cycles.c.cycle_status == CycleStatus.NOT_STARTED.value)
    )
    sources = {row.id: row.job_source_id for row in connection.execute(locked.with_for_update())}
    now = clock.now(connection)
    if run_date_of(now) != run_date:
        return 0
    runnable = set(
        connection.execute(
            select(job_sources.c.id).where(
                job_sources.c.id.in_(sorted(set(sources.values()))),
                is_runnable(run_date, platforms),
            )
        ).scalars()
    )
    prepared = 0
    for host in sorted(cycle_ids_by_host):
        ready = [
            cycle_id for cycle_id in cycle_ids_by_host[host] if sources.get(cycle_id) in runnable
        ]
        if ready:
            prepared += connection.execute(
                cycles.update()
                .where(cycles.c.id.in_(ready))
                .values(
                    cycle_status=CycleStatus.PENDING.value,
                    request_host=host,
                    next_eligible_at=now,
                    updated_at=now,
                )
            ).rowcount
    return prepared

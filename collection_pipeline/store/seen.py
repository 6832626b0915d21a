"""What a cycle has sighted so far: the basis of its delta, deleted when it ends (R22, R30, R31)."""

from collections.abc import Collection, Sequence
from datetime import date, datetime

from sqlalchemy import Connection, delete, func, or_, select, text

from collection_pipeline.domain.cycle_status import TERMINAL_STATUSES, CycleStatus
from collection_pipeline.domain.posting import DetailState, DetailTarget, KnownPosting
from collection_pipeline.domain.slices import SightedPosting
from collection_pipeline.store.bulk import insert_of, placeholders
from collection_pipeline.store.schema.cycles import cycles, seen_postings
from collection_pipeline.store.schema.postings import job_postings

_KEPT_PLACE = "ON DUPLICATE KEY UPDATE list_position = list_position"
_COUNT_KNOWN = (
    "SELECT COUNT(*) FROM job_posting_collection_seen_postings "
    "WHERE cycle_id = %s AND source_job_id IN"
)
_KNOWN = (
    "SELECT p.source_job_id, p.list_signature, p.detail_state, p.body_trimmed_at, "
    "p.unparsed_fields, s.detail_tried FROM job_postings AS p "
    "LEFT JOIN job_posting_collection_seen_postings AS s "
    "ON s.cycle_id = %s AND s.source_job_id = p.source_job_id "
    "WHERE p.job_source_id = %s AND p.source_job_id IN"
)
_DETAIL_STATES = {state.value: state for state in DetailState}
_DELETE_CHUNK = text(
    "DELETE FROM job_posting_collection_seen_postings WHERE cycle_id = :cycle_id "
    "ORDER BY cycle_id, source_job_id LIMIT :rows"
)


class SeenPostings:
    """Reads and writes the seen table on a connection of the caller's transaction."""

    def add(
        self,
        connection: Connection,
        cycle_id: int,
        sighted: Sequence[SightedPosting],
        now: datetime,
    ) -> int:
        """Note sightings, sorted by key; returns how many are new to the cycle."""
        if not sighted:
            return 0
        positions = {one.listed.source_job_id: one.position for one in sighted}
        rows = sorted(positions.items())
        known = connection.exec_driver_sql(
            f"{_COUNT_KNOWN} ({placeholders(len(rows))})", (cycle_id, *positions)
        ).scalar_one()
        insert, parameters = insert_of(
            seen_postings.name,
            {"cycle_id": cycle_id, "created_at": now},
            ("source_job_id", "list_position"),
            rows,
        )
        connection.exec_driver_sql(f"{insert} {_KEPT_PLACE}", tuple(parameters))
        return len(rows) - int(known)

    def mark_tried(self, connection: Connection, cycle_id: int, ids: Collection[str]) -> None:
        """These details were tried and are not tried again in this cycle (R22)."""
        if ids:
            connection.execute(
                seen_postings.update()
                .where(
                    seen_postings.c.cycle_id == cycle_id,
                    seen_postings.c.source_job_id.in_(sorted(ids)),
                )
                .values(detail_tried=1)
            )

    def known(
        self, connection: Connection, cycle_id: int, job_source_id: int, ids: Sequence[str]
    ) -> dict[str, KnownPosting]:
        """What is stored of these ids, and whether this cycle sighted them (R22a)."""
        wanted = sorted(set(ids))
        rows = connection.exec_driver_sql(
            f"{_KNOWN} ({placeholders(len(wanted))})", (cycle_id, job_source_id, *wanted)
        )
        return {
            job_id: KnownPosting(
                signature=signature,
                detail_state=_DETAIL_STATES[detail_state],
                seen_in_cycle=detail_tried is not None,
                detail_tried=bool(detail_tried),
                body_trimmed=trimmed_at is not None,
                unparsed=tuple(unparsed.split()) if unparsed else (),
            )
            for job_id, signature, detail_state, trimmed_at, unparsed, detail_tried in rows
        }

    def waiting_details(
        self, connection: Connection, cycle_id: int, job_source_id: int, limit: int
    ) -> list[DetailTarget]:
        """Sighted postings whose detail waits and was not tried in this cycle, newest first."""
        rows = connection.execute(
            select(seen_postings.c.source_job_id, seen_postings.c.list_position)
            .join(
                job_postings,
                (job_postings.c.job_source_id == job_source_id)
                & (job_postings.c.source_job_id == seen_postings.c.source_job_id),
            )
            .where(
                seen_postings.c.cycle_id == cycle_id,
                seen_postings.c.detail_tried == 0,
                job_postings.c.detail_state == DetailState.PENDING.value,
            )
            .order_by(seen_postings.c.list_position, seen_postings.c.source_job_id)
            .limit(limit)
        )
        return [DetailTarget(row.source_job_id, row.list_position) for row in rows]

    def delete_of_cycle(self, connection: Connection, cycle_id: int) -> None:
        """All seen rows of a cycle that ends (R30)."""
        connection.execute(delete(seen_postings).where(seen_postings.c.cycle_id == cycle_id))

    def residual_cycles(
        self, connection: Connection, ended_before: datetime, today: date
    ) -> list[int]:
        """Cycles whose seen rows the cleanup removes (R31), never a RUNNING one."""
        holders = select(seen_postings.c.cycle_id).distinct().subquery()
        rows = connection.execute(
            select(cycles.c.id)
            .join(holders, holders.c.cycle_id == cycles.c.id)
            .where(
                or_(
                    cycles.c.cycle_status.in_(sorted(TERMINAL_STATUSES))
                    & (cycles.c.finished_at < ended_before),
                    cycles.c.cycle_status.in_(
                        [CycleStatus.NOT_STARTED.value, CycleStatus.PENDING.value]
                    )
                    & (cycles.c.run_date < today),
                )
            )
            .order_by(cycles.c.id)
        )
        return list(rows.scalars())

    def delete_chunk(self, connection: Connection, cycle_id: int, rows: int) -> int:
        """At most ``rows`` rows of one cycle, in key order; returns how many were deleted."""
        return connection.execute(_DELETE_CHUNK, {"cycle_id": cycle_id, "rows": rows}).rowcount

    def count_of_cycles(self, connection: Connection, cycle_ids: Sequence[int]) -> int:
        """How many seen rows these cycles still have."""
        if not cycle_ids:
            return 0
        statement = select(func.count()).where(seen_postings.c.cycle_id.in_(cycle_ids))
        return connection.execute(statement).scalar_one()

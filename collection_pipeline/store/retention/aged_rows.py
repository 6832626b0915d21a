"""Rows that only their age makes useless are deleted, the oldest first (section 7).

Nothing decides by them any more: an unknown COMMIT is decided by a slice's row within minutes
(R19a), the checks look back a day, the budget report 366 days, a missed morning is explained by
the ticks and attempts of its own day.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Column, Connection, Table, select

from collection_pipeline.store.retention.chunks import NOTHING_FOUND, Chunk, delete_by_key
from collection_pipeline.store.schema.cycles import platform_key_quotas, slices
from collection_pipeline.store.schema.operations import collection_ticks, sla_capture_attempts
from collection_pipeline.store.schema.postings import platform_drift_counts


@dataclass(frozen=True)
class AgedRows:
    """A table whose rows go by ``age``, a UTC instant or a run date, read through ``index``."""

    table: Table
    age: "Column[Any]"
    index: str

    def delete_chunk(
        self,
        connection: Connection,
        before: date | datetime,
        since: date | datetime | None,
        rows: int,
    ) -> Chunk:
        """At most ``rows`` rows that are older than ``before``, of ``since`` and later."""
        oldest = (
            select(self.age, *self.table.primary_key.columns)
            .with_hint(self.table, f"FORCE INDEX ({self.index})")
            .where(self.age < before)
            .order_by(self.age)
            .limit(rows)
        )
        if since is not None:
            oldest = oldest.where(self.age >= since)
        found = connection.execute(oldest).all()
        if not found:
            return NOTHING_FOUND
        deleted = delete_by_key(connection, self.table, [row[1:] for row in found])
        return Chunk(len(found), deleted, found[-1][0])


OLD_SLICES = AgedRows(slices, slices.c.created_at, "ix_collection_slices_created_at")
OLD_TICKS = AgedRows(
    collection_ticks, collection_ticks.c.started_at, "ix_collection_ticks_started_at"
)
OLD_CAPTURE_ATTEMPTS = AgedRows(
    sla_capture_attempts,
    sla_capture_attempts.c.snapshot_date,
    "ix_sla_capture_attempts_snapshot_date",
)
OLD_DRIFT_COUNTS = AgedRows(
    platform_drift_counts, platform_drift_counts.c.run_date, "ix_platform_drift_counts_run_date"
)
OLD_KEY_QUOTAS = AgedRows(
    platform_key_quotas, platform_key_quotas.c.quota_date, "ix_platform_key_quotas_quota_date"
)

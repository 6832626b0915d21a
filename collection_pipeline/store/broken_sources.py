"""Sources whose health says broken and of which nobody has been told yet (R33).

``broken_notified_since`` is the ``broken_since`` that was told: a source is told once, and again
only when it has recovered and broken anew.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, or_, select
from sqlalchemy.sql.elements import ColumnElement

from collection_pipeline.store.schema.sources import job_source_health as health
from collection_pipeline.store.schema.sources import job_sources

MOST_AT_ONCE = 10_000


@dataclass(frozen=True)
class BrokenSource:
    """A source with its count of abnormal days in a row; ``label`` is as the operator wrote it."""

    job_source_id: int
    label: str
    platform: str | None
    broken_since: date
    abnormal_days: int


class BrokenSources:
    """Reads and marks ``job_source_health`` on a connection of the caller's transaction."""

    def any_untold(self, connection: Connection) -> bool:
        """Whether somebody is to be told, by a plain read."""
        statement = select(health.c.job_source_id).where(_untold()).limit(1)
        return connection.execute(statement).first() is not None

    def lock_untold(self, connection: Connection) -> list[BrokenSource]:
        """Untold sources by id, locked, so that no other process tells them meanwhile.

        Found by a plain read and locked by key: a locking scan would wait for every slice that is
        just being stored.
        """
        found = connection.execute(
            select(health.c.job_source_id)
            .where(_untold())
            .order_by(health.c.job_source_id)
            .limit(MOST_AT_ONCE)
        ).scalars()
        ids = found.all()
        if not ids:
            return []
        locked = connection.execute(
            select(health)
            .where(health.c.job_source_id.in_(ids), _untold())
            .order_by(health.c.job_source_id)
            .with_for_update()
        ).all()
        named = {
            row.id: row
            for row in connection.execute(
                select(job_sources.c.id, job_sources.c.label, job_sources.c.platform).where(
                    job_sources.c.id.in_(ids)
                )
            )
        }
        return [
            BrokenSource(
                row.job_source_id,
                source.label if (source := named.get(row.job_source_id)) else "",
                source.platform if source else None,
                row.broken_since,
                row.abnormal_days,
            )
            for row in locked
        ]

    def mark_told(self, connection: Connection, ids: Collection[int]) -> None:
        """These were told, in the transaction that makes the message."""
        connection.execute(
            health.update()
            .where(health.c.job_source_id.in_(sorted(ids)))
            .values(broken_notified_since=health.c.broken_since)
        )


def _untold() -> ColumnElement[bool]:
    return health.c.broken_since.is_not(None) & or_(
        health.c.broken_notified_since.is_(None),
        health.c.broken_notified_since < health.c.broken_since,
    )

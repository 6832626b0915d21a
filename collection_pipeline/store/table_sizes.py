"""How large the tables are now, and the figures of earlier days that growth is told from.

The sizes are the server's own estimates: pages of data and indexes, without free ones. One figure a
day is kept, for ``DAYS_KEPT`` days, so the table itself does not grow.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, func, select, text
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.store.schema.operations import table_sizes

DAYS_KEPT = 90
COMPARED_DAYS = 7
_SIZES = text(
    "SELECT table_name, data_length + index_length FROM information_schema.tables "
    "WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
)


@dataclass(frozen=True)
class KeptSizes:
    """Bytes by table, as they were on ``day``."""

    day: date
    sizes: dict[str, int]


def sizes_now(connection: Connection) -> dict[str, int]:
    """Bytes by table, asked of the storage engine itself."""
    if "MariaDB" not in str(connection.execute(text("SELECT VERSION()")).scalar_one()):
        # MySQL otherwise answers from a cache that is up to a day old.
        connection.execute(text("SET SESSION information_schema_stats_expiry = 0"))
    return {str(name): int(size or 0) for name, size in connection.execute(_SIZES)}


def keep_sizes(connection: Connection, day: date) -> bool:
    """Keep today's figures where none are kept yet, and drop the oldest; whether it kept any."""
    kept = select(table_sizes.c.table_name).where(table_sizes.c.measured_date == day).limit(1)
    if connection.execute(kept).first() is not None:
        return False
    rows = [
        {"measured_date": day, "table_name": name, "data_bytes": size}
        for name, size in sizes_now(connection).items()
    ]
    adding = insert(table_sizes).values(rows)
    # Two runs of one moment: the second figure is as good as the first.
    connection.execute(adding.on_duplicate_key_update(data_bytes=adding.inserted.data_bytes))
    connection.execute(
        table_sizes.delete().where(table_sizes.c.measured_date < day - timedelta(days=DAYS_KEPT))
    )
    return True


def earlier_sizes(connection: Connection, today: date) -> KeptSizes | None:
    """The newest figures that are ``COMPARED_DAYS`` old, else the oldest there are before today."""
    day_of = table_sizes.c.measured_date
    week_ago = select(func.max(day_of)).where(day_of <= today - timedelta(days=COMPARED_DAYS))
    oldest = select(func.min(day_of)).where(day_of < today)
    day: date | None = (
        connection.execute(week_ago).scalar_one() or connection.execute(oldest).scalar_one()
    )
    if day is None:
        return None
    found = connection.execute(
        select(table_sizes.c.table_name, table_sizes.c.data_bytes).where(day_of == day)
    )
    return KeptSizes(day, {name: size for name, size in found})

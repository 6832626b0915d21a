"""The heartbeats that Dagster's daemon leaves in its own database, read by SQL.

Nothing here imports Dagster: its table ``daemon_heartbeats`` holds one row a daemon, whose
``timestamp`` is UTC as the writer's session understood it, so it is read in a session of the same,
unchanged time zone.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from collection_pipeline.store.transaction import mysql_error_code

NEEDED_DAEMONS = ("QUEUED_RUN_COORDINATOR", "SCHEDULER", "SENSOR")
"""Without the first no queued run starts; without the others nothing starts by itself."""
NO_SUCH_TABLE = 1146
_AGES = text(
    "SELECT daemon_type, TIMESTAMPDIFF(MICROSECOND, timestamp, UTC_TIMESTAMP(6)) / 1000000 "
    "FROM daemon_heartbeats"
)


@dataclass(frozen=True)
class DaemonAges:
    """Seconds since each needed daemon's last heartbeat; ``None`` for one that never had any."""

    seconds: dict[str, float | None]

    @property
    def oldest(self) -> float | None:
        """The age of the daemon that has been silent for longest; ``None`` where one never ran."""
        ages = [age for age in self.seconds.values() if age is not None]
        return max(ages) if len(ages) == len(self.seconds) else None

    @property
    def never_seen(self) -> list[str]:
        """Daemons without a heartbeat."""
        return [name for name, age in self.seconds.items() if age is None]


def daemon_ages(connection: Connection) -> DaemonAges:
    """The ages now, from a connection to Dagster's database."""
    # Back to the server's own zone, in which Dagster's sessions write and read the column.
    connection.execute(text("SET SESSION time_zone = DEFAULT"))
    try:
        found = {row[0]: float(row[1]) for row in connection.execute(_AGES)}
    except DBAPIError as error:
        if mysql_error_code(error) != NO_SUCH_TABLE:
            raise
        found = {}
    return DaemonAges({name: found.get(name) for name in NEEDED_DAEMONS})

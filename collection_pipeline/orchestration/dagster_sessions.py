"""How long Dagster's sessions wait for a silent server, and the server for a silent host.

Invariant: no host that is cut off holds up the others. What it locked is free again after
``IDLE_SECONDS``, where MySQL's own ``wait_timeout`` is eight hours; and no call of it waits for
ever, since dagster-mysql sets no limits and PyMySQL then has none.
"""

from dagster_mysql import MySQLEventLogStorage, MySQLRunStorage, MySQLScheduleStorage
from sqlalchemy.engine import URL

IDLE_SECONDS = 120
RECYCLE_SECONDS = 60
"""The webserver pools its sessions; none may be older, or the server has ended it by then."""
SOCKET_SECONDS = {"connect_timeout": "10", "read_timeout": "30", "write_timeout": "30"}
"""For what the URL itself does not say."""


def bounded_url(url: URL) -> URL:
    """``url`` with every limit; one that it names stays as it is."""
    limits = {**SOCKET_SECONDS, "init_command": f"SET SESSION wait_timeout = {IDLE_SECONDS}"}
    missing = {name: value for name, value in limits.items() if name not in url.query}
    return url.update_query_dict(missing)


class _Recycled:
    """Before a storage of dagster-mysql: pooled sessions end before the server ends them."""

    def optimize_for_webserver(
        self, statement_timeout: int, pool_recycle: int, max_overflow: int
    ) -> None:
        """Called by Dagster's webserver."""
        super().optimize_for_webserver(  # type: ignore[misc]  # the storage behind has it
            statement_timeout, min(pool_recycle, RECYCLE_SECONDS), max_overflow
        )


class RecycledRunStorage(_Recycled, MySQLRunStorage):
    """Runs, with short-lived pooled sessions."""


class RecycledScheduleStorage(_Recycled, MySQLScheduleStorage):
    """Schedules and sensors, with short-lived pooled sessions."""


class RecycledEventLogStorage(_Recycled, MySQLEventLogStorage):
    """Events, with short-lived pooled sessions."""

"""The one clock of the project: the database's, with the simulated offset (R15).

``UTC_TIMESTAMP(6)`` is the start of its statement, so it is read in a statement of its own, after
the locks, and passed on as a parameter. Never ``SYSDATE()``: it ignores ``SET timestamp``.
"""

from datetime import date, datetime, timedelta
from typing import cast

from sqlalchemy import Connection, select
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.store.schema.operations import simulation_clock

_NOW = "SELECT UTC_TIMESTAMP(6), (SELECT offset_microseconds FROM simulation_clock WHERE id = 1)"
_OFFSET = select(simulation_clock.c.offset_microseconds).where(simulation_clock.c.id == 1)
_EPOCH = datetime(1970, 1, 1)


class ClockCannotGoBack(ValueError):
    """The simulated clock only moves forward: leases and due times rely on it."""


class DatabaseClock:
    """Reads now and the KST day from the database; moves the simulated offset forward."""

    def now(self, connection: Connection) -> datetime:
        """Naive UTC with microseconds, the simulated offset added."""
        row = connection.exec_driver_sql(_NOW).one()
        now = cast(datetime, row[0])
        return now + timedelta(microseconds=row[1]) if row[1] else now

    def offset(self, connection: Connection) -> timedelta:
        """What a reading of the server's own clock lacks; zero where time is real."""
        microseconds = connection.execute(
            select(simulation_clock.c.offset_microseconds).where(simulation_clock.c.id == 1)
        ).scalar_one_or_none()
        return timedelta(microseconds=microseconds or 0)

    def today(self, connection: Connection) -> date:
        """The KST calendar day."""
        return run_date_of(self.now(connection))

    def is_simulated(self, connection: Connection) -> bool:
        """Whether an offset is in force, so that now is not the server's own time."""
        return bool(connection.execute(_OFFSET).scalar_one_or_none())

    def move_to(self, connection: Connection, target: datetime) -> datetime:
        """Make now be ``target`` (naive UTC); ``ClockCannotGoBack`` for an earlier moment."""
        # Made first where it is missing, so that two first moves wait for each other.
        adding = insert(simulation_clock).values(id=1, offset_microseconds=0, changed_at=_EPOCH)
        connection.execute(adding.on_duplicate_key_update(id=simulation_clock.c.id))
        offset = connection.execute(
            select(simulation_clock.c.offset_microseconds)
            .where(simulation_clock.c.id == 1)
            .with_for_update()
        ).scalar_one()
        current = self.now(connection)
        if target < current:
            raise ClockCannotGoBack(
                f"the clock is at {current.isoformat()}Z and only moves forward; "
                f"{target.isoformat()}Z lies before it"
            )
        offset += round((target - current) / timedelta(microseconds=1))
        connection.execute(
            simulation_clock.update().values(offset_microseconds=offset, changed_at=current)
        )
        return target

"""Feature flags: in MySQL, off by default, with who changed them and when (R44)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.schema.sources import feature_flag_changes, feature_flags

LIBRARY_SCHEDULE_FLAG = "library.ingest-schedule"
KNOWN_FLAGS = (DISPATCH_FLAG, AGGREGATOR_FLAG, LIBRARY_SCHEDULE_FLAG)


class UnknownFlag(ValueError):
    """No such flag; the message lists the known ones."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no flag is called {name!r}; the flags are {', '.join(KNOWN_FLAGS)}")


@dataclass(frozen=True)
class FeatureFlag:
    """``changed_by`` and ``changed_at`` (naive UTC) are ``None`` for a flag never touched."""

    name: str
    enabled: bool
    changed_by: str | None = None
    changed_at: datetime | None = None


class FeatureFlags:
    """Reads and writes flags on a connection of the caller's transaction."""

    def all(self, connection: Connection) -> list[FeatureFlag]:
        """Every known flag, in a fixed order."""
        rows = {row.name: row for row in connection.execute(select(feature_flags))}
        return [
            FeatureFlag(
                name, bool(rows[name].enabled), rows[name].changed_by, rows[name].changed_at
            )
            if name in rows
            else FeatureFlag(name, enabled=False)
            for name in KNOWN_FLAGS
        ]

    def is_on(self, connection: Connection, name: str) -> bool:
        """Whether ``name`` is switched on, read in the transaction that acts on it."""
        statement = select(feature_flags.c.enabled).where(feature_flags.c.name == name)
        return bool(connection.execute(statement).scalar_one_or_none())

    def set(
        self, connection: Connection, name: str, *, enabled: bool, by: str, now: datetime
    ) -> None:
        """Switch ``name`` and record who did it; raises ``UnknownFlag``."""
        if name not in KNOWN_FLAGS:
            raise UnknownFlag(name)
        values = {"enabled": int(enabled), "changed_by": by, "changed_at": now}
        existing = connection.execute(
            select(feature_flags.c.name).where(feature_flags.c.name == name).with_for_update()
        ).one_or_none()
        if existing is None:
            connection.execute(feature_flags.insert().values(name=name, **values))
        else:
            connection.execute(
                feature_flags.update().where(feature_flags.c.name == name).values(**values)
            )
        connection.execute(feature_flag_changes.insert().values(name=name, **values))

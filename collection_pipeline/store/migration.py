"""Bringing a database to this release's schema, and telling whether it is there (R34).

Older releases keep working on a newer schema: revisions only expand, so a database that is *ahead*
of this release is fine, one that is behind is not. Processes that start together migrate one after
the other, under a session lock named by the schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

VERSION_TABLE = "collection_schema_version"
MIGRATION_WAIT_SECONDS = 25
"""Below the client's read time-out, so that the answer is the server's."""
_SCRIPTS = Path(__file__).parent / "migrations"
_LOCK_NAME = "CONCAT('collection-migration-', LEFT(SHA2(DATABASE(), 256), 16))"


class SchemaBehind(Exception):
    """The database has not all revisions of this release; ``collection-pipeline db migrate``."""

    def __init__(self, current: str | None, expected: str) -> None:
        super().__init__(
            f"the database schema is at revision {current or 'none'}, this release needs "
            f"{expected}: run 'collection-pipeline db migrate'"
        )


class MigrationBusy(Exception):
    """Another process has been migrating this database for longer than this one could wait."""


@dataclass(frozen=True)
class SchemaState:
    """``current`` is what the database says, ``expected`` the newest revision of this release."""

    current: str | None
    expected: str
    known: bool

    @property
    def is_current(self) -> bool:
        """At this release's revision, or at one of a newer release."""
        return self.current == self.expected or (self.current is not None and not self.known)


def migrate(engine: Engine) -> SchemaState:
    """Apply every missing revision; running it again changes nothing.

    Raises ``MigrationBusy`` when another process does not finish in time.
    """
    with engine.connect() as connection:
        if schema_state(connection).is_current:
            return schema_state(connection)
        # A read keeps its tables' metadata locks, for which the holder's DDL would wait.
        connection.rollback()
        with _alone(connection):
            if not schema_state(connection).is_current:
                command.upgrade(_config(connection), "head")
                connection.commit()
            return schema_state(connection)


def require_current_schema(connection: Connection) -> None:
    """Raise ``SchemaBehind`` where this release cannot work."""
    state = schema_state(connection)
    if not state.is_current:
        raise SchemaBehind(state.current, state.expected)


def schema_state(connection: Connection) -> SchemaState:
    """Where the database stands, by its own version table."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    current = context.get_current_revision()
    newest, revisions = known_revisions()
    return SchemaState(current, newest, current in revisions)


@cache
def known_revisions() -> tuple[str, frozenset[str]]:
    """This release's newest revision, and all of them; read from its files once a process."""
    scripts = ScriptDirectory(str(_SCRIPTS))
    revisions = frozenset(script.revision for script in scripts.walk_revisions())
    return scripts.get_current_head() or "", revisions


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Hold the migration's lock; it would outlive the connection's return to the pool."""
    asked = text(f"SELECT GET_LOCK({_LOCK_NAME}, {MIGRATION_WAIT_SECONDS})")
    if connection.execute(asked).scalar_one() != 1:
        raise MigrationBusy("another process is migrating this database")
    try:
        yield
    except BaseException:
        connection.invalidate()
        raise
    connection.execute(text(f"SELECT RELEASE_LOCK({_LOCK_NAME})"))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    return config

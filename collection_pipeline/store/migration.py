"""Bringing a database to this release's schema, and telling whether it is there (R34).

Older releases keep working on a newer schema: revisions only expand, so a database that is *ahead*
of this release is fine, one that is behind is not.
"""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

VERSION_TABLE = "collection_schema_version"
_SCRIPTS = Path(__file__).parent / "migrations"


class SchemaBehind(Exception):
    """The database has not all revisions of this release; ``collection-pipeline db migrate``."""

    def __init__(self, current: str | None, expected: str) -> None:
        super().__init__(
            f"the database schema is at revision {current or 'none'}, this release needs "
            f"{expected}: run 'collection-pipeline db migrate'"
        )


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
    """Apply every missing revision; running it again changes nothing."""
    with engine.connect() as connection:
        state = schema_state(connection)
        if not state.is_current:
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
    scripts = ScriptDirectory(str(_SCRIPTS))
    current = context.get_current_revision()
    revisions = {script.revision for script in scripts.walk_revisions()}
    return SchemaState(current, scripts.get_current_head() or "", current in revisions)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    return config

"""Bringing a database to this release's schema, on the server of the run (R34)."""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, Engine, Integer, event, text

from collection_pipeline.store import migration
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import (
    VERSION_TABLE,
    SchemaBehind,
    migrate,
    require_current_schema,
    schema_state,
)
from collection_pipeline.store.migrations.expanding import add_column
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS, rivals

FOLDER = Path(migration.__file__).parent / "migrations"
REVISIONS = [script.revision for script in ScriptDirectory(str(FOLDER)).walk_revisions()][::-1]
EXPANDING = {"create_table", "create_index", "add_column"}
COLUMN_FIELDS, INDEX_FIELDS = 7, 5
"""How many fields ``described`` tells of a column and of an index."""


@pytest.fixture
def engine(database_url: str) -> Any:
    """An engine on an empty database."""
    made = open_engine(database_url)
    yield made
    made.dispose()


def upgrade_to(engine: Engine, revision: str) -> None:
    """Brings the database to one revision, as an older release would have."""
    with engine.connect() as connection:
        command.upgrade(migration._config(connection), revision)
        connection.commit()


def described(engine: Engine) -> list[tuple[Any, ...]]:
    """Every column, index and table option, as the server describes them."""
    columns = text(
        "SELECT table_name, column_name, column_type, is_nullable, column_default, extra, "
        "collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
        "ORDER BY table_name, ordinal_position"
    )
    indexes = text(
        "SELECT table_name, index_name, non_unique, seq_in_index, column_name "
        "FROM information_schema.statistics WHERE table_schema = DATABASE() "
        "ORDER BY table_name, index_name, seq_in_index"
    )
    options = text(
        "SELECT table_name, engine, row_format, table_collation FROM information_schema.tables "
        "WHERE table_schema = DATABASE() ORDER BY table_name"
    )
    with engine.connect() as connection:
        return [
            tuple(row) for asked in (columns, indexes, options) for row in connection.execute(asked)
        ]


def allows_older_writes(row: tuple[Any, ...]) -> bool:
    """Whether a described column or index lets those write who do not know it."""
    if len(row) == COLUMN_FIELDS:
        _, _, _, is_nullable, default, *_ = row
        return is_nullable == "YES" or default is not None
    return len(row) == INDEX_FIELDS and row[2] == 1


def test_an_empty_database_gets_every_table(engine: Engine) -> None:
    """R34: the revisions alone bring the database to this release."""
    state = migrate(engine)
    assert (state.current, state.is_current) == (REVISIONS[-1], True)
    tables = {row[0] for row in described(engine)}
    assert tables == {*metadata.tables, VERSION_TABLE}


def test_the_revisions_make_exactly_the_tables_that_the_code_describes(engine: Engine) -> None:
    """R34: no difference between metadata and database, on either server.

    Compared are tables, columns, nullability, types and indexes. The server's own spelling of
    defaults is left out here (MariaDB quotes numbers); the next test compares them.
    """
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, metadata) == []


def test_tables_made_from_the_code_are_described_alike(
    engine: Engine, database_server: Any
) -> None:
    """R34: defaults, collations, engines and row formats too, compared on the same server."""
    migrate(engine)
    migrated = described(engine)
    with engine.connect() as connection:
        for name in [*metadata.tables, VERSION_TABLE]:
            connection.execute(text(f"DROP TABLE {name}"))
    metadata.create_all(engine)
    assert described(engine) == [row for row in migrated if row[0] != VERSION_TABLE]


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_upgrade_from_any_revision_ends_at_the_same_schema(
    engine: Engine, migrated_url: str, revision: str
) -> None:
    """R34: an older release's database becomes the newest one, whatever its revision."""
    upgrade_to(engine, revision)
    migrate(engine)
    newest = open_engine(migrated_url)
    assert described(engine) == described(newest)
    newest.dispose()


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    """R34: the second run is a plain read."""
    migrate(engine)
    before = described(engine)
    rows = migrate(engine)
    assert (described(engine), rows.current) == (before, REVISIONS[-1])


def test_rows_survive_an_upgrade_unchanged(engine: Engine) -> None:
    """R34: no data backfill."""
    upgrade_to(engine, REVISIONS[0])
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO companies (normalised_name, display_name, created_at) "
                "VALUES ('a', 'A', '2026-01-01')"
            )
        )
        before = connection.execute(text("SELECT * FROM companies")).all()
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT * FROM companies")).all() == before


def test_each_revision_leaves_what_was_there_and_asks_nothing_of_it(engine: Engine) -> None:
    """R34: judged by the server, whatever the revision's code looks like.

    Columns, indexes and options of before stay as they were. What comes to a table that was there
    lets an older release write as before: columns are nullable or have a default, no index is
    unique.
    """
    upgrade_to(engine, REVISIONS[0])
    before = described(engine)
    for revision in REVISIONS[1:]:
        upgrade_to(engine, revision)
        after = described(engine)
        assert set(before) <= set(after), f"{revision} changed {set(before) - set(after)}"
        tables = {row[0] for row in before}
        added = [row for row in after if row not in before and row[0] in tables]
        assert [row for row in added if not allows_older_writes(row)] == [], revision
        before = after


def test_a_column_that_an_older_release_could_not_fill_is_refused() -> None:
    """R34: before any statement is sent."""
    with pytest.raises(ValueError, match="an older release could not insert"):
        add_column("job_sources", Column("region", Integer, nullable=False))


def test_two_processes_may_migrate_at_once(engine: Engine) -> None:
    """Several instances start together: one migrates, the other finds it done."""
    with rivals() as start:
        both = [start(lambda: migrate(engine)) for _ in range(2)]
        states = [one.result(PATIENCE_SECONDS) for one in both]
    assert [state.current for state in states] == [REVISIONS[-1]] * 2


@pytest.mark.parametrize("path", sorted(FOLDER.glob("versions/r*.py")), ids=lambda path: path.stem)
def test_a_revision_only_expands(path: Path) -> None:
    """R34: no drop, alter, delete, rename or SQL text in any revision.

    Every operation is one of ``migrations.expanding``; of alembic's own only names are made.
    """
    tree = ast.parse(path.read_text())
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    by_name = {call.id for call in calls if isinstance(call, ast.Name)}
    of_alembic = {
        call.attr
        for call in calls
        if isinstance(call, ast.Attribute) and ast.unparse(call.value).startswith("op")
    }
    module = importlib.import_module(f"collection_pipeline.store.migrations.versions.{path.stem}")
    assert by_name and by_name <= EXPANDING
    assert of_alembic <= {"f"}
    assert not hasattr(module, "downgrade")


def test_a_database_of_a_newer_release_is_accepted(engine: Engine) -> None:
    """R34: an older release keeps working on the newer schema, and migrates nothing."""
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    assert migrate(engine).current == "9999"
    with engine.connect() as connection:
        require_current_schema(connection)


@pytest.mark.parametrize("revision", [None, *REVISIONS[:-1]])
def test_a_database_behind_is_refused_in_a_sentence(engine: Engine, revision: str | None) -> None:
    """R34: the sentence says where it stands, what is needed and what to run."""
    if revision:
        upgrade_to(engine, revision)
    with engine.connect() as connection, pytest.raises(SchemaBehind) as refused:
        require_current_schema(connection)
    sentence = str(refused.value)
    assert f"revision {revision or 'none'}" in sentence
    assert REVISIONS[-1] in sentence
    assert "collection-pipeline db migrate" in sentence


def test_asking_for_the_schema_changes_nothing(engine: Engine) -> None:
    """`check` may be run against any database: it makes no table."""
    with engine.connect() as connection:
        assert schema_state(connection).current is None
    assert described(engine) == []


def test_a_migration_that_was_cut_off_is_finished_by_the_next(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R34: DDL commits by itself; who is killed between two tables must not block the next."""
    made = 0

    def cut_off(connection: Connection, _c: Any, statement: str, *_rest: Any) -> None:
        nonlocal made
        made += statement.lstrip().startswith(("CREATE TABLE", "CREATE INDEX"))
        if made == 5:
            raise KeyboardInterrupt

    event.listen(engine, "before_cursor_execute", cut_off)
    with pytest.raises(KeyboardInterrupt):
        migrate(engine)
    event.remove(engine, "before_cursor_execute", cut_off)
    assert migrate(engine).is_current


def test_a_store_on_the_migrated_database_works(
    store: Store, open_store: Callable[..., Store]
) -> None:
    """The fixture of all store tests is the product of the revisions, not of the metadata."""
    assert store.run(lambda connection: schema_state(connection).is_current)

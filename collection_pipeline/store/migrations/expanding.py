"""The only operations that a revision may use: they add, and may be run again (R34).

MySQL commits each DDL statement by itself, so a process that is killed inside a revision leaves
part of it behind; the next run makes what is missing.
"""

from collections.abc import Sequence
from typing import Any

from alembic import op
from sqlalchemy import Column, inspect
from sqlalchemy.schema import SchemaItem


def create_table(name: str, *items: SchemaItem, **options: Any) -> None:
    """A new table; one that is there is left as it is."""
    op.create_table(name, *items, if_not_exists=True, **options)


def create_index(name: str, table: str, columns: Sequence[str], *, unique: bool) -> None:
    """A new index; MySQL has no ``IF NOT EXISTS`` for it, so the table is asked."""
    if name not in {index["name"] for index in inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns, unique=unique)


def add_column(table: str, column: "Column[Any]") -> None:
    """A new column that may be null or has a default, so that an older release goes on."""
    if not (column.nullable or column.server_default is not None):
        raise ValueError(f"{table}.{column.name}: an older release could not insert any more")
    if column.name not in {one["name"] for one in inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, column)

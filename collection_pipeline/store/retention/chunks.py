"""A chunk: few rows, found by a plain read and changed by their primary key.

Invariant: only the rows of the chunk are locked, also in a table of three rows, which the server
would rather walk, waiting for the locks of writers on its way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, Table, bindparam, text


@dataclass(frozen=True)
class Chunk:
    """``found`` rows were due, ``changed`` of them are done; ``reached`` is the age of the last.

    The next chunk begins there, so that it does not walk over what this one has left to purge.
    """

    found: int
    changed: int
    reached: date | datetime | None


NOTHING_FOUND = Chunk(0, 0, None)


def delete_by_key(connection: Connection, table: Table, keys: Sequence[Sequence[object]]) -> int:
    """Delete the rows with these primary keys, in their order; returns how many there were."""
    if not keys:
        return 0
    names = [column.name for column in table.primary_key]
    is_one = len(names) == 1
    wanted: list[object] = sorted(key[0] if is_one else tuple(key) for key in keys)  # type: ignore[type-var]  # keys of one table compare with each other
    columns = names[0] if is_one else f"({', '.join(names)})"
    statement = text(
        f"DELETE {table.name} FROM {table.name} FORCE INDEX (PRIMARY) WHERE {columns} IN :keys"
    ).bindparams(bindparam("keys", expanding=True))
    return connection.execute(statement, {"keys": wanted}).rowcount

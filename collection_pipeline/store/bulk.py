"""Statements over many rows, each one text with its parameters: one round trip a page.

Both drivers write one parameter after the other into the text, which is most of what a row costs
the worker. So values that all rows share are written into the text once a row as literals, and
columns that no row fills are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

Literal = int | date | datetime
Row = Sequence[object]

STATEMENT_CHARS = 250_000
"""Of texts in one statement, unless a single row has more: servers accept 16 MB by default, and a
character may take four bytes, doubled where all of it must be escaped."""


def placeholders(count: int) -> str:
    """``%s, %s`` for an ``IN`` list of ``count`` parameters."""
    return ", ".join(["%s"] * count)


def literal(value: Literal) -> str:
    """A number or a moment as it stands in SQL; texts are parameters, never literals."""
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, datetime):
        return f"'{value.isoformat(sep=' ', timespec='microseconds')}'"
    return f"'{value.isoformat()}'"


def filled_columns(columns: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """Places of the columns that at least one row fills."""
    return [place for place in range(len(columns)) if any(row[place] is not None for row in rows)]


def insert_of(
    table: str,
    shared: Mapping[str, Literal],
    columns: Sequence[str],
    rows: Sequence[Row],
) -> tuple[str, list[object]]:
    """``INSERT INTO ... VALUES ...`` of all rows, and its parameters.

    ``shared`` are columns with the same value in each row; ``rows`` hold ``columns`` in order.
    Names are the schema's own, never data.
    """
    one = ", ".join([literal(value) for value in shared.values()] + ["%s"] * len(columns))
    names = ", ".join([*shared, *columns])
    values = ", ".join([f"({one})"] * len(rows))
    parameters = [value for row in rows for value in row]
    return f"INSERT INTO {table} ({names}) VALUES {values}", parameters  # noqa: S608 - own names


def in_statements(rows: Sequence[Row], chars: int = STATEMENT_CHARS) -> Iterator[Sequence[Row]]:
    """The rows in order, cut so that the texts of one statement stay below ``chars``."""
    begin = length = 0
    for place, row in enumerate(rows):
        size = sum(len(value) for value in row if isinstance(value, str))
        if place > begin and length + size > chars:
            yield rows[begin:place]
            begin, length = place, 0
        length += size
    if begin < len(rows):
        yield rows[begin:]

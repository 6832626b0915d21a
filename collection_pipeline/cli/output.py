"""How commands print: JSON in snake_case with UTC times, or a plain table (spec section 3)."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from collection_pipeline.domain.kst import utc_text

PIPE_COLUMNS = 200


def print_json(data: object) -> None:
    """One JSON document; instants as ISO 8601 with ``Z``."""
    print(as_json_text(data))


def as_json_text(data: object) -> str:
    """The line that ``print_json`` prints."""
    return json.dumps(data, ensure_ascii=False, default=_plain)


def print_rows(rows: Sequence[Mapping[str, object]], *, as_json: bool, empty: str) -> None:
    """Rows as a JSON list, or as a table; ``empty`` is said where there is none."""
    if as_json:
        print_json([dict(row) for row in rows])
    elif not rows:
        print(empty)
    else:
        _print_table(rows)


def _print_table(rows: Sequence[Mapping[str, object]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    wide_console().print(table)


def wide_console() -> Console:
    """The terminal at its own width; a file or pipe gets lines long enough for a table."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_COLUMNS)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return utc_text(value.replace(microsecond=0)) or ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")

"""A statement written out once and sent many times: composing it costs more than most reads do."""

from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

Parameters = dict[str, Any] | tuple[Any, ...]


class PreparedStatement:
    """``statement`` with the parameters that it was composed with; for one dialect."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._written: tuple[str, Parameters] | None = None

    def execute(self, connection: Connection) -> "CursorResult[Any]":
        """Its rows, as the driver gives them."""
        if self._written is None:
            self._written = _written(self._statement, connection.dialect)
        return connection.exec_driver_sql(*self._written)


def _written(statement: ClauseElement, dialect: Dialect) -> tuple[str, Parameters]:
    written = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    if not isinstance(written, SQLCompiler):
        raise TypeError("only a statement of rows can be prepared")
    values, names = written.params, written.positiontup
    # PyMySQL takes parameters by name, mysqlclient by place.
    return str(written), values if names is None else tuple(values[name] for name in names)

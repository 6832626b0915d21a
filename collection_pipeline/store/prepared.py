"""A statement written out once and sent many times: composing it costs more than most reads do."""

from typing import Any

from sqlalchemy import Connection, CursorResult, Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement


class PreparedStatement:
    """The driver's text of ``statement`` with the parameters that it was composed with."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        written = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
        if not isinstance(written, SQLCompiler):
            raise TypeError("only a statement of rows can be prepared")
        values = written.params
        names = written.positiontup
        self._text = str(written)
        # PyMySQL takes parameters by name, mysqlclient by place.
        self._parameters = values if names is None else tuple(values[name] for name in names)

    def execute(self, connection: Connection) -> "CursorResult[Any]":
        """Its rows, as the driver gives them."""
        return connection.exec_driver_sql(self._text, self._parameters)

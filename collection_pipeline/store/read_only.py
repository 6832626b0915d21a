"""Connections that can only read, and whose every answer is one consistent moment.

The server itself refuses a write (``READ ONLY`` transactions) and ends a statement that runs too
long, so that nothing that looks on can hold up the queue. REPEATABLE READ: an answer is made of
several statements, and what they say belongs together. A read is harmless to repeat, so one that
met a dead pooled connection is run once more.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolIsEmpty

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.store.connection import SessionTerms, open_engine
from collection_pipeline.store.transaction import is_lost, mysql_error_code

T = TypeVar("T")

RETRY_WITHIN_SECONDS = 1.0
"""A connection that was dead is noticed at once; one that hung has used up the caller's time."""
TOO_SLOW_CODES = frozenset({1969, 3024})
NOT_FIT_CODES = {
    1044: "it refuses this account",
    1045: "it refuses this account",
    1049: "the database is not there",
    1054: "its schema is older than this release: run 'collection-pipeline db migrate'",
    1142: "the account may not read the queue's tables",
    1146: "its schema is older than this release: run 'collection-pipeline db migrate'",
}


@dataclass(frozen=True)
class ReadTerms:
    """How long reads may take, in whole seconds, and how many connections they share."""

    statement_seconds: int = 5
    connect_seconds: int = 2
    socket_seconds: int = 8
    pool_size: int = 8
    pool_wait_seconds: float = 2.0


class ReadOnlyDatabase:
    """Reads one database; connects when first used. Safe to call from several threads."""

    def __init__(self, url: str, terms: ReadTerms | None = None) -> None:
        self._url = url
        self.terms = terms or ReadTerms()
        self.engine = open_engine(
            url,
            SessionTerms(
                connect_timeout_seconds=self.terms.connect_seconds,
                socket_timeout_seconds=self.terms.socket_seconds,
                pool_size=self.terms.pool_size,
                pool_overflow=0,
                pool_wait_seconds=self.terms.pool_wait_seconds,
            ),
        )
        event.listen(self.engine, "connect", self._restrict)

    def with_terms(self, terms: ReadTerms) -> "ReadOnlyDatabase":
        """The same database through connections of their own, so that neither waits for the other.

        The caller closes it.
        """
        return ReadOnlyDatabase(self._url, terms)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` returns from one read-only transaction, which is always rolled back.

        Raises ``DatabaseUnavailable`` for a database that is away, too slow, or not fit.
        """
        began = time.monotonic()
        try:
            return self._attempt(work)
        except DBAPIError as error:
            if not is_lost(error) or time.monotonic() - began > RETRY_WITHIN_SECONDS:
                raise _in_words(error) from None
        except PoolIsEmpty:
            raise DatabaseUnavailable("every connection of the service is in use") from None
        try:
            return self._attempt(work)
        except DBAPIError as error:
            raise _in_words(error) from None
        except PoolIsEmpty:
            raise DatabaseUnavailable("every connection of the service is in use") from None

    def close(self) -> None:
        """Give the connections back to the server."""
        self.engine.dispose()

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            try:
                return work(connection)
            finally:
                _roll_back_quietly(connection)

    def _restrict(self, dbapi_connection: Any, _record: object) -> None:
        cursor = dbapi_connection.cursor()
        try:
            cursor.execute("SELECT VERSION()")
            is_mariadb = "MariaDB" in cursor.fetchone()[0]
            seconds = self.terms.statement_seconds
            cursor.execute(
                f"SET SESSION max_statement_time = {seconds}"
                if is_mariadb
                else f"SET SESSION max_execution_time = {seconds * 1000}"
            )
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # The version was asked in a transaction that still had the old terms.
            dbapi_connection.rollback()
        finally:
            cursor.close()


def _in_words(error: DBAPIError) -> Exception:
    """``DatabaseUnavailable`` with what an operator can do; any other error stays what it is."""
    code = mysql_error_code(error)
    if code in TOO_SLOW_CODES:
        return DatabaseUnavailable("a statement took longer than the service lets it")
    if code in NOT_FIT_CODES:
        return DatabaseUnavailable(f"the database cannot be read: {NOT_FIT_CODES[code]}")
    if is_lost(error):
        return DatabaseUnavailable(f"the database does not answer (MySQL error {code})")
    return error


def _roll_back_quietly(connection: Connection) -> None:
    """A lost connection cannot be rolled back; the server does so when the session ends."""
    try:
        connection.rollback()
    except (DBAPIError, PendingRollbackError):
        connection.invalidate()

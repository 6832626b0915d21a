"""The one named lock of the library register, and the session that holds it (R48).

    GET_LOCK ok -> held -> let go, closed  or killed: the lock goes with its session
                     |-> session lost      ``SessionLockLost``; whatever was not committed is undone

Invariant: the lock is held by one session from start to end, which never belongs to a pool: a named
lock survives COMMIT, ROLLBACK and a connection's return to its pool, where the next user would hold
it unawares. Everything the holder writes goes through this session (``run``), so that who has lost
the lock has lost the right to write. The session is in autocommit between its short transactions,
so none is open while pages are read (R25, I3).

The session's idle time-out is its own: the short one of writer sessions (mysql.md) would end it,
and free the lock silently, during one slow page.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.store.connection import SessionTerms, open_session
from collection_pipeline.store.transaction import is_conflict, is_lost, mysql_error_code

T = TypeVar("T")

LOCK_SOCKET_TIMEOUT_SECONDS = 120
"""Looking for stale rows reads the whole register in one statement."""
CONFLICT_TRIES = 5
# Lock names are server-wide, so that the schema is part of it. Hashed, since lock names fold case
# and have at most 64 characters, as many as each of the two names can have.
_NAME = text(
    "SELECT CONCAT('collection-ingest-', LEFT(SHA2(CONCAT(DATABASE(), '.', :table), 256), 40))"
)
_TAKE = text("SELECT GET_LOCK(:name, 0), CONNECTION_ID()")
_LET_GO = text("DO RELEASE_LOCK(:name)")
_HOLDS = text("SELECT IS_USED_LOCK(:name) = :session AND CONNECTION_ID() = :session")


class SessionLockLost(Exception):
    """The session that held the lock is gone; another run may hold it by now."""


class SessionLock:
    """The lock named by the URL's schema and ``table``; taken at once or not at all."""

    def __init__(self, url: str, table: str, idle_seconds: int) -> None:
        """``idle_seconds`` must exceed the longest silence between two pages."""
        self._url = url
        self._table = table
        self._terms = SessionTerms(
            socket_timeout_seconds=LOCK_SOCKET_TIMEOUT_SECONDS, idle_timeout_seconds=idle_seconds
        )

    @contextmanager
    def take(self) -> Iterator["HeldLock | None"]:
        """The held lock, or ``None`` at once when another session holds it.

        Raises ``DatabaseUnavailable`` when the server cannot be had.
        """
        connection, held = self._open()
        try:
            yield held
        finally:
            if held is not None:
                _quietly(held.let_go)
            _quietly(connection.close)

    def _open(self) -> tuple[Connection, "HeldLock | None"]:
        connection: Connection | None = None
        try:
            connection = open_session(self._url, self._terms)
            name = connection.execute(_NAME, {"table": self._table}).scalar_one()
            taken, session = connection.execute(_TAKE, {"name": name}).one()
        except DBAPIError as error:
            if connection is not None:
                _quietly(connection.close)
            if not is_lost(error):
                raise
            raise DatabaseUnavailable(
                f"the lock cannot be asked for: MySQL error {mysql_error_code(error)}"
            ) from error
        if taken is None:
            _quietly(connection.close)
            raise DatabaseUnavailable("the server could not say whether the lock is free")
        return connection, HeldLock(connection, name, session) if taken == 1 else None


class HeldLock:
    """Possession of the lock, and the only way to write under it. For one thread."""

    def __init__(self, connection: Connection, name: str, session: int) -> None:
        self.name = name
        self.session = session
        self._connection = connection
        self._is_lost = False
        self._in_transaction = False

    def holds(self) -> bool:
        """Whether this very session still holds the lock, by the server's word."""
        try:
            self.require()
        except SessionLockLost:
            return False
        return True

    def require(self) -> None:
        """Between pages: raise ``SessionLockLost`` unless held; also keeps the session awake.

        Raises ``OpenTransaction`` inside ``run``: nothing may be read from afar there (I3).
        """
        if self._in_transaction:
            raise OpenTransaction("the lock's session is in a transaction between two pages")
        self._ask()

    def run(self, work: Callable[[Connection], T]) -> T:
        """``work`` in one short transaction of the lock's session, which begins with its proof.

        Repeated as a whole after a deadlock or a lock wait time-out, so ``work`` must have no side
        effect outside. Raises ``SessionLockLost`` when the session ends meanwhile; then nothing is
        stored, unless the session was lost on COMMIT itself (the caller's own row tells).
        """
        for tries_left in reversed(range(CONFLICT_TRIES)):
            try:
                return self._attempt(work)
            except DBAPIError as error:
                self._raise_if_lost(error)
                if not (is_conflict(error) and tries_left):
                    raise
        raise AssertionError("the last try returns or raises")

    def let_go(self) -> None:
        """Free the lock at once; the server notices the session's end a moment later only."""
        if not (self._is_lost or self._connection.invalidated):
            self._connection.execute(_LET_GO, {"name": self.name})

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        self._ask()
        self._in_transaction = True
        try:
            self._connection.exec_driver_sql("START TRANSACTION")
            result = work(self._connection)
            self._connection.exec_driver_sql("COMMIT")
        except BaseException:
            _quietly(lambda: self._connection.exec_driver_sql("ROLLBACK"))
            raise
        finally:
            self._in_transaction = False
        return result

    def _ask(self) -> None:
        if not self._is_lost:
            try:
                parameters = {"name": self.name, "session": self.session}
                self._is_lost = self._connection.execute(_HOLDS, parameters).scalar_one() != 1
            except DBAPIError as error:
                self._raise_if_lost(error)
                raise
        if self._is_lost:
            raise SessionLockLost("the session that held the lock has lost it")

    def _raise_if_lost(self, error: DBAPIError) -> None:
        if is_lost(error):
            # For good: SQLAlchemy would go on with a new session, which holds nothing.
            self._is_lost = True
            raise SessionLockLost(
                f"the session that held the lock was lost: MySQL error {mysql_error_code(error)}"
            ) from error


def _quietly(work: Callable[[], object]) -> None:
    """A lost session cannot be rolled back or closed; the server has done so."""
    with suppress(SQLAlchemyError):
        work()

"""Short transactions that may run twice: conflicts, lost connections, unknown commits (R19a).

* 1213, 1205, 1020: roll back and run the whole function again, with jitter. A lock wait time-out
  rolls back only its statement; committing after it would store half a transaction.
* A connection lost before COMMIT, or not to be had: run again on a new one. So too where the
  server only reads for the moment, as in a failover: the next connection may reach its successor.
* The server is short of disk, memory, locks or connections: rolled back and run again, since what
  was fetched would be lost otherwise, and room may be made while the lease holds.
* A connection lost *on* COMMIT: the outcome is unknown. ``was_committed`` asks the database for a
  row that only this transaction can have left; without it the work must be harmless when repeated.

So the function is free of HTTP and of side effects outside its connection.
"""

import random
import time
from collections.abc import Callable
from typing import TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, PendingRollbackError, SQLAlchemyError

from collection_pipeline.domain.outage import DatabaseUnavailable

T = TypeVar("T")

LOCK_WAIT_CODE = 1205
CONFLICT_CODES = frozenset({1213, LOCK_WAIT_CODE, 1020})
READ_ONLY_CODES = frozenset({1290, 1836})
NO_ROOM_CODES = frozenset({1021, 1037, 1038, 1041, 1114, 1135, 1180, 1203, 1206, 1226})
LOST_CODES = frozenset(
    {
        1040,
        1053,
        1077,
        1079,
        1152,
        1158,
        1159,
        1160,
        1161,
        1317,
        1927,
        2002,
        2003,
        2006,
        2013,
        2014,
        2055,
        3024,
        4031,
    }
)
DEFAULT_TRY_SECONDS = 50.0
"""More than two socket time-outs, so that a call that hung is tried again."""
FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 1.0


def mysql_error_code(error: DBAPIError) -> int | None:
    """The server's or client's error number, if the driver gave one."""
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def is_conflict(error: DBAPIError) -> bool:
    """Deadlock, lock wait time-out or changed record: run the whole function again."""
    return mysql_error_code(error) in CONFLICT_CODES


def is_lost(error: DBAPIError) -> bool:
    """The connection is gone or was never made."""
    return error.connection_invalidated or mysql_error_code(error) in LOST_CODES | {0}


def is_read_only(error: DBAPIError) -> bool:
    """The server refuses writes; also of a primary that was demoted while we were connected."""
    return mysql_error_code(error) in READ_ONLY_CODES


def is_short_of_room(error: DBAPIError) -> bool:
    """The server cannot do it for want of disk, memory, lock room or connections."""
    return mysql_error_code(error) in NO_ROOM_CODES


def is_passing(error: DBAPIError) -> bool:
    """Worth trying again: nothing is wrong with the work itself."""
    return is_conflict(error) or is_lost(error) or is_read_only(error) or is_short_of_room(error)


def in_words(error: SQLAlchemyError) -> str:
    """What a database error says, without statement or parameters (R29)."""
    said: tuple[object, ...] = getattr(getattr(error, "orig", None), "args", ())
    return f"the database refused: {said[1] if said[1:] else type(error).__name__}"


class TransactionRunner:
    """Runs functions of one connection in transactions of the engine."""

    def __init__(
        self,
        engine: Engine,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.engine = engine
        self._monotonic = monotonic
        self._sleep = sleep

    def run(
        self,
        work: Callable[[Connection], T],
        *,
        until: float | None = None,
        was_committed: Callable[[Connection], bool] | None = None,
    ) -> T:
        """``work``'s result once it is committed; tried again until monotonic ``until``.

        Raises whatever ``work`` raises besides the errors above, and ``DatabaseUnavailable`` when
        the time is over.
        """
        deadline = self._monotonic() + DEFAULT_TRY_SECONDS if until is None else until
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._attempt(work)
            except _UnknownCommit as unknown:
                if was_committed is not None and self._ask(was_committed, deadline):
                    return cast(T, unknown.result)
                reason = "the answer to COMMIT was lost"
            except DBAPIError as error:
                if not is_passing(error):
                    raise
                reason = f"MySQL error {mysql_error_code(error)}"
            self._pause_or_give_up(pause, deadline, reason)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                result = work(connection)
            except BaseException as error:
                _roll_back_quietly(transaction.rollback)
                if isinstance(error, DBAPIError) and is_read_only(error):
                    connection.invalidate()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if not (is_lost(error) or is_short_of_room(error)):
                    raise
                connection.invalidate()
                raise _UnknownCommit(result) from error
            return result

    def _ask(self, was_committed: Callable[[Connection], bool], deadline: float) -> bool:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._attempt(was_committed)
            except (DBAPIError, _UnknownCommit) as error:
                if isinstance(error, DBAPIError) and not is_passing(error):
                    raise
            self._pause_or_give_up(pause, deadline, "the answer to COMMIT was lost")
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _pause_or_give_up(self, pause: float, deadline: float, reason: str) -> None:
        wait = pause * random.uniform(0.5, 1.5)
        if self._monotonic() + wait > deadline:
            raise DatabaseUnavailable(f"the database did not store the work in time: {reason}")
        self._sleep(wait)


class _UnknownCommit(Exception):
    """COMMIT was sent and its answer lost; carries what the work had returned."""

    def __init__(self, result: object) -> None:
        super().__init__("the answer to COMMIT was lost")
        self.result = result


def _roll_back_quietly(rollback: Callable[[], None]) -> None:
    """A lost connection cannot be rolled back; the server does so when the session ends."""
    try:
        rollback()
    except (DBAPIError, PendingRollbackError):
        return

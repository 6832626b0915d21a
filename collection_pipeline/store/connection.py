"""The session contract: every connection of the project is opened here (mysql.md).

READ COMMITTED, UTC, strict SQL mode, a short lock wait, a short idle time-out, client time-outs.
Why: at REPEATABLE READ a claim that finds nothing locks the gap in which new cycles are made; a
frozen holder of the gate would keep it until the server's ``wait_timeout``.

A pooled connection is pinged before use only after it has been idle for a while, and is not rolled
back once more on its return, since every transaction here ends in COMMIT or ROLLBACK: that halves
the round trips of a short transaction. A connection lost in between is run again by
``TransactionRunner``.
"""

import contextlib
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DisconnectionError

CONNECT_TIMEOUT_SECONDS = 5
SOCKET_TIMEOUT_SECONDS = 20
LOCK_WAIT_SECONDS = 5
IDLE_TIMEOUT_SECONDS = 20
PING_AFTER_IDLE_SECONDS = 2.0
POOL_SIZE = 16
POOL_OVERFLOW = 16
POOL_WAIT_SECONDS = 20
SQL_MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)


def collection_url(text: str) -> URL:
    """``text`` as SQLAlchemy's URL: ``mysql://`` means PyMySQL, and text is always utf8mb4."""
    url = make_url(text)
    if url.drivername == "mysql":
        url = url.set(drivername="mysql+pymysql")
    return url.update_query_dict({"charset": "utf8mb4"})


@dataclass(frozen=True)
class SessionTerms:
    """In what an engine's sessions may differ; all in seconds, pool sizes in connections.

    A socket must wait longer than a lock: else the client gives up on a statement that the server
    carries out afterwards.
    """

    lock_wait_seconds: int = LOCK_WAIT_SECONDS
    connect_timeout_seconds: int = CONNECT_TIMEOUT_SECONDS
    socket_timeout_seconds: int = SOCKET_TIMEOUT_SECONDS
    idle_timeout_seconds: int = IDLE_TIMEOUT_SECONDS
    pool_size: int = POOL_SIZE
    pool_overflow: int = POOL_OVERFLOW
    pool_wait_seconds: float = POOL_WAIT_SECONDS


ORDINARY_TERMS = SessionTerms()


def open_engine(url: str, terms: SessionTerms = ORDINARY_TERMS) -> Engine:
    """A pooled engine whose sessions keep the contract; connects only when first used."""
    parsed = collection_url(url)
    engine = create_engine(
        parsed,
        isolation_level="READ COMMITTED",
        pool_reset_on_return=None,
        pool_size=terms.pool_size,
        max_overflow=terms.pool_overflow,
        pool_timeout=terms.pool_wait_seconds,
        connect_args=_connect_arguments(terms),
        hide_parameters=True,
    )

    def apply_contract(dbapi_connection: Any, _record: object) -> None:
        _apply_session_contract(dbapi_connection, terms)

    event.listen(engine, "connect", apply_contract)
    event.listen(engine, "checkin", _note_idle)
    event.listen(engine, "checkout", _ping_after_idling)
    return engine


def open_session(url: str, terms: SessionTerms) -> Connection:
    """One session that no pool knows, in autocommit: closing it ends it, with the locks it holds.

    Raises SQLAlchemy's errors when the server cannot be had.
    """
    engine = create_engine(
        collection_url(url),
        isolation_level="AUTOCOMMIT",
        poolclass=NullPool,
        connect_args=_connect_arguments(terms),
        hide_parameters=True,
    )

    def apply_contract(dbapi_connection: Any, _record: object) -> None:
        _apply_session_contract(dbapi_connection, terms)
        with contextlib.closing(dbapi_connection.cursor()) as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    event.listen(engine, "connect", apply_contract)
    return engine.connect()


def _connect_arguments(terms: SessionTerms) -> dict[str, int]:
    return {
        "connect_timeout": terms.connect_timeout_seconds,
        "read_timeout": terms.socket_timeout_seconds,
        "write_timeout": terms.socket_timeout_seconds,
    }


def _note_idle(_dbapi_connection: Any, record: Any) -> None:
    record.info["idle_since"] = time.monotonic()


def _ping_after_idling(dbapi_connection: Any, record: Any, _proxy: object) -> None:
    """Raises ``DisconnectionError``, upon which the pool opens another connection."""
    idle_since = record.info.get("idle_since")
    if idle_since is None or time.monotonic() - idle_since < PING_AFTER_IDLE_SECONDS:
        return
    cursor = dbapi_connection.cursor()
    try:
        cursor.execute("DO 1")
    except Exception as error:
        raise DisconnectionError("the server ended an idle session") from error
    finally:
        cursor.close()


def _apply_session_contract(dbapi_connection: Any, terms: SessionTerms) -> None:
    cursor = dbapi_connection.cursor()
    try:
        cursor.execute(
            "SET SESSION time_zone = '+00:00', "
            f"sql_mode = '{SQL_MODE}', "
            f"innodb_lock_wait_timeout = {terms.lock_wait_seconds}, "
            f"wait_timeout = {terms.idle_timeout_seconds}"
        )
    finally:
        cursor.close()

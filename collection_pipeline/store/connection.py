"""The session contract: every connection of the project is opened here (mysql.md).

READ COMMITTED, UTC, strict SQL mode, a short lock wait, a short idle time-out, client time-outs.
Why: at REPEATABLE READ a claim that finds nothing locks the gap in which new cycles are made; a
frozen holder of the gate would keep it until the server's ``wait_timeout``.

A pooled connection is pinged before use only after it has been idle for a while, and is not rolled
back once more on its return, since every transaction here ends in COMMIT or ROLLBACK: that halves
the round trips of a short transaction. A connection lost in between is run again by
``TransactionRunner``.
"""

import time
from typing import Any

from sqlalchemy import Engine, create_engine, event
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


def open_engine(url: str) -> Engine:
    """A pooled engine whose sessions keep the contract; connects only when first used."""
    parsed = collection_url(url)
    engine = create_engine(
        parsed,
        isolation_level="READ COMMITTED",
        pool_reset_on_return=None,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        pool_timeout=POOL_WAIT_SECONDS,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "read_timeout": SOCKET_TIMEOUT_SECONDS,
            "write_timeout": SOCKET_TIMEOUT_SECONDS,
        },
        hide_parameters=True,
    )
    event.listen(engine, "connect", _apply_session_contract)
    event.listen(engine, "checkin", _note_idle)
    event.listen(engine, "checkout", _ping_after_idling)
    return engine


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


def _apply_session_contract(dbapi_connection: Any, _record: object) -> None:
    cursor = dbapi_connection.cursor()
    try:
        cursor.execute(
            "SET SESSION time_zone = '+00:00', "
            f"sql_mode = '{SQL_MODE}', "
            f"innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}, "
            f"wait_timeout = {IDLE_TIMEOUT_SECONDS}"
        )
    finally:
        cursor.close()

"""Two connections that meet: threads, events and the database's own word on who waits.

Invariant: nothing here sleeps to make an order likely. A transaction is held just before its
COMMIT until the test lets it go, and "waits for a lock" is read from the server.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event, text

from collection_pipeline_tests.kit.database import Store

T = TypeVar("T")

PATIENCE_SECONDS = 20.0
# InnoDB refreshes its list of transactions only for a reader that left it alone for 100 ms.
_ASK_AGAIN_SECONDS = 0.12


class HeldCommit:
    """A transaction of one engine that stands just before its COMMIT."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._go_on = threading.Event()

    def wait_until_reached(self) -> None:
        """Returns when a matching transaction has done its work and holds its locks."""
        assert self._reached.wait(PATIENCE_SECONDS), "no transaction came to its commit"

    def let_go(self) -> None:
        """Lets the transaction commit."""
        self._go_on.set()

    def hold(self) -> None:
        """Called by the transaction's thread."""
        if not self._reached.is_set():
            self._reached.set()
            assert self._go_on.wait(PATIENCE_SECONDS), "nobody let the transaction go on"


@contextmanager
def holding_commit(engine: Engine, containing: str) -> Iterator[HeldCommit]:
    """Holds the engine's first transaction with ``containing`` in one of its statements."""
    held = HeldCommit()
    concerned: set[int] = set()

    def note(connection: Connection, _c: Any, statement: str, *_rest: Any) -> None:
        if containing in statement:
            concerned.add(id(connection.connection.dbapi_connection))

    def commit(connection: Connection) -> None:
        if id(connection.connection.dbapi_connection) in concerned:
            held.hold()

    event.listen(engine, "before_cursor_execute", note)
    event.listen(engine, "commit", commit)
    try:
        yield held
    finally:
        held.let_go()
        event.remove(engine, "before_cursor_execute", note)
        event.remove(engine, "commit", commit)


@contextmanager
def rivals() -> Iterator[Callable[[Callable[[], T]], "Future[T]"]]:
    """Starts functions in threads of their own; leaving waits for all of them."""
    with ThreadPoolExecutor(8) as threads:
        yield threads.submit


def wait_until_blocked(store: Store, sessions: int = 1) -> None:
    """Returns when so many sessions of the store's database wait for a row lock."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_SECONDS / _ASK_AGAIN_SECONDS)):
        waiting = store.value(
            "SELECT COUNT(*) FROM information_schema.innodb_trx AS t "
            "JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id "
            "WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'"
        )
        if waiting >= sessions:
            return
        pause.wait(_ASK_AGAIN_SECONDS)
    raise AssertionError("no session waits for a lock")


def winner_then_loser(
    winner_store: Store, winner: Callable[[], Any], loser: Callable[[], T], touching: str
) -> tuple[Any, T]:
    """Both results: the loser starts while the winner holds its locks, and waits for them."""
    with rivals() as start, holding_commit(winner_store.engine, touching) as held:
        first = start(winner)
        held.wait_until_reached()
        second = start(loser)
        wait_until_blocked(winner_store)
        held.let_go()
        return first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)


@contextmanager
def open_transaction(store: Store) -> Iterator[Connection]:
    """A transaction of the test's own that ends by rollback."""
    with store.engine.connect() as connection:
        transaction = connection.begin()
        try:
            yield connection
        finally:
            if transaction.is_active:
                transaction.rollback()


def run_sql(connection: Connection, statement: str, **values: object) -> Any:
    """The result of a statement inside a transaction of the test."""
    return connection.execute(text(statement), values)

"""What a database does to its clients on a bad day, each as one strike that heals by itself.

Invariant: after a strike the database is as it was, so everything that is wrong afterwards was done
by the client. A strike falls on whatever the workers do at that moment.
"""

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.proxy import DatabaseProxy

DISK_FULL = (1021, 1114)
READ_ONLY = "SET GLOBAL read_only = {}"
_FULL_TABLES = ("job_postings", "collection_slices", "job_posting_collection_seen_postings")


@dataclass(frozen=True)
class Tormented:
    """The server, one database on it, and the proxy through which its workers come."""

    server: PrivateServer
    proxy: DatabaseProxy
    database: str
    chance: random.Random

    def pause(self, least: float, most: float) -> None:
        """Lets the workers go on for a moment that the seed decides (seconds)."""
        threading.Event().wait(self.chance.uniform(least, most))


def kill_and_restart(where: Tormented) -> None:
    """The server dies as in a crash, and recovers."""
    where.server.kill()
    where.server.start()


def freeze(where: Tormented) -> None:
    """Connections are accepted and nothing answers, for a moment."""
    where.server.pause()
    where.pause(0.3, 1.2)
    where.server.resume()


def kill_sessions(where: Tormented) -> None:
    """Some sessions end, whatever they were doing."""
    with contextlib.closing(where.server.connect()) as session, session.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE db = %s", (where.database,)
        )
        for (number,) in cursor.fetchall():
            if where.chance.random() < 0.5:
                # It may have ended by itself since.
                with contextlib.suppress(pymysql.err.OperationalError):
                    cursor.execute("KILL %s", (number,))


def cut_line(where: Tormented) -> None:
    """Every connection is reset, and new ones are refused for a moment."""
    where.proxy.cut()
    where.pause(0.05, 0.4)
    where.proxy.restore()


def delay_line(where: Tormented) -> None:
    """No byte passes for a moment; then everything that was held back arrives."""
    where.proxy.go_silent()
    where.pause(0.1, 0.8)
    where.proxy.restore()


def lose_commit(where: Tormented) -> None:
    """The line ends before the next COMMIT reaches the server."""
    where.proxy.lose_next_commit(skip=where.chance.randrange(4))


def lose_commit_answer(where: Tormented) -> None:
    """The server commits, and the line ends before it can say so."""
    where.proxy.lose_next_commit_answer(skip=where.chance.randrange(4))


def read_only(where: Tormented) -> None:
    """Writes are refused for a moment, as by a primary that was demoted."""
    where.server.execute(READ_ONLY.format("ON"))
    where.pause(0.1, 0.6)
    where.server.execute(READ_ONLY.format("OFF"))


def fill_disk(where: Tormented) -> None:
    """Rows of one table cannot be written for a moment, with the error of a full disk."""
    table, code = where.chance.choice(_FULL_TABLES), where.chance.choice(DISK_FULL)
    trigger = f"`{where.database}`.full_disk"
    where.server.execute(
        f"CREATE TRIGGER {trigger} BEFORE INSERT ON `{where.database}`.`{table}` FOR EACH ROW"
        f" SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'full'"
    )
    where.pause(0.2, 0.8)
    where.server.execute(f"DROP TRIGGER {trigger}")


def lock_crosswise(where: Tormented) -> None:
    """A session locks postings, then cycles, against the order of the workers, and gives up."""
    with contextlib.closing(where.server.connect()) as session, session.cursor() as cursor:
        session.select_db(where.database)
        cursor.execute("SET SESSION innodb_lock_wait_timeout = 2")
        session.begin()
        # Chosen as the victim itself, it has done what it was for.
        with contextlib.suppress(pymysql.err.OperationalError):
            cursor.execute("SELECT id FROM job_postings FOR UPDATE")
            where.pause(0.02, 0.1)
            cursor.execute("SELECT id FROM job_posting_collection_cycles FOR UPDATE")
        session.rollback()


TORMENTS: dict[str, Callable[[Tormented], None]] = {
    "killed and restarted": kill_and_restart,
    "frozen": freeze,
    "sessions killed": kill_sessions,
    "line cut": cut_line,
    "line delayed": delay_line,
    "commit lost": lose_commit,
    "answer to commit lost": lose_commit_answer,
    "read-only": read_only,
    "disk full": fill_disk,
    "deadlock": lock_crosswise,
}


@contextmanager
def striking(where: Tormented, torment: str, strikes: int) -> Iterator[list[str]]:
    """Strikes that often while the body runs, in a thread; the list grows by each strike that fell.

    Leaving waits for the strike in progress; an error of the torment itself is raised then.
    """
    over = threading.Event()
    fell: list[str] = []
    errors: list[BaseException] = []

    def tormenting() -> None:
        try:
            for _ in range(strikes):
                if over.wait(where.chance.uniform(0.05, 0.35)):
                    return
                TORMENTS[torment](where)
                fell.append(torment)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=tormenting, name="torment")
    thread.start()
    try:
        yield fell
    finally:
        over.set()
        thread.join()
    if errors:
        raise errors[0]

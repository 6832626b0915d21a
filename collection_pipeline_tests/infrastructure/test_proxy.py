"""The proxy breaks the line where it says, and nowhere else."""

import contextlib
import threading
from collections.abc import Iterator

import pymysql
import pytest
import sqlalchemy as sa

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.mysql_packets import is_commit, split_packets
from collection_pipeline_tests.kit.proxy import DatabaseProxy

GONE_BEFORE_SENDING = 2006
LOST = 2013
REFUSED = 2003


@pytest.fixture
def proxy(database_server: PrivateServer) -> Iterator[DatabaseProxy]:
    """A proxy in front of the run's server."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as started:
        yield started


@pytest.fixture
def direct(database_url: str) -> sa.Engine:
    """Straight to the server, with an empty table `line (id)`."""
    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE line (id INT PRIMARY KEY, body LONGTEXT)"))
    return engine


@pytest.fixture
def through(proxy: DatabaseProxy, direct: sa.Engine, database_url: str) -> sa.Engine:
    """The same database through the proxy, with a read timeout of 1 s."""
    url = proxy.url(database_url) + "&read_timeout=1&connect_timeout=1"
    return sa.create_engine(url, poolclass=sa.NullPool)


def _store(engine: sa.Engine, *ids: int, body: str = "") -> None:
    with engine.begin() as connection:
        for number in ids:
            connection.execute(
                sa.text("INSERT INTO line VALUES (:id, :body)"), {"id": number, "body": body}
            )


def _stored(engine: sa.Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.execute(sa.text("SELECT id FROM line ORDER BY id")).scalars())


def _code(caught: pytest.ExceptionInfo[sa.exc.OperationalError]) -> int:
    original = caught.value.orig
    assert isinstance(original, pymysql.err.OperationalError)
    return int(original.args[0])


def test_an_unarmed_proxy_changes_nothing(through: sa.Engine, direct: sa.Engine) -> None:
    """Also for rows larger than one read and one packet's usual size."""
    body = "가" * 2_000_000
    _store(through, 1, body=body)

    with through.connect() as connection:
        assert connection.execute(sa.text("SELECT body FROM line")).scalar_one() == body
    assert _stored(direct) == [1]


def test_a_commit_lost_on_its_way_stores_nothing(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """Error 2013 on COMMIT, rows absent and their locks free; the next transaction passes."""
    struck = proxy.lose_next_commit()

    with pytest.raises(sa.exc.OperationalError) as caught:
        _store(through, 1)

    assert _code(caught) == LOST
    assert struck.is_set()
    assert _stored(direct) == []
    _store(through, 1)
    assert _stored(direct) == [1]


def test_a_commit_whose_answer_is_lost_is_stored(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """The same error 2013 for the client, but the rows are there."""
    struck = proxy.lose_next_commit_answer()

    with pytest.raises(sa.exc.OperationalError) as caught:
        _store(through, 1)

    assert _code(caught) == LOST
    assert struck.is_set()
    assert _stored(direct) == [1]


def test_a_fault_waits_for_its_own_transaction(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """A word of a statement and a count choose the transaction that is struck."""
    struck = proxy.lose_next_commit(containing="VALUES (8,", skip=1)

    _store(through, 1)
    _store(through, 8)
    assert not struck.is_set()
    with direct.begin() as connection:
        connection.execute(sa.text("DELETE FROM line WHERE id = 8"))
    with pytest.raises(sa.exc.OperationalError):
        _store(through, 7, 8)

    assert struck.is_set()
    assert _stored(direct) == [1]


def test_the_word_of_a_rolled_back_transaction_is_forgotten(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """Only statements of the transaction that commits count."""
    struck = proxy.lose_next_commit(containing="VALUES (8,")

    with through.connect() as connection:
        connection.execute(sa.text("INSERT INTO line VALUES (8, '')"))
        connection.rollback()
        connection.execute(sa.text("INSERT INTO line VALUES (9, '')"))
        connection.commit()

    assert not struck.is_set()
    assert _stored(direct) == [9]


def test_a_silent_line_accepts_and_never_answers(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """Old and new connections end in the client's own timeout."""
    with through.connect() as old, contextlib.suppress(sa.exc.OperationalError):
        proxy.go_silent()
        with pytest.raises(sa.exc.OperationalError, match="timed out"):
            old.execute(sa.text("SELECT 1"))
        with pytest.raises(sa.exc.OperationalError, match="timed out"):
            _stored(through)
        old.invalidate()

    proxy.restore()

    assert _stored(through) == []


def test_a_cut_line_ends_old_connections_and_refuses_new_ones(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """After `restore` the same address works again."""
    with through.connect() as old:
        proxy.cut()
        with pytest.raises(sa.exc.OperationalError) as lost:
            old.execute(sa.text("SELECT 1"))
        with pytest.raises(sa.exc.OperationalError) as refused:
            _stored(through)

    proxy.restore()

    assert _code(lost) in {GONE_BEFORE_SENDING, LOST}
    assert _code(refused) == REFUSED
    assert proxy.connections == 0
    assert _stored(through) == []


def test_many_lines_at_once_stay_apart(
    proxy: DatabaseProxy, through: sa.Engine, direct: sa.Engine
) -> None:
    """One fault, eight committing threads: exactly one of them loses exactly its own rows."""
    struck = proxy.lose_next_commit()
    lost: list[int] = []

    def _work(number: int) -> None:
        try:
            _store(through, number)
        except sa.exc.OperationalError:
            lost.append(number)

    threads = [threading.Thread(target=_work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert struck.is_set()
    assert len(lost) == 1
    assert _stored(direct) == [number for number in range(8) if number not in lost]


def test_packets_are_found_at_every_cut_of_the_stream() -> None:
    """A COMMIT split over two reads is still one COMMIT, a login never is."""
    login = (7).to_bytes(3, "little") + b"\x01" + b"\x03COMMIT"
    commit = (7).to_bytes(3, "little") + b"\x00" + b"\x03COMMIT"
    stream = login + commit

    for cut in range(len(stream) + 1):
        buffer = bytearray(stream[:cut])
        packets = split_packets(buffer)
        buffer += stream[cut:]
        packets += split_packets(buffer)

        assert [packet.raw for packet in packets] == [login, commit]
        assert [is_commit(packet.statement) for packet in packets] == [False, True]

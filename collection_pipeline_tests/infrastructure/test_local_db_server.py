"""The private server keeps its promises over start, stop, crash and freeze."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
import sqlalchemy as sa

from collection_pipeline.local_db.errors import ServerDidNotStart, ServerNotRunning
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.servers import (
    create_database,
    drop_database,
    place_data_folder,
    private_server,
    wanted_kind,
)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    """A server that this module may stop and kill."""
    with private_server() as started:
        yield started


def _scalar(url: str, statement: str) -> object:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement)).scalar_one()


def test_the_suite_talks_to_the_server_that_it_claims(database_url: str) -> None:
    """The run's own server says which it is."""
    version = str(_scalar(database_url, "SELECT VERSION()"))

    assert ("MariaDB" in version) == (wanted_kind() == "mariadb")


def test_settings_suit_a_queue_of_emoji_and_korean(database_url: str) -> None:
    """utf8mb4 throughout, no binary log, room for the connections of many workers."""
    asked = (
        "SELECT CONCAT_WS(' ', @@character_set_database, IF(@@log_bin, 1, 0), @@max_connections)"
    )

    assert _scalar(database_url, asked) == "utf8mb4 0 300"
    assert _scalar(database_url, "SELECT '한글 \N{ROCKET}'") == "한글 \N{ROCKET}"


def test_a_url_holds_any_account(tmp_path: Path) -> None:
    """Characters that mean something in a URL come back as they were."""
    url = PrivateServer(tmp_path, port=3306).url_for("a@b", "p:/?#@%", "jobs")

    read = sa.engine.make_url(url)

    assert (read.username, read.password, read.database) == ("a@b", "p:/?#@%", "jobs")
    assert (read.host, read.port, read.query["charset"]) == ("127.0.0.1", 3306, "utf8mb4")


def test_data_and_url_outlive_a_stop(server: PrivateServer) -> None:
    """A URL handed out once stays right."""
    server.start()
    url = create_database(server, "kept_over_stop")
    server.stop()
    assert not server.running

    server.start()

    assert server.url("kept_over_stop") == url
    assert _scalar(url, "SELECT DATABASE()") == "kept_over_stop"


def test_committed_rows_outlive_a_kill(server: PrivateServer) -> None:
    """A crash of the server loses no commit, and the next start recovers by itself."""
    server.start()
    url = create_database(server, "kept_over_kill")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (id INT PRIMARY KEY)"))
        connection.execute(sa.text("INSERT INTO kept VALUES (7)"))

    server.kill()
    assert not server.running
    server.start()

    assert _scalar(url, "SELECT id FROM kept") == 7


def test_a_second_start_changes_nothing(server: PrivateServer) -> None:
    """Starting is idempotent."""
    server.start()
    before = server.pid

    server.start()

    assert server.pid == before is not None


def test_a_paused_server_accepts_and_stays_silent(server: PrivateServer) -> None:
    """That is how a hung database looks to a client; after `resume` it answers again."""
    server.start()
    server.pause()
    try:
        with pytest.raises(pymysql.err.OperationalError, match="timed out"):
            pymysql.connect(
                host="127.0.0.1", port=server.port or 0, user="x", read_timeout=1, ssl_disabled=True
            )
    finally:
        server.resume()

    server.execute("SELECT 1")


def test_a_paused_server_can_be_stopped(server: PrivateServer) -> None:
    """A frozen process would keep the request to end for ever; it still ends in order."""
    server.start()
    server.pause()
    said_before = len(server.log_file.read_text())

    server.stop()

    assert not server.running
    assert "hutdown complete" in server.log_file.read_text()[said_before:]


def test_a_pid_file_of_another_process_is_not_believed(server: PrivateServer) -> None:
    """Process 1 is alive but no server of ours: no signal is sent, and a start works."""
    server.stop()
    (server.folder / "server.pid").write_text("1\n")

    assert not server.running
    with pytest.raises(ServerNotRunning):
        server.pause()
    server.kill()
    server.start()

    assert server.running


def test_a_port_that_was_taken_meanwhile_is_given_up(server: PrivateServer) -> None:
    """Another program may sit on the old port: the server moves instead of failing."""
    server.start()
    taken = server.port
    server.stop()
    with contextlib.closing(socket.create_server(("127.0.0.1", taken or 0))):
        server.start()

    assert server.port != taken
    server.execute("SELECT 1")


def test_a_deep_folder_still_gets_a_socket(tmp_path: Path) -> None:
    """A socket's path may be about 100 bytes long; the folder may be deeper."""
    folder = tmp_path / ("d" * 60) / ("e" * 60)

    server = PrivateServer(folder, prefer=wanted_kind())
    place_data_folder(server)
    with server:
        socket_folder = (folder / "socket-folder").readlink()
        server.execute("SELECT 1")

    assert not socket_folder.exists()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    """The first error of its log is in the exception."""
    server = PrivateServer(tmp_path, prefer=wanted_kind(), options=("--no-such-option=1",))
    place_data_folder(server)

    with pytest.raises(ServerDidNotStart, match="no-such-option"):
        server.start()

    assert not server.running


def test_a_database_is_dropped_under_an_open_transaction(database_server: PrivateServer) -> None:
    """A test that failed inside a transaction must not block the next one."""
    url = create_database(database_server)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection, contextlib.suppress(sa.exc.OperationalError):
        connection.execute(sa.text("CREATE TABLE held (id INT PRIMARY KEY)"))
        connection.execute(sa.text("INSERT INTO held VALUES (1)"))
        drop_database(database_server, url)
        connection.invalidate()

    with pytest.raises(sa.exc.OperationalError, match="Unknown database"):
        _scalar(url, "SELECT 1")

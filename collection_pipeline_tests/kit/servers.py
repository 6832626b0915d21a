"""The database server of one test run, and a fresh database for each test.

Invariant: a run says which server it is for (COLLECTION_TEST_SERVER, `mysql` by default) and the
server itself confirms it; a server that cannot be had fails every test that needs it, none skips.
"""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pymysql
import pytest

from collection_pipeline.local_db.data_folder import prepare_data_folder
from collection_pipeline.local_db.errors import WrongServerKind
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.local_db.server_binary import ServerKind

SERVER_KIND_VARIABLE = "COLLECTION_TEST_SERVER"
BASE_FOLDER_VARIABLE = "COLLECTION_TEST_SERVER_FOLDER"
"""Another folder for a run in namespaces of its own, whose process ids are not the machine's."""


def wanted_kind() -> ServerKind:
    """The kind that this run is for."""
    kind = os.environ.get(SERVER_KIND_VARIABLE, "mysql")
    if kind not in {"mysql", "mariadb"}:
        raise WrongServerKind(f"{SERVER_KIND_VARIABLE}={kind}: mysql or mariadb")
    return cast("ServerKind", kind)


@contextmanager
def private_server(
    kind: ServerKind | None = None, options: tuple[str, ...] = ()
) -> Iterator[PrivateServer]:
    """A running server of its own for tests that kill, pause or overload one."""
    base = base_folder()
    _remove_left_overs(base)
    folder = Path(tempfile.mkdtemp(dir=base, prefix=f"{os.getpid()}-"))
    server = PrivateServer(folder, prefer=kind or wanted_kind(), options=options)
    place_data_folder(server)
    try:
        with server:
            assert_kind(server, kind or wanted_kind())
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place_data_folder(server: PrivateServer) -> None:
    """Gives a server that was never started a copy of a fresh data folder.

    MySQL takes seconds to make one and a copy takes a blink; the first caller makes the original,
    which later runs on this machine use too.
    """
    original = base_folder() / f"data-{server.kind}-{server.binary.version}"
    if not original.is_dir():
        with tempfile.TemporaryDirectory(dir=base_folder(), prefix=f"{os.getpid()}-") as work:
            made = Path(work) / "data"
            prepare_data_folder(server.binary, made)
            # Another run may have been quicker.
            with contextlib.suppress(OSError):
                made.rename(original)
    shutil.copytree(original, server.data_folder)


def assert_kind(server: PrivateServer, kind: ServerKind) -> None:
    """What the server says of itself decides, not the name of its program."""
    if ("MariaDB" in server.version()) != (kind == "mariadb"):
        raise WrongServerKind(f"wanted {kind}, VERSION() is {server.version()}")


def create_database(server: PrivateServer, name: str | None = None) -> str:
    """Makes an empty utf8mb4 database and returns its URL; a new name unless one is given."""
    name = name or f"test_{secrets.token_hex(6)}"
    server.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    return server.url(name)


def drop_database(server: PrivateServer, url: str) -> None:
    """Removes a database by its URL, with the sessions that a failed test left in it."""
    name = url.rsplit("/", 1)[1].split("?", 1)[0]
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (name,))
        for (session,) in cursor.fetchall():
            # It may have ended by itself since.
            with contextlib.suppress(pymysql.err.OperationalError):
                cursor.execute("KILL %s", (session,))
        cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")


@pytest.fixture(scope="session")
def database_server() -> Iterator[PrivateServer]:
    """The run's server, shared by all tests: never kill or pause it, see `private_server`."""
    with private_server() as server:
        yield server


@pytest.fixture
def database_url(database_server: PrivateServer) -> Iterator[str]:
    """The URL of an empty database of this test's own."""
    url = create_database(database_server)
    yield url
    drop_database(database_server, url)


def base_folder() -> Path:
    """Where servers and the originals of their data folders lie; this user's only."""
    named = os.environ.get(BASE_FOLDER_VARIABLE)
    if named:
        return Path(named)
    folder = Path(tempfile.gettempdir()) / f"collection-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _remove_left_overs(base: Path) -> None:
    """Ends servers whose test run was killed before it could end them."""
    for folder in base.iterdir():
        owner = folder.name.split("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            PrivateServer(folder).kill()
            shutil.rmtree(folder, ignore_errors=True)

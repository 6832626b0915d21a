"""The project's private server as something that separate processes start, look at and stop.

Invariant: at most one server per folder. Start, stop and status take the same file lock, starting
a running server changes nothing, and a pid file whose process is dead or somebody else's counts
as stopped. With COLLECTION_DATABASE_URL or COLLECTION_DATABASE_URL_FILE set nothing is ever
started: that server is used.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from collection_pipeline.local_db.accounts import account_statements
from collection_pipeline.local_db.discovery import Preference, find_server
from collection_pipeline.local_db.errors import AddressFileUnreadable
from collection_pipeline.local_db.home import database_folder
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.local_db.server_binary import ServerKind
from collection_pipeline.local_db.state_file import ServerState, read_state, write_state

DATABASE = "collection"
DAGSTER_DATABASE = "collection_dagster"


@dataclass(frozen=True)
class LocalDatabase:
    """A usable pair of databases. The URLs hold passwords: never print them.

    `pid`, `port`, `kind` and `version` are None for a server that the environment names.
    """

    url: str = field(repr=False)
    dagster_url: str = field(repr=False)
    kind: ServerKind | None = None
    version: str | None = None
    pid: int | None = None
    port: int | None = None


def start_local(prefer: Preference = "any") -> LocalDatabase:
    """Starts the private server unless it runs or the environment names another one.

    Makes the databases `collection` and `collection_dagster` (utf8mb4), each with an account of
    the same name that may use only that database.
    """
    named = _named_by_environment()
    if named is not None:
        return named
    folder = database_folder()
    with _lock(folder):
        path = folder / "state.json"
        state = read_state(path) or ServerState(find_server(prefer).kind)
        server = _server(folder, state)
        # Written first: a start that is killed half-way must not lose the accounts' passwords.
        write_state(path, state)
        server.start()
        state = replace(state, port=server.port, version=server.version())
        write_state(path, state)
        return _describe(server, state)


def stop_local() -> bool:
    """Stops the private server; False if it was not running."""
    with _existing() as found:
        if found is None:
            return False
        server, _ = found
        was_running = server.running
        server.stop()
        return was_running


def local_status() -> LocalDatabase | None:
    """The private server if it runs, or the one that the environment names; else None."""
    named = _named_by_environment()
    if named is not None:
        return named
    with _existing() as found:
        return _describe(*found) if found is not None and found[0].running else None


def _named_by_environment() -> LocalDatabase | None:
    """Dagster's database is then the one named, or `collection_dagster` on the same server."""
    url = _address("COLLECTION_DATABASE_URL")
    if not url:
        return None
    dagster_url = _address("COLLECTION_DAGSTER_DATABASE_URL")
    if not dagster_url:
        dagster_url = urlunsplit(urlsplit(url)._replace(path=f"/{DAGSTER_DATABASE}"))
    return LocalDatabase(url, dagster_url)


def _address(variable: str) -> str:
    """From the variable or its file, empty where neither is set."""
    file_name = os.environ.get(f"{variable}_FILE", "").strip()
    if not file_name:
        return os.environ.get(variable, "")
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise AddressFileUnreadable(f"{variable}_FILE") from None


def _server(folder: Path, state: ServerState) -> PrivateServer:
    server = PrivateServer(
        folder / state.kind,
        prefer=state.kind,
        port=state.port,
        password=state.owner_password,
    )
    for name, password in _accounts(state).items():
        server.statements += [
            f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4;",
            *account_statements(name, password),
            # Without the backslash `_` would stand for any letter.
            f"GRANT ALL PRIVILEGES ON `{name.replace('_', chr(92) + '_')}`.* TO '{name}'@'%';",
        ]
    return server


def _accounts(state: ServerState) -> dict[str, str]:
    """Password by account; an account and its only database have one name."""
    return {DATABASE: state.collection_password, DAGSTER_DATABASE: state.dagster_password}


def _describe(server: PrivateServer, state: ServerState) -> LocalDatabase:
    return LocalDatabase(
        url=server.url_for(DATABASE, state.collection_password, DATABASE),
        dagster_url=server.url_for(DAGSTER_DATABASE, state.dagster_password, DAGSTER_DATABASE),
        kind=state.kind,
        version=state.version,
        pid=server.pid,
        port=server.port,
    )


@contextmanager
def _existing() -> Iterator[tuple[PrivateServer, ServerState] | None]:
    """The server that some process has started in this folder, under the folder's lock."""
    folder = database_folder()
    if not folder.is_dir():
        yield None
        return
    with _lock(folder):
        state = read_state(folder / "state.json")
        yield None if state is None else (_server(folder, state), state)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""One MySQL or MariaDB server in a folder of its own, on a free loopback port.

Invariant: a server keeps its port, its account and its data over `stop`, `kill` and `start`, so
that a URL handed out once stays right. Nothing outside its folder is touched, except a socket in
the temporary folder where the path would be too long for one.

    new -start-> running -stop/kill-> stopped -start-> running
                 running -pause-> paused -resume-> running
"""

import contextlib
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import pymysql

from collection_pipeline.local_db import server_process
from collection_pipeline.local_db.accounts import OWNER, write_start_file
from collection_pipeline.local_db.data_folder import prepare_data_folder
from collection_pipeline.local_db.discovery import Preference, find_server
from collection_pipeline.local_db.errors import (
    ServerDidNotStart,
    ServerDidNotStop,
    ServerNotRunning,
)
from collection_pipeline.local_db.server_binary import ServerBinary, ServerKind
from collection_pipeline.local_db.server_options import run_options
from collection_pipeline.local_db.socket_path import fresh_socket_path, remove_temporary_socket

START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 30.0
KILL_TIMEOUT_SECONDS = 10.0

_PORT_ATTEMPTS = 5
_POLL_SECONDS = 0.05


class PrivateServer:
    """A server below `folder`. The account `collection_owner` may do everything on it.

    `options` are appended to the server's command line, so that they win over the defaults.
    """

    def __init__(
        self,
        folder: Path,
        *,
        binary: ServerBinary | None = None,
        prefer: Preference = "any",
        port: int | None = None,
        password: str | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder.resolve()
        self._binary = binary
        self._prefer = prefer
        self.port = port
        self.password = secrets.token_urlsafe(24) if password is None else password
        self.options = options
        self.statements: list[str] = []
        self._version: str | None = None

    @property
    def binary(self) -> ServerBinary:
        """The program; looked for when it is first needed, which stopping a server does not."""
        if self._binary is None:
            self._binary = find_server(self._prefer)
        return self._binary

    @property
    def kind(self) -> ServerKind:
        """`mysql` or `mariadb`."""
        return self.binary.kind

    @property
    def data_folder(self) -> Path:
        """The server's own files."""
        return self.folder / "data"

    @property
    def log_file(self) -> Path:
        """What the server says about itself."""
        return self.folder / "server.log"

    @property
    def pid(self) -> int | None:
        """The server's process id; None if it does not run, whatever the pid file says."""
        pid = server_process.read_pid(self._pid_file)
        if pid is None or not server_process.is_server_of(pid, self.data_folder):
            return None
        return pid

    @property
    def running(self) -> bool:
        """True while the process lives, paused or not."""
        return self.pid is not None

    def url(self, database: str) -> str:
        """SQLAlchemy's URL of one database on this server, for its owner. Holds the password."""
        return self.url_for(OWNER, self.password, database)

    def url_for(self, user: str, password: str, database: str) -> str:
        """The same for another account.

        Without `ssl_disabled` PyMySQL loads the machine's certificates for each connection, even
        though this server has no TLS: 24 ms instead of 1.3 ms.
        """
        address = f"127.0.0.1:{self.port}/{database}?charset=utf8mb4&ssl_disabled=true"
        return f"mysql+pymysql://{quote(user, safe='')}:{quote(password, safe='')}@{address}"

    def version(self) -> str:
        """What `SELECT VERSION()` said at the start; MariaDB's names itself."""
        if self._version is None:
            self._version = self._ask_version()
        return self._version

    def start(self) -> None:
        """Starts the server and returns when it answers; does nothing if it runs already."""
        if self.running:
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        prepare_data_folder(self.binary, self.data_folder)
        try:
            self._start_on_free_port()
        finally:
            self._start_file.unlink(missing_ok=True)
        self._version = self._ask_version()

    def stop(self) -> None:
        """Ends the server in order, by force if it takes longer than 30 s."""
        pid = self.pid
        if pid is not None:
            # A stopped process would keep the request to end until it is continued.
            server_process.send(pid, self.data_folder, signal.SIGTERM)
            server_process.send(pid, self.data_folder, signal.SIGCONT)
            if not server_process.wait_until_gone(pid, self.data_folder, STOP_TIMEOUT_SECONDS):
                self.kill()
        self._pid_file.unlink(missing_ok=True)
        remove_temporary_socket(self.folder)

    def kill(self) -> None:
        """Ends the server as a crash would; a later `start` recovers its data."""
        pid = self.pid
        if pid is None:
            return
        server_process.send(pid, self.data_folder, signal.SIGKILL)
        if not server_process.wait_until_gone(pid, self.data_folder, KILL_TIMEOUT_SECONDS):
            raise ServerDidNotStop(f"process {pid}")

    def pause(self) -> None:
        """Freezes the server: its port still accepts, nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a paused server go on."""
        self._signal(signal.SIGCONT)

    def connect(self) -> "pymysql.Connection[pymysql.cursors.Cursor]":
        """A new session of the owner, in no database, with autocommit on."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port or 0,
            user=OWNER,
            password=self.password,
            charset="utf8mb4",
            ssl_disabled=True,
            connect_timeout=5,
            read_timeout=60,
            autocommit=True,
        )

    def execute(self, *statements: str) -> None:
        """Runs statements as the owner, each in a transaction of its own."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start_on_free_port(self) -> None:
        wanted = self.port
        for attempt in range(_PORT_ATTEMPTS):
            self.port = wanted if wanted is not None and attempt == 0 else _free_port()
            log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
            process = self._launch()
            if self._wait_until_ready(process):
                # The server outlives this object: from here on its pid file stands for it.
                process.returncode = 0
                return
            said = self.log_file.read_bytes()[log_start:].decode(errors="replace")
            if "Address already in use" not in said:
                raise ServerDidNotStart(_first_error(said))
        raise ServerDidNotStart("no free port")

    def _launch(self) -> subprocess.Popen[bytes]:
        # A crashed server leaves it, and the next one would be taken for dead.
        self._pid_file.unlink(missing_ok=True)
        options = run_options(
            self.binary,
            self.data_folder,
            port=self.port or 0,
            socket=fresh_socket_path(self.folder),
            pid_file=self._pid_file,
            init=write_start_file(self._start_file, self.password, self.statements),
        )
        with self.log_file.open("ab") as log:
            return subprocess.Popen(
                [*self.binary.command, *options, *self.options],
                env=self.binary.environment(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # An interrupt typed at the terminal is for the program, not for its database.
                start_new_session=True,
            )

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """True when the owner can log in; False when the process ended before that."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return False
            # Another server may have taken the port: only this one knows the password.
            if self.pid == process.pid and self._answers():
                return True
            time.sleep(_POLL_SECONDS)
        process.kill()
        process.wait()
        raise ServerDidNotStart(f"no answer after {START_TIMEOUT_SECONDS:.0f} s")

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except pymysql.err.MySQLError:
            return False
        return True

    def _ask_version(self) -> str:
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            row = cursor.fetchone()
        assert row is not None
        return str(row[0])

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is None or not server_process.send(pid, self.data_folder, number):
            raise ServerNotRunning

    @property
    def _start_file(self) -> Path:
        return self.folder / "start.sql"

    @property
    def _pid_file(self) -> Path:
        return self.folder / "server.pid"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _first_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "ERROR" in line]
    return (lines or log.splitlines() or ["it wrote no log"])[0][-300:]

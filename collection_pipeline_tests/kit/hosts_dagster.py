"""Dagster over several hosts: a code server on each worker, the daemon beside the database.

Invariant: nobody is started again. What a cut link breaks has to mend by itself.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dagster as dg

from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    opened_instance,
)
from collection_pipeline_tests.kit.three_hosts import (
    DATABASE,
    WORKERS,
    ThreeHosts,
    wait_by_the_clock,
)

PORT = 4000
DEFINITIONS = "collection_pipeline_tests.kit.quick_definitions"
STORAGE_TIMES = "&connect_timeout=5&read_timeout=10&write_timeout=10"
"""As docs/operations.md asks for; without them a silent link holds a process for ever."""


class HostsDagster:
    """``home``: a folder for workspace and logs; ``dagster_url``: as the test sees it."""

    def __init__(self, hosts: ThreeHosts, dagster_url: str, home: Path) -> None:
        self._hosts = hosts
        self._url = dagster_url + STORAGE_TIMES
        self._home = home
        self.environment = dagster_environment(hosts.stack.environment, self._url, home)

    def start(self) -> None:
        """Code servers first; the daemon once both answer."""
        for host, attribute in zip(WORKERS, ("first_host", "added_host"), strict=True):
            self._serve(host, attribute)
        for host in WORKERS:
            wait_by_the_clock(
                f"the code server on {host} listens", partial(self._listens, host), PATIENCE_SECONDS
            )
        self._workspace.write_text(
            "load_from:\n"
            + "".join(
                f"  - grpc_server: {{host: {self._hosts.network.address(host)}, port: {PORT},"
                f" location_name: {host}}}\n"
                for host in WORKERS
            ),
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(self._workspace)]
        self._hosts.network.run(DATABASE, command, self.environment, self.log(DATABASE))

    def log(self, host: str) -> Path:
        """What Dagster's processes on ``host`` have said."""
        return self._home / f"{host}.log"

    def said(self) -> str:
        """All logs, for the message of a failed test."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')}"
            for path in sorted(self._home.glob("*.log"))
        )

    @property
    def _workspace(self) -> Path:
        return self._home / "workspace.yaml"

    def _serve(self, host: str, attribute: str) -> None:
        address = self._hosts.network.address(host)
        environment = dagster_environment(
            self._hosts.environment(), self._hosts.url(self._url), self._home
        )
        code = ["-m", DEFINITIONS, "-a", attribute]
        place = ["-h", address, "-p", str(PORT), "--location-name", host]
        self._hosts.network.run(
            host,
            [sys.executable, "-m", "dagster", "api", "grpc", *code, *place],
            environment,
            self.log(host),
        )

    def _listens(self, host: str) -> bool:
        try:
            socket.create_connection((self._hosts.network.address(host), PORT), 1).close()
        except OSError:
            return False
        return True


@contextmanager
def opened_hosts_dagster(
    hosts: ThreeHosts, dagster_url: str, home: Path
) -> Iterator[tuple[HostsDagster, dg.DagsterInstance]]:
    """Not started yet; with the instance as the test sees it."""
    world = HostsDagster(hosts, dagster_url, home)
    with opened_instance(world.environment) as instance:
        try:
            yield world, instance
        except BaseException as failure:
            failure.add_note(world.said())
            raise

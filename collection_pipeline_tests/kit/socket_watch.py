"""Runs a whole stack where nothing can leave, and tells what tried to, and who talked to whom.

Two witnesses: the kernel of the stack's own network (``lonely_network``), which nobody evades, and
the Python processes themselves (``socket_watch_site``), which know the names and the addresses.
"""

import ast
import ipaddress
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from collection_pipeline_tests.kit import lonely_network, socket_watch_site
from collection_pipeline_tests.kit.dagster_world import ROOT, descendants, is_alive
from collection_pipeline_tests.kit.socket_watch_site.sitecustomize import FILE_VARIABLE

SITE_FOLDER = Path(socket_watch_site.__file__).parent
LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
LOCAL_NAMES = frozenset({None, "", "localhost"})


@dataclass(frozen=True)
class Talk:
    """One connect, datagram or look-up; ``address`` as Python had it."""

    pid: int
    event: str
    address: object
    command: str

    @property
    def host(self) -> object:
        """The name or address without the port; a local socket's path stays as it is."""
        if isinstance(self.address, tuple):
            return self.address[0]
        return self.address.decode() if isinstance(self.address, bytes) else self.address

    @property
    def is_local(self) -> bool:
        """Whether it can only mean this machine: loopback, or a local socket."""
        if self.event in LOOKUPS and self.host in LOCAL_NAMES:
            return True
        if self.event not in LOOKUPS and isinstance(self.address, str | bytes):
            return True
        try:
            return ipaddress.ip_address(str(self.host)).is_loopback
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True)
class Watched:
    """How a command ended, what it printed, and both witnesses."""

    code: int
    output: str
    interfaces: list[str]
    counted: dict[str, int]
    talks: list[Talk]

    @property
    def strangers(self) -> set[str]:
        """Every host that is not this machine and was looked up or written to."""
        return {str(talk.host) for talk in self.talks if not talk.is_local}

    @property
    def heard(self) -> dict[str, int]:
        """The kernel's counts that are not zero."""
        return {name: value for name, value in self.counted.items() if value}

    def asked_by(self, word: str) -> set[object]:
        """The addresses that processes with ``word`` in their command line connected to."""
        return {
            talk.address
            for talk in self.talks
            if talk.event == "socket.connect" and word in talk.command
        }


class NoNamespace(RuntimeError):
    """This machine gives no network namespace; the message says what it said."""


def watched(
    command: tuple[str, ...], environment: Mapping[str, str], folder: Path, seconds: float
) -> Watched:
    """Runs ``command`` in a network of its own, at most so long; raises ``NoNamespace``."""
    report, log, talks = folder / "report.json", folder / "output", folder / "talks"
    inside = (sys.executable, "-m", lonely_network.__name__, str(report), *command)
    with log.open("wb") as output:
        process = subprocess.Popen(
            ("unshare", "--map-root-user", "--net", *inside),
            env={
                **environment,
                "PYTHONPATH": os.pathsep.join((str(SITE_FOLDER), str(ROOT))),
                FILE_VARIABLE: str(talks),
            },
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        process.wait(seconds)
    finally:
        _end(process)
    said = log.read_text("utf-8", errors="replace")
    if not report.exists():
        raise NoNamespace(f"no network of its own could be made, or its command died: {said}")
    found = json.loads(report.read_text("utf-8"))
    return Watched(found["code"], said, found["interfaces"], found["counted"], _read_talks(talks))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Nothing outlives the watch, also where the test is interrupted."""
    if process.poll() is None:
        for pid in {*descendants(process.pid), process.pid}:
            if is_alive(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    process.wait()


def _read_talks(file: Path) -> list[Talk]:
    if not file.exists():
        return []
    lines = (line.split("\t") for line in file.read_text("utf-8").splitlines())
    return [
        Talk(int(pid), event, ast.literal_eval(address), ast.literal_eval(command))
        for pid, event, address, command in lines
    ]

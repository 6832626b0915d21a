"""Dagster's webserver and daemon and the operations page, as children ended by their ids."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from urllib.request import urlopen

from collection_pipeline.demo.dagster_home import dagster_home
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.settings import PREFIX

START_SECONDS = 60.0
STOP_SECONDS = 15.0
GROUP_STOP_SECONDS = 2.0
DAY_CHECK_SECONDS = 2.0
DAGSTER_PORT = 3000
OPERATIONS_PORT = 3001


class ServiceEnded(Exception):
    """A child that should go on running has ended; its log says why."""


def serve_until_stopped(stack: DemoStack, say: Callable[[str], None]) -> None:
    """Run all three until SIGINT or SIGTERM, the simulator's day following the clock."""
    stopping = threading.Event()
    before = {
        number: signal.signal(number, _setter(stopping))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    port, page_port = _port(DAGSTER_PORT), _port(OPERATIONS_PORT)
    ui, page = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{page_port}"
    children: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, arguments in _commands(port, page_port).items():
            children[name] = _start(stack, name, arguments, ui, page)
        _wait_until_served("Dagster UI", f"{ui}/server_info", children, stopping)
        _wait_until_served("operations page", f"{page}/static/style.css", children, stopping)
        if not stopping.is_set():
            say(f"operations page: {page}")
            say(f"Dagster UI: {ui}")
            say("Ctrl-C stops everything.")
        while not stopping.wait(DAY_CHECK_SECONDS):
            _require_running(children)
            stack.simulator.set_day(stack.today)
    finally:
        for child in children.values():
            _stop(child)
        for number, handler in before.items():
            signal.signal(number, handler)


def _setter(stopping: threading.Event) -> Callable[[int, FrameType | None], None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    return stop


def _workspace() -> str:
    return str(dagster_home() / "workspace.yaml")


def _commands(port: int, page_port: int) -> dict[str, list[str]]:
    at = ["-h", "127.0.0.1", "-p", str(port), "-w", _workspace()]
    page = ["operations", "--host", "127.0.0.1", "--port", str(page_port)]
    return {
        "webserver": ["-m", "dagster_webserver", *at],
        "daemon": ["-m", "dagster._daemon", "run", "-w", _workspace()],
        "operations": ["-m", "collection_pipeline.cli.main", *page],
    }


def _start(
    stack: DemoStack, name: str, arguments: list[str], ui: str, page: str
) -> subprocess.Popen[bytes]:
    """A child in a session of its own, so that Ctrl-C reaches it through us only."""
    with (stack.folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env={
                **stack.environment,
                f"{PREFIX}DAGSTER_UI_URL": ui,
                f"{PREFIX}OPERATIONS_PAGE_URL": page,
            },
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_served(
    what: str,
    address: str,
    children: dict[str, subprocess.Popen[bytes]],
    stopping: threading.Event,
) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at and not stopping.is_set():
        _require_running(children)
        with contextlib.suppress(OSError):
            urlopen(address, timeout=5).close()  # noqa: S310  # loopback, made here
            return
        stopping.wait(0.5)
    if not stopping.is_set():
        raise ServiceEnded(f"the {what} did not answer within {START_SECONDS:.0f} s")


def _require_running(children: dict[str, subprocess.Popen[bytes]]) -> None:
    for name, child in children.items():
        if child.poll() is not None:
            raise ServiceEnded(f"the {name} ended with exit code {child.returncode}")


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End a child, then whatever it has left behind in its session: Dagster's code servers."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=STOP_SECONDS)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=GROUP_STOP_SECONDS)


def _port(wanted: int) -> int:
    """``wanted`` if nobody listens there, so that the address is the same each time."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise ServiceEnded("no port is free on 127.0.0.1")

"""Dagster's webserver and daemon as children of this process, ended by their process ids."""

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

START_SECONDS = 60.0
STOP_SECONDS = 15.0
GROUP_STOP_SECONDS = 2.0
DAY_CHECK_SECONDS = 2.0


class ServiceEnded(Exception):
    """A child that should go on running has ended; its log says why."""


def serve_until_stopped(stack: DemoStack, say: Callable[[str], None]) -> None:
    """Run webserver and daemon until SIGINT or SIGTERM, the simulator's day following the clock."""
    stopping = threading.Event()
    before = {
        number: signal.signal(number, _setter(stopping))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    port = _free_port()
    children = {
        "webserver": _start(
            stack,
            "webserver",
            ["-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-w", _workspace()],
        ),
        "daemon": _start(stack, "daemon", ["-m", "dagster._daemon", "run", "-w", _workspace()]),
    }
    try:
        _wait_until_served(port, children, stopping)
        say(f"Dagster UI: http://127.0.0.1:{port}")
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


def _start(stack: DemoStack, name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    """A child in a session of its own, so that Ctrl-C reaches it through us only."""
    with (stack.folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=stack.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_served(
    port: int, children: dict[str, subprocess.Popen[bytes]], stopping: threading.Event
) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while time.monotonic() < ends_at and not stopping.is_set():
        _require_running(children)
        with contextlib.suppress(OSError):
            urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5).close()
            return
        stopping.wait(0.5)
    if not stopping.is_set():
        raise ServiceEnded(f"the Dagster UI did not answer within {START_SECONDS:.0f} s")


def _require_running(children: dict[str, subprocess.Popen[bytes]]) -> None:
    for name, child in children.items():
        if child.poll() is not None:
            raise ServiceEnded(f"the Dagster {name} ended with exit code {child.returncode}")


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

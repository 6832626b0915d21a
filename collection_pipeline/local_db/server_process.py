"""Tells whether a process id is still the server of one data folder, and signals it.

Invariant: no signal is ever sent to a process that was not just recognised as that server; a
pid that was reused after a crash belongs to somebody else.
"""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

_POLL_SECONDS = 0.02


def is_server_of(pid: int, data_folder: Path) -> bool:
    """True if `pid` is alive and was started with this data folder."""
    return f"--datadir={data_folder}" in _command_line(pid)


def read_pid(pid_file: Path) -> int | None:
    """The number in a pid file; None if there is no file or no number in it."""
    try:
        return int(pid_file.read_text().strip())
    except (OSError, ValueError):
        return None


def send(pid: int, data_folder: Path, number: signal.Signals) -> bool:
    """Signals the server; False if it is gone."""
    if not is_server_of(pid, data_folder):
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def wait_until_gone(pid: int, data_folder: Path, seconds: float) -> bool:
    """True as soon as the server and its locks are gone, False if it lives after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_server_of(pid, data_folder) and _has_released_all(pid):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _has_released_all(pid: int) -> bool:
    """A dying process loses its arguments before its port and its file locks."""
    with suppress(ChildProcessError):
        # A dead child of this process would otherwise stay as a zombie.
        os.waitpid(pid, os.WNOHANG)
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list((process / "task").iterdir()))
    except OSError:
        return True
    return state in "ZX" and threads <= 1


def _command_line(pid: int) -> list[str]:
    """The process's arguments; empty for a dead one and for a zombie."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []
    done = subprocess.run(
        ["ps", "-ww", "-o", "args=", "-p", str(pid)],  # noqa: S607
        capture_output=True,
        text=True,
    )
    return done.stdout.split()

"""A worker in a process of its own: started, watched by the points it passes, stopped or killed.

Invariant: the test learns from the process itself where it is, never by waiting a while; a process
that is still there when the test ends is killed by its id.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from collection_pipeline_tests.kit import worker_entry

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0
TICK = ("tick", "--drain", "--json")


class WorkerProcess:
    """``crash_at`` names the point where it kills (or stops) itself, at its ``on_pass``-th pass.

    ``module`` is started with ``arguments``; it installs ``worker_entry``'s points. ``entering`` is
    a command that becomes the process, such as one that enters another host's network.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        arguments: tuple[str, ...] = TICK,
        *,
        crash_at: str | None = None,
        crash_signal: signal.Signals = signal.SIGKILL,
        on_pass: int = 1,
        log_level: str = "WARNING",
        patience_seconds: float = PATIENCE_SECONDS,
        module: str = worker_entry.__name__,
        entering: Sequence[str] = (),
    ) -> None:
        self._said = b""
        self._patience = patience_seconds
        self._passed: list[str] = []
        self._files = ExitStack()
        folder = Path(self._files.enter_context(tempfile.TemporaryDirectory()))
        self._out, self._err = folder / "out", folder / "err"
        self._events, write_end = os.pipe()
        own = {
            worker_entry.EVENTS_FD: str(write_end),
            worker_entry.CRASH_SIGNAL: crash_signal.name,
            worker_entry.CRASH_PASS: str(on_pass),
            worker_entry.LOG_LEVEL: log_level,
        }
        if crash_at is not None:
            own[worker_entry.CRASH_POINT] = crash_at
        kept = {name: value for name, value in os.environ.items() if "COLLECTION_" not in name}
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [*entering, sys.executable, "-m", module, *arguments],
                env={**kept, **environment, **own},
                cwd=ROOT,
                pass_fds=(write_end,),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        os.close(write_end)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def output(self) -> str:
        """Everything it printed so far, standard output and standard error."""
        return self.printed + self._err.read_text(errors="replace")

    @property
    def printed(self) -> str:
        """Its standard output so far."""
        return self._out.read_text(errors="replace")

    def wait_for(self, point: str, on_pass: int = 1) -> None:
        """Returns once it has passed ``point``; fails when it ends or takes too long."""
        wanted = f"{point} {on_pass}"
        deadline = time.monotonic() + self._patience
        while wanted not in self._passed:
            assert self._read(deadline), f"it ended before {wanted}; it said: {self.output}"

    def passes(self, point: str, on_pass: int = 1) -> bool:
        """Waits for ``point``; False where the process ends without having passed it so often."""
        deadline = time.monotonic() + self._patience
        while f"{point} {on_pass}" not in self._passed:
            if not self._read(deadline):
                assert time.monotonic() < deadline, f"it takes too long: {self.output}"
                return False
        return True

    def wait_until_stopped(self) -> None:
        """Returns once a SIGSTOP has taken hold of the whole process."""
        assert self.stops_before_it_ends(), f"it ended instead: {self.output}"

    def stops_before_it_ends(self) -> bool:
        """Whether a SIGSTOP took hold of it; False where it ended without one."""
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert found is not None
        return found.si_code == os.CLD_STOPPED

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this process only."""
        self._process.send_signal(number)

    def wait(self, patience_seconds: float | None = None) -> int:
        """Its exit code; minus the signal's number where one killed it."""
        return self._process.wait(patience_seconds or self._patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._events)
        self._files.close()

    def _read(self, deadline: float) -> bool:
        readable, _, _ = select.select([self._events], [], [], deadline - time.monotonic())
        data = os.read(self._events, 65_536) if readable else b""
        *lines, self._said = (self._said + data).split(b"\n")
        self._passed += [line.decode() for line in lines]
        return bool(data)

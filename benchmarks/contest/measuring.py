"""What one run costs: wall time, processor time of its processes and of the server, peak memory.

Counted from the moment the contestant may begin to the end of its process, so that starting Python
and importing count for nobody; only the peak is of the process's whole life. Processor time has
what ended children used.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contest.task import READY
from benchmarks.processes import PeakMemory, processor_seconds, tree

LONGEST_SECONDS = 900.0
IDLE_SHARE = 0.04
IDLE_CHECK_SECONDS = 0.25
LONGEST_SETTLING_SECONDS = 4.0


class ContestantFailed(Exception):
    """A contestant ended badly or not at all; the message holds the end of what it said."""


@dataclass(frozen=True)
class Measured:
    """One run; memory in megabytes."""

    seconds: float
    processor_seconds: float
    server_seconds: float
    peak_megabytes: float


def measured_run(
    command: Sequence[str], environment: Mapping[str, str], server_pid: int, log: Path
) -> Measured:
    """Run one contestant; raises ``ContestantFailed``."""
    settle(server_pid)
    with log.open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        too_late = threading.Timer(LONGEST_SECONDS, _end_group, args=(process.pid,))
        too_late.start()
        try:
            return _from_start_to_end(process, server_pid)
        except ContestantFailed as failed:
            errors.seek(0)
            raise ContestantFailed(f"{failed}\n{errors.read()[-3_000:]}") from None
        finally:
            too_late.cancel()


def settle(server_pid: int) -> None:
    """Wait until the server is idle: what one contestant left to be purged is not another's."""
    deadline = time.monotonic() + LONGEST_SETTLING_SECONDS
    while time.monotonic() < deadline:
        before = processor_seconds(server_pid)
        time.sleep(IDLE_CHECK_SECONDS)
        if processor_seconds(server_pid) - before <= IDLE_SHARE * IDLE_CHECK_SECONDS:
            return


def _from_start_to_end(process: "subprocess.Popen[str]", server_pid: int) -> Measured:
    assert process.stdin is not None
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.strip() == READY:
            break
    else:
        raise ContestantFailed(f"exit code {process.wait()} before it was ready: {said[-1_000:]}")
    peak = PeakMemory(process.pid)
    used = sum(processor_seconds(pid) for pid in tree(process.pid))
    server_used = processor_seconds(server_pid)
    peak.start()
    began = time.monotonic()
    process.stdin.write("go\n")
    process.stdin.close()
    # What it prints is not wanted, but a full pipe would stop it.
    draining = threading.Thread(target=process.stdout.read)
    draining.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    server_seconds = processor_seconds(server_pid) - server_used
    peak.stop()
    draining.join()
    if process.returncode != 0:
        raise ContestantFailed(f"exit code {process.returncode}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime - used, server_seconds, peak.megabytes)


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)

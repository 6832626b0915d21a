"""What other processes use: processor time and peak memory, as the kernel counts them.

The peak is the largest sum of resident memory over a process and its descendants among samples, or
the process's own high-water mark where that is larger. ``ru_maxrss`` would not do: it keeps the
peak of whoever started the process.
"""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_MEGABYTES = os.sysconf("SC_PAGE_SIZE") / 1024**2
SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class Used:
    """What a process used from its start to its end."""

    processor_seconds: float
    peak_megabytes: float


def used_by(command: Sequence[str], environment: Mapping[str, str]) -> Used:
    """Run a command to its end, its output thrown away; raises ``RuntimeError`` if it fails."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    peak = PeakMemory(process.pid)
    peak.start()
    _, status, usage = os.wait4(process.pid, 0)
    peak.stop()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Used(usage.ru_utime + usage.ru_stime, peak.megabytes)


def processor_seconds(pid: int) -> float:
    """What a process has used so far, with children that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS_A_SECOND


class PeakMemory(threading.Thread):
    """Samples the memory of a process and its descendants until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.megabytes = 0.0
        self._pid = pid
        self._ended = threading.Event()

    def run(self) -> None:
        """Sample at once, then at intervals."""
        while True:
            total = sum(_resident_megabytes(pid) for pid in tree(self._pid))
            self.megabytes = max(self.megabytes, total, _high_water_megabytes(self._pid))
            if self._ended.wait(SAMPLE_SECONDS):
                return

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self.join()


def tree(pid: int) -> Iterator[int]:
    """The process and its living descendants; one that ends meanwhile is left out."""
    yield pid
    children: list[str] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                children += (task / "children").read_text().split()
    for child in children:
        yield from tree(int(child))


def _resident_megabytes(pid: int) -> float:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_MEGABYTES
    return 0.0


def _high_water_megabytes(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0

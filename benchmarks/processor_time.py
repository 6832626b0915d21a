"""Processor time of this process, of the database server and of the platforms, side by side.

Processor time says how much of a machine the work takes, also where the machine has other work;
wall time does not. The kernel counts another process in steps of 10 ms, so measure much at once.
"""

import time
from dataclasses import dataclass

from benchmarks.processes import processor_seconds

MILLISECONDS = 1000.0


@dataclass(frozen=True)
class Spent:
    """Milliseconds: processor time of each side, and the time on the wall."""

    worker: float = 0.0
    database: float = 0.0
    platforms: float = 0.0
    wall: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.worker + other.worker,
            self.database + other.database,
            self.platforms + other.platforms,
            self.wall + other.wall,
        )

    def __sub__(self, other: "Spent") -> "Spent":
        return self + other.times(-1)

    def times(self, factor: float) -> "Spent":
        """Every part ``factor`` times."""
        return Spent(
            self.worker * factor,
            self.database * factor,
            self.platforms * factor,
            self.wall * factor,
        )

    def per(self, count: int) -> "Spent":
        """The share of one of ``count``; nothing where there are none."""
        return self.times(1 / count) if count else Spent()


class Meter:
    """Reads the clocks; ``database`` and ``platforms`` are process ids on this machine."""

    def __init__(self, database: int, platforms: int) -> None:
        self._database = database
        self._platforms = platforms

    def read(self) -> Spent:
        """What was spent until now, since some fixed moments."""
        return Spent(
            time.process_time() * MILLISECONDS,
            processor_seconds(self._database) * MILLISECONDS,
            processor_seconds(self._platforms) * MILLISECONDS,
            time.monotonic() * MILLISECONDS,
        )

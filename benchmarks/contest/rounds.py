"""The rounds: every contestant in turn for each size and latency, in another order each round.

A contestant gets an empty database and a folder of its own, loads once, loads again the same, and
is checked after each load. What is measured is told in ``measuring``.
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.contest.catalogue import SOURCES
from benchmarks.contest.checking import check
from benchmarks.contest.contestants import Contestant, Store
from benchmarks.contest.databases import ContestDatabases, begin_next_day, register_sources
from benchmarks.contest.measuring import Measured, measured_run
from benchmarks.contest.page_server import ACCESS_KEY
from benchmarks.contest.task import ContestTask
from collection_pipeline.local_db.server import PrivateServer

LOADS = ("first", "second")


@dataclass(frozen=True)
class Case:
    """What is measured: rows a source, the page server's latency, which load."""

    rows: int
    latency_ms: int
    load: str


@dataclass
class Results:
    """The measurements of each case by the contestant's name, a round each."""

    runs: dict[Case, dict[str, list[Measured]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def add(self, case: Case, contestant: Contestant, measured: Measured) -> None:
        """Keep one, and say it."""
        self.runs[case][contestant.name].append(measured)
        rate = SOURCES * case.rows / measured.seconds
        print(
            f"{case.rows:>6} rows, {case.latency_ms:>3} ms, {case.load:<6} {contestant.name:<22} "
            f"{rate:>9,.0f} rows/s {measured.processor_seconds:>7.2f} s "
            f"{measured.server_seconds:>7.2f} s {measured.peak_megabytes:>6.0f} MB",
            flush=True,
        )


class PageServerProcess:
    """The page server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.base_url = f"http://127.0.0.1:{self._said().removeprefix('port ')}"

    def set_latency(self, milliseconds: int) -> None:
        """From the next answer on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"latency={milliseconds}\n")
        self._process.stdin.flush()
        assert self._said() == "ok"

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def page_server(sizes: Sequence[int]) -> Iterator[PageServerProcess]:
    """A running page server with the catalogues of these sizes."""
    command = [sys.executable, "-m", "benchmarks.contest.page_server", "--sizes", *map(str, sizes)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield PageServerProcess(process)
        finally:
            process.terminate()


@dataclass(frozen=True)
class Contest:
    """Where the rounds happen; ``python`` is the contestants' interpreter."""

    server: PrivateServer
    databases: ContestDatabases
    pages: PageServerProcess
    python: Path
    results: Results

    def take_turns(
        self,
        contestants: Sequence[Contestant],
        rows: int,
        latencies: Sequence[int],
        round_number: int,
    ) -> None:
        """One round of one size: all contestants with each latency."""
        turn = round_number % len(contestants)
        for latency in latencies:
            self.pages.set_latency(latency)
            for contestant in (*contestants[turn:], *contestants[:turn]):
                self._both_loads(contestant, rows, latency)

    def _both_loads(self, contestant: Contestant, rows: int, latency: int) -> None:
        with (
            self.databases.for_first_load(contestant) as url,
            tempfile.TemporaryDirectory(prefix="contest-") as folder,
        ):
            task = ContestTask(
                base_url=self.pages.base_url,
                access_key=ACCESS_KEY,
                database_url=url,
                dagster_url=self.databases.dagster_url(contestant),
                sources=SOURCES,
                rows=rows,
                variant=contestant.variant,
                folder=folder,
            )
            if contestant.store is Store.QUEUE:
                register_sources(task)
            for load in LOADS[: 1 if contestant.store is Store.NOWHERE else 2]:
                day = begin_next_day(task) if contestant.store is Store.QUEUE else None
                measured = self._measured(contestant, task)
                check(contestant, self.server, task, day)
                self.results.add(Case(rows, latency, load), contestant, measured)

    def _measured(self, contestant: Contestant, task: ContestTask) -> Measured:
        module = f"benchmarks.contest.{contestant.module}"
        kept = {name: value for name, value in os.environ.items() if name[:11] != "COLLECTION_"}
        environment = {**kept, "DAGSTER_DISABLE_TELEMETRY": "yes", "PYTHONWARNINGS": "ignore"}
        pid = self.server.pid
        assert pid is not None
        return measured_run(
            [str(self.python), "-m", module, task.written()],
            environment,
            pid,
            Path(task.folder) / "errors.log",
        )

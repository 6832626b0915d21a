"""What two and four machines add to one, where hosts, their latency or the processor is the bound.

    python -m benchmarks.machines [--cycles 60] [--server mysql] [--machines 1 2 4]

A machine is a process with a network, an address and a name of its own, joined to the others by a
bridge; one database and the platforms have theirs. All drain the same queue of sources of one
slice, all are ready before the clock starts. After each drain the tables and the platforms' log
are judged: no lease twice (I2), every host's distance kept (I6), no page asked for twice. All of
them share this computer's processors, so the last case says what is left of one computer, not
what another one would add.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from urllib.parse import urlsplit

from benchmarks.processes import processor_seconds
from benchmarks.tables import Table, show
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.network_hosts import NetworkOfHosts, opened_network
from collection_pipeline_tests.kit.own_network import OWN_NAMESPACES
from collection_pipeline_tests.kit.servers import (
    BASE_FOLDER_VARIABLE,
    base_folder,
    create_database,
    private_server,
)
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.three_hosts import DATABASE, ON_EVERY_ADDRESS, PLATFORMS
from collection_pipeline_tests.kit.worker_entry import STARTED
from collection_pipeline_tests.kit.worker_process import WorkerProcess

INSIDE_VARIABLE = "COLLECTION_BENCH_IN_OWN_NETWORK"
POSTINGS = 3
MOST_SECONDS = 300.0
HEADER = (
    "bound",
    "machines",
    "cycles",
    "wall seconds",
    "cycles a second",
    "times one machine",
    "processors busy",
    "cycles of each machine",
)


@dataclass(frozen=True)
class Case:
    """What slows the drain down; ``threads`` a machine, ``share`` of the cycles asked for."""

    bound: str
    delay_ms: int
    latency_seconds: float
    threads: int
    share: float = 1.0


CASES = (
    Case("one host, 200 ms between requests", 200, 0.0, 4),
    Case("hosts that answer after 1 s, 2 threads a machine", 1, 1.0, 2),
    Case("the processors", 1, 0.0, 4, share=2.0),
)


def main() -> None:
    """Carries itself out again in namespaces of its own, and there measures every case."""
    arguments = _arguments()
    if not os.environ.get(INSIDE_VARIABLE):
        sys.exit(_carry_out_inside())
    rows: list[list[str]] = []
    version = ""
    for case in CASES:
        first = 0.0
        for machines in arguments.machines:
            cycles = int(arguments.cycles * case.share)
            with private_server(arguments.server, options=ON_EVERY_ADDRESS) as server:
                version = f"{server.kind} {server.version()}"
                measured = _measure(server, case, machines, cycles)
            first = first or measured.rate
            rows.append(measured.row(case, machines, first))
            print(" | ".join(rows[-1]), flush=True)
    caption = (
        "The same queue drained by one, two and four machines that share"
        f" {os.cpu_count()} processors with the database and the platforms."
        f" {version}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}."
    )
    show(Table("machines_rate", caption, HEADER, rows))


@dataclass(frozen=True)
class Drain:
    """What one drain took, and how the cycles fell to the machines."""

    seconds: float
    processor_seconds: float
    by_machine: Counter[str]

    @property
    def rate(self) -> float:
        """Cycles a second."""
        return self.by_machine.total() / self.seconds

    def row(self, case: Case, machines: int, first: float) -> list[str]:
        """The table's row; ``first`` is the rate of the first number of machines."""
        return [
            case.bound,
            str(machines),
            str(self.by_machine.total()),
            f"{self.seconds:.1f}",
            f"{self.rate:.1f}",
            f"{self.rate / first:.2f}",
            f"{self.processor_seconds / self.seconds:.2f}",
            ", ".join(str(count) for count in sorted(self.by_machine.values())),
        ]


def _measure(server: PrivateServer, case: Case, machines: int, cycles: int) -> Drain:
    names = [f"machine-{number}" for number in range(1, machines + 1)]
    with (
        opened_network(DATABASE, PLATFORMS, *names) as network,
        _opened_stack(create_database(server), network, case, names) as stack,
    ):
        for number in range(cycles):
            stack.add("greenhouse", f"board{number}-{POSTINGS}")
        stack.pipeline.dispatch.make_ready()
        if case.latency_seconds:
            stack.simulator.add_fault(
                {"name": "delay", "kind": "list", "seconds": case.latency_seconds}
            )
        with ExitStack() as opened:
            workers = [opened.enter_context(_ready_worker(stack, network, name)) for name in names]
            assert server.pid is not None
            pids = [os.getpid(), server.pid, *(worker.pid for worker in workers)]
            spent = -sum(processor_seconds(pid) for pid in pids)
            began = time.monotonic()
            for worker in workers:
                worker.send(SIGCONT)
            spent += _wait_for_all(stack, workers, pids, cycles)
            seconds = time.monotonic() - began
            for worker in workers:
                assert worker.wait(MOST_SECONDS) == 0, worker.output
        _judge(stack, cycles, case.delay_ms)
        found = stack.rows(
            "SELECT SUBSTRING_INDEX(worker, ':', 1) AS machine FROM collection_slices"
        )
        return Drain(seconds, spent, Counter(str(row["machine"]) for row in found))


@contextmanager
def _opened_stack(
    url: str, network: NetworkOfHosts, case: Case, names: Sequence[str]
) -> Iterator[Stack]:
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    with network.call(PLATFORMS, lambda: SimulatorServer(scenario={})) as simulator:
        ports = {
            urlsplit(one).port or 0 for one in (simulator.base_url, simulator.lever_eu_base_url)
        }
        for name in names:
            network.lend_loopback(PLATFORMS, name, ports)
        stack = Stack(
            url,
            simulator,
            HOST_MIN_DELAY_MS=case.delay_ms,
            TICK_CLAIM_LIMIT=case.threads,
            MAX_LEASES_PER_HOST=100,
        )
        try:
            stack.set_clock(1)
            stack.set_flags()
            yield stack
        finally:
            stack.close()


def _ready_worker(stack: Stack, network: NetworkOfHosts, name: str) -> WorkerProcess:
    """Imported and stopped, so that the start of Python is not measured."""
    address = network.address(DATABASE)
    url = stack.url.replace("@127.0.0.1:", f"@{address}:")
    worker = WorkerProcess(
        {**stack.environment, "COLLECTION_DATABASE_URL": url},
        crash_at=STARTED,
        crash_signal=SIGSTOP,
        entering=network.entering(name),
    )
    worker.wait_until_stopped()
    return worker


def _wait_for_all(
    stack: Stack, workers: Sequence[WorkerProcess], pids: Sequence[int], cycles: int
) -> float:
    """Until the queue is drained; the processor seconds of everybody at that moment."""
    ended = "SELECT COUNT(*) FROM job_posting_collection_runs"
    until = time.monotonic() + MOST_SECONDS
    while stack.value(ended) < cycles:
        assert time.monotonic() < until, [worker.output for worker in workers]
        time.sleep(0.05)
    return sum(processor_seconds(pid) for pid in pids if Path(f"/proc/{pid}").exists())


def _judge(stack: Stack, cycles: int, delay_ms: int) -> None:
    """I1, I2, I5, I6 and I8, and each page once."""
    assert_invariants(stack, delay_ms=delay_ms)
    asked = Counter((record["platform"], record["search_key"]) for record in stack.requests())
    assert len(asked) == cycles, f"{len(asked)} of {cycles} sources were asked"
    assert set(asked.values()) == {1}, "a page was asked for twice"


def _carry_out_inside() -> int:
    """The exit code of the same command as root of fresh namespaces; its servers end with it."""
    with tempfile.TemporaryDirectory(dir=base_folder(), prefix=f"{os.getpid()}-net-") as folder:
        for original in base_folder().glob("data-*"):
            (Path(folder) / original.name).symlink_to(original)
        command = [*OWN_NAMESPACES, sys.executable, "-m", "benchmarks.machines", *sys.argv[1:]]
        environment = {**os.environ, INSIDE_VARIABLE: "1", BASE_FOLDER_VARIABLE: folder}
        return subprocess.run(command, env=environment, check=False).returncode


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--cycles", type=int, default=60)
    parser.add_argument("--machines", type=int, nargs="+", default=(1, 2, 4))
    parser.add_argument("--server", choices=("mysql", "mariadb"), default="mysql")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""One queue, and hosts that work it: a database, platforms, and two workers called east and west.

Invariant: the database and the test are one host, so that the test sees the tables and the
simulator's log whatever link is cut. Everybody else reaches the database by the switch only.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.invariants import TERMINAL
from collection_pipeline_tests.kit.network_hosts import NetworkOfHosts, opened_network
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.worker_entry import STARTED
from collection_pipeline_tests.kit.worker_process import TICK, WorkerProcess

DATABASE = "database"
PLATFORMS = "platforms"
WORKERS = ("east", "west")
ASK_AGAIN_SECONDS = 0.05
ON_EVERY_ADDRESS = ("--bind-address=0.0.0.0",)
"""For the database server: the network is the test's own, nobody else is on it."""


def wait_by_the_clock(what: str, is_so: Callable[[], bool], seconds: float) -> None:
    """As ``wait_until``, however long one question takes."""
    until, pause = time.monotonic() + seconds, threading.Event()
    while not is_so():
        assert time.monotonic() < until, f"it did not come about within {seconds:g} s that {what}"
        pause.wait(ASK_AGAIN_SECONDS)


class ThreeHosts:
    """A stack whose workers are on hosts of their own."""

    def __init__(self, network: NetworkOfHosts, stack: Stack) -> None:
        self.network = network
        self.stack = stack

    def url(self, url: str) -> str:
        """A database's URL of the database host, as other hosts write it."""
        return url.replace("@127.0.0.1:", f"@{self.network.address(DATABASE)}:")

    def environment(self, **settings: object) -> dict[str, str]:
        """The settings of a worker host."""
        own = self.stack.environment
        return {
            **own,
            "COLLECTION_DATABASE_URL": self.url(self.stack.url),
            **{f"COLLECTION_{name}": str(value) for name, value in settings.items()},
        }

    def draining(self, host: str, **options: Any) -> WorkerProcess:
        """``collection-pipeline tick --drain`` on ``host``."""
        entering = self.network.entering(host)
        return WorkerProcess(self.environment(), TICK, entering=entering, **options)

    @contextmanager
    def draining_together(self) -> Iterator[dict[str, WorkerProcess]]:
        """A drain on every worker host, none before all are ready; by host."""
        with ExitStack() as running:
            paused = {"crash_at": STARTED, "crash_signal": signal.SIGSTOP}
            workers = {
                host: running.enter_context(self.draining(host, **paused)) for host in WORKERS
            }
            for worker in workers.values():
                worker.wait_until_stopped()
            for worker in workers.values():
                worker.send(signal.SIGCONT)
            yield workers

    def owners(self, status: str = "RUNNING") -> dict[int, str]:
        """The host that holds the lease of each running cycle, by source."""
        found = self.stack.rows(
            "SELECT job_source_id, SUBSTRING_INDEX(lease_owner, ':', 1) AS host"
            " FROM job_posting_collection_cycles WHERE cycle_status = :status",
            status=status,
        )
        return {row["job_source_id"]: row["host"] for row in found}

    def held_by(self, host: str) -> set[int]:
        """The sources whose lease ``host`` holds."""
        return {source_id for source_id, owner in self.owners().items() if owner == host}

    def unfinished(self, number: int) -> int:
        """Sources whose cycle of day ``number`` has not ended, or is not there yet."""
        ended = self.stack.value(
            f"SELECT COUNT(*) FROM job_posting_collection_cycles WHERE run_date = :day"
            f" AND cycle_status IN {TERMINAL}",
            day=self.stack.day(number),
        )
        return len(self.stack.sources) - int(ended)

    def hosts_that_stored(self, number: int) -> set[str]:
        """The hosts of the slices of day ``number``."""
        found = self.stack.rows(
            "SELECT DISTINCT SUBSTRING_INDEX(s.worker, ':', 1) AS host FROM collection_slices s"
            " JOIN job_posting_collection_cycles c ON c.id = s.cycle_id WHERE c.run_date = :day",
            day=self.stack.day(number),
        )
        return {row["host"] for row in found}


@contextmanager
def opened_three_hosts(
    url: str, catalogues: Sequence[Mapping[str, Any]], **settings: object
) -> Iterator[ThreeHosts]:
    """The hosts at 00:05 KST of day 1, both flags on; ``url``: the queue, as the test sees it."""
    with opened_network(DATABASE, PLATFORMS, *WORKERS) as network:
        scenario = {"sources": [dict(one) for one in catalogues]}
        with network.call(PLATFORMS, lambda: SimulatorServer(scenario=scenario)) as simulator:
            ports = {
                urlsplit(url).port or 0 for url in (simulator.base_url, simulator.lever_eu_base_url)
            }
            for worker in WORKERS:
                network.lend_loopback(PLATFORMS, worker, ports)
            stack = Stack(url, simulator, **settings)
            try:
                stack.set_clock(1)
                stack.set_flags()
                yield ThreeHosts(network, stack)
            finally:
                stack.close()

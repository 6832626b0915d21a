"""From "run the dispatch job" to the first request, beside a bare Dagster run that does nothing.

    python -m benchmarks.dispatch_latency [--rounds 7]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. Both runs are processes of their own, launched
in turn as anybody would, over the project's ``dagster.yaml`` and the same MySQL storage:
``collection_dispatch`` with one due cycle, until the request arrives at the simulator by its log,
and a job whose one op notes the time in its first line. One run of each goes before, unmeasured,
as it makes Dagster's tables.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import Table, show
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.dagster_world import ROOT, dagster_environment
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack

DISPATCH = ("collection_pipeline.definitions", "collection_dispatch")
NO_OP = ("benchmarks.no_op_run", "no_op_run")
TARGET = 1.2
LONGEST_SECONDS = 120


@dataclass(frozen=True)
class World:
    """The queue with its simulator, and the environment of the runs."""

    stack: Stack
    environment: dict[str, str]
    noted: Path

    def execute(self, module: str, job: str) -> float:
        """One run in a process of its own; when it was launched, by the machine's clock."""
        launched = time.time()
        subprocess.run(
            [sys.executable, "-m", "dagster", "job", "execute", "-m", module, "-j", job],
            env=self.environment,
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=LONGEST_SECONDS,
        )
        return launched

    def dispatch_seconds(self) -> float:
        """From the launch until a due cycle's first request arrives."""
        key = f"latency{len(self.stack.sources)}"
        source_id = self.stack.add("lever", key, detail_mode="off")
        launched = self.execute(*DISPATCH)
        return int(self.stack.requests(source_id)[0]["at_us"]) / 1e6 - launched

    def no_op_seconds(self) -> float:
        """From the launch until the op's first line."""
        launched = self.execute(*NO_OP)
        return float(self.noted.read_text(encoding="ascii")) - launched


def main() -> None:
    """Both in turn, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with (
        private_server() as server,
        _world(create_database(server), create_database(server)) as world,
    ):
        world.no_op_seconds()
        world.dispatch_seconds()
        bare, ours = [], []
        for _ in range(rounds):
            bare.append(world.no_op_seconds())
            ours.append(world.dispatch_seconds())
        ratio = statistics.median(one / other for one, other in zip(ours, bare, strict=True))
        show(
            Table(
                name=f"dispatch_latency_{server.kind}",
                caption=f"Seconds from the launch of a Dagster run, {rounds} of each in turn, "
                f"storage on {server.kind} {server.version()}; at most {TARGET} times is wanted.",
                header=["until", "median", "least", "most", "times the bare run"],
                rows=[
                    ["first line of a job that does nothing", *_figures(bare), "1.00"],
                    ["first request of a due cycle arrives", *_figures(ours), f"{ratio:.2f}"],
                ],
            )
        )


def _figures(seconds: list[float]) -> list[str]:
    return [f"{of(seconds):.2f}" for of in (statistics.median, min, max)]


@contextmanager
def _world(queue_url: str, dagster_url: str) -> Iterator[World]:
    engine = open_engine(queue_url)
    migrate(engine)
    engine.dispose()
    with (
        tempfile.TemporaryDirectory() as folder,
        opened_stack(
            queue_url, [source("lever", f"latency{number}", 3) for number in range(100)]
        ) as stack,
    ):
        home, noted = Path(folder) / "home", Path(folder) / "noted"
        home.mkdir()
        shutil.copy(ROOT / "dagster.yaml", home)
        environment = {
            **dagster_environment(stack.environment, dagster_url, home),
            "BENCHMARK_NOTED": str(noted),
        }
        environment.setdefault("PATH", os.defpath)
        yield World(stack, environment, noted)


if __name__ == "__main__":
    main()

"""What a slice and a posting cost in processor time, worker and database server apart.

    python -m benchmarks.work_cost [--sources 300] [--postings 6000]

Two drains, each by a process of its own: many sources of one posting each, so that nearly all of it
is claims, slots and ends; then a few sources of many postings. Processor time is told, not wall
time, since that says how much of a machine the work takes while hosts keep their distance.
"""

import argparse
import os
import sys

from benchmarks.processes import processor_seconds, used_by
from benchmarks.simulated_sources import registered, simulator
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.servers import create_database, private_server

KEYWORDS = 6
THREADS = 4
TICK = [sys.executable, "-m", "collection_pipeline.cli.main", "tick", "--drain"]


def main() -> None:
    """Measure both drains on each server and print what one more of each costs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sources", type=int, default=300)
    parser.add_argument("--postings", type=int, default=6_000)
    arguments = parser.parse_args()
    rows_each = arguments.postings // KEYWORDS
    with private_server() as server, simulator() as exports:
        idle = _drain(server, exports, [])
        slices = _drain(server, exports, [f"one{n}-1" for n in range(arguments.sources)])
        postings = _drain(server, exports, [f"many{n}-{rows_each}" for n in range(KEYWORDS)])
        rows = [
            _row("a source of one slice", slices, idle, arguments.sources),
            _row("a new posting", postings, idle, rows_each * KEYWORDS),
            _row("a tick that finds nothing, most of it Python's start", idle, (0.0, 0.0), 1),
        ]
        show(
            Table(
                name=f"work_cost_{server.kind}",
                caption=f"Processor time, on {server.kind} {server.version()}.",
                header=["what", "worker (ms)", "database server (ms)"],
                rows=rows,
            )
        )


def _row(
    what: str, measured: tuple[float, float], idle: tuple[float, float], count: int
) -> list[str]:
    """The cost of one, of ``count`` that were ``measured`` with what an idle drain takes."""
    worker, database = (1000 * (measured[n] - idle[n]) / count for n in (0, 1))
    return [what, f"{worker:.2f}", f"{database:.2f}"]


def _drain(
    server: PrivateServer, exports: dict[str, str], keywords: list[str]
) -> tuple[float, float]:
    """Processor seconds of the worker process and of the server."""
    url = create_database(server)
    environment = {
        **os.environ,
        **{name: value for name, value in exports.items() if name.startswith("COLLECTION_")},
        "COLLECTION_DATABASE_URL": url,
        "COLLECTION_HOST_MIN_DELAY_MS": "1",
        "COLLECTION_TICK_CLAIM_LIMIT": str(THREADS),
        "COLLECTION_MAX_LEASES_PER_HOST": str(THREADS),
    }
    with registered(assemble(load_settings(environment), url), keywords):
        pass
    if server.pid is None:
        raise RuntimeError("the server has no process of its own")
    before = processor_seconds(server.pid)
    worker = used_by(TICK, environment)
    return worker.processor_seconds, processor_seconds(server.pid) - before


if __name__ == "__main__":
    main()

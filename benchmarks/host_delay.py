"""Wall time of a drain against the least that its host's delay allows.

    python -m benchmarks.host_delay [--pages 40] [--delays 100 200]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. So many list pages of one host, once of a
single source and once of several with a slice each, drained by one tick; the simulator is a process
of its own. The least is pages times the delay; the drain's time is the whole tick's.
"""

import argparse
import os
import time

from benchmarks.simulated_sources import registered, simulator
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.collection.dispatch import TickTerms
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.servers import create_database, private_server

PAGE_ROWS = 110
SLICE_PAGES = 5
TARGET = 1.05


def main() -> None:
    """Two drains for each delay, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--delays", type=int, nargs="+", default=[100, 200])
    arguments = parser.parse_args()
    pages = arguments.pages
    rows = []
    with private_server() as server, simulator() as exports:
        for delay in arguments.delays:
            for sources in (1, pages // SLICE_PAGES):
                took = _drain_seconds(server, exports, pages, sources, delay)
                least = pages * delay / 1000
                cells = [str(delay), str(sources), str(pages), f"{least:.1f}"]
                rows.append([*cells, f"{took:.2f}", f"{took / least:.3f}"])
        show(
            Table(
                name=f"host_delay_{server.kind}",
                caption=f"A drain of {pages} pages of one host, on {server.kind} "
                f"{server.version()}; at most {TARGET} times the least is wanted.",
                header=["delay (ms)", "sources", "pages", "least (s)", "drain (s)", "times it"],
                rows=rows,
            )
        )


def _drain_seconds(
    server: PrivateServer, exports: dict[str, str], pages: int, sources: int, delay_ms: int
) -> float:
    url = create_database(server)
    rows = pages * PAGE_ROWS // sources
    environment = {
        **os.environ,
        **{name: value for name, value in exports.items() if name.startswith("COLLECTION_")},
        "COLLECTION_HOST_MIN_DELAY_MS": str(delay_ms),
        "COLLECTION_DAILY_MAX_LIST_PAGES": str(pages + 1),
        "COLLECTION_DAILY_MAX_POSTINGS": str(rows + 1),
    }
    keywords = [f"delay{number}-{rows}" for number in range(sources)]
    with registered(assemble(load_settings(environment), url), keywords) as pipeline:
        began = time.monotonic()
        summary = pipeline.dispatch.execute_tick(TickTerms(drain=True))
        took = time.monotonic() - began
        counted = "SELECT SUM(list_page_count) FROM job_posting_collection_cycles"
        with pipeline.engine.connect() as connection:
            asked = int(connection.exec_driver_sql(counted).scalar_one())
    if summary.ended["SUCCESS"] != sources or asked != pages:
        raise RuntimeError(f"{asked} pages of {pages}: {summary}")
    return took


if __name__ == "__main__":
    main()

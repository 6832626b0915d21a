"""Peak memory of a tick by the size of a source's catalogue.

    python -m benchmarks.tick_memory [--rows 1000 20000 100000]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. Each size is drained by a process of its own,
whose largest resident set is told. A slice holds at most its own budget, so the
figures must not follow the catalogue.
"""

import argparse
import os
import sys

from benchmarks.processes import used_by
from benchmarks.simulated_sources import registered, simulator
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.servers import create_database, private_server

MOST_MEGABYTES = 250


def main() -> None:
    """The peak for each size, and its ratio to the smallest catalogue's."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 20_000, 100_000])
    sizes = sorted(parser.parse_args().rows)
    with private_server() as server, simulator() as exports:
        peaks = [_peak_megabytes(create_database(server), exports, rows) for rows in sizes]
        show(
            Table(
                name=f"tick_memory_{server.kind}",
                caption="Largest resident set of a tick that drains one source, on "
                f"{server.kind} {server.version()}; at most {MOST_MEGABYTES} MB is wanted, "
                "whatever the catalogue.",
                header=["postings of the source", "peak (MB)", "to the smallest"],
                rows=[
                    [f"{rows:,}", f"{peak:.0f}", f"{peak / peaks[0]:.2f}"]
                    for rows, peak in zip(sizes, peaks, strict=True)
                ],
            )
        )


def _peak_megabytes(url: str, exports: dict[str, str], rows: int) -> float:
    environment = {
        **os.environ,
        **{name: value for name, value in exports.items() if name.startswith("COLLECTION_")},
        "COLLECTION_DATABASE_URL": url,
        "COLLECTION_HOST_MIN_DELAY_MS": "1",
        "COLLECTION_DAILY_MAX_LIST_PAGES": "100000",
        "COLLECTION_DAILY_MAX_POSTINGS": "1000000",
    }
    with registered(assemble(load_settings(environment), url), [f"memory-{rows}"]):
        pass
    command = [sys.executable, "-m", "collection_pipeline.cli.main", "tick", "--drain"]
    return used_by(command, environment).peak_megabytes


if __name__ == "__main__":
    main()

"""Peak memory of a worker process by the size of a source's catalogue.

    python -m benchmarks.slice_memory [--rows 1000 20000]

Each size is drained by a process of its own, whose largest resident set the operating system
tells. A slice holds at most its own budget, so the figures must not follow the catalogue.
"""

import argparse
import os
import subprocess
import sys

from benchmarks.collection_rate import registered, simulator
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.servers import create_database, private_server

MEGABYTE = 1024


def main() -> None:
    """Print the peak for each size and the ratio of the largest to the smallest catalogue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 20_000])
    sizes = sorted(parser.parse_args().rows)
    peaks: list[float] = []
    with private_server() as server, simulator() as exports:
        for rows in sizes:
            url = create_database(server)
            peaks.append(_peak_megabytes(url, exports, rows))
            print(f"{rows:>7,} rows: {peaks[-1]:.0f} MB")
    print(f"ratio {peaks[-1] / peaks[0]:.2f} for {sizes[-1] / sizes[0]:.0f} times the catalogue")


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
    worker = subprocess.Popen(
        [sys.executable, "-m", "collection_pipeline.cli.main", "tick", "--drain"], env=environment
    )
    _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    if worker.returncode != 0:
        raise RuntimeError(f"the worker ended with {worker.returncode}")
    return usage.ru_maxrss / MEGABYTE


if __name__ == "__main__":
    main()

"""The contest: rounds and tables.

    python -m benchmarks.contest --python .local/bench-venv/bin/python [--rounds 5]
        [--sizes 2600 20000] [--latencies 0 20] [--contestants limit scrapy dlt] [--server mysql]

``make bench-contest`` is the same. The database server is a private one with a buffer pool that
holds the whole catalogue, for all alike.
"""

import argparse
import os
import platform
from pathlib import Path

from benchmarks.contest.contestants import CONTESTANTS, chosen
from benchmarks.contest.databases import ContestDatabases
from benchmarks.contest.result_tables import tables
from benchmarks.contest.rounds import Contest, Results, page_server
from benchmarks.tables import show
from collection_pipeline_tests.kit.servers import private_server

SERVER_OPTIONS = ("--innodb-buffer-pool-size=2G",)


def main() -> None:
    """Run the rounds and show the tables."""
    arguments = _arguments()
    contestants = chosen(arguments.contestants)
    results = Results()
    with (
        page_server(arguments.sizes) as pages,
        private_server(arguments.server, SERVER_OPTIONS) as server,
    ):
        contest = Contest(server, ContestDatabases(server), pages, arguments.python, results)
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}", flush=True)
            for rows in arguments.sizes:
                contest.take_turns(contestants, rows, arguments.latencies, number)
        told = (
            f"Medians of {arguments.rounds} rounds in turn; {server.kind} {server.version()}, "
            f"Python {platform.python_version()}, {os.cpu_count()} processors for contestant, "
            "database and page server together."
        )
    for table in tables(results, contestants, told):
        show(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=Path(".local/bench-venv/bin/python"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_600, 20_000])
    parser.add_argument("--latencies", type=int, nargs="+", default=[0, 20])
    parser.add_argument(
        "--contestants", nargs="+", default=[contestant.name for contestant in CONTESTANTS]
    )
    parser.add_argument("--server", choices=["mysql", "mariadb"], default="mysql")
    return parser.parse_args()


if __name__ == "__main__":
    main()

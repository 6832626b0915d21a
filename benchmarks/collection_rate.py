"""Rows a second of whole slices against bare loops, on the same simulator and the same server.

    python -m benchmarks.collection_rate [--rounds 3] [--keywords 6] [--rows 2000] [--threads 4]

Each round collects the same catalogues once with each competitor, in turn, into fresh tables. The
pipeline runs with the least delay that it allows (1 ms); the loops have none. Shows the medians and
their ratios, pipeline over loop: to the loop that stores nine columns, and to the one that
stores the same postings.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from benchmarks import bare_loop
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.collection.dispatch import TickTerms
from collection_pipeline.collection.registration import checked_source, store_sources
from collection_pipeline.collection.slice_processor import SliceReport
from collection_pipeline.settings import load_settings
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline_tests.kit.servers import create_database, private_server


def main() -> None:
    """Run the rounds and show the ratios."""
    arguments = _arguments()
    keywords = [f"rate{number}-{arguments.rows}" for number in range(arguments.keywords)]
    to_nine: list[float] = []
    to_same: list[float] = []
    rates: list[list[float]] = []
    with private_server() as server, simulator() as exports:
        same = bare_loop.SamePostings(load_settings(_environment(exports, arguments.threads)))
        for _ in range(arguments.rounds):
            nine = _loop_rate(
                create_database(server),
                exports,
                keywords,
                arguments.threads,
                bare_loop.NineColumns(),
            )
            full = _loop_rate(create_database(server), exports, keywords, arguments.threads, same)
            ours = _pipeline_rate(create_database(server), exports, keywords, arguments.threads)
            to_nine.append(ours / nine)
            to_same.append(ours / full)
            rates.append([nine, full, ours])
        medians = [statistics.median(one) for one in zip(*rates, strict=True)]
        ratios = [statistics.median(to_nine), statistics.median(to_same)]
        show(
            Table(
                name=f"collection_rate_{server.kind}",
                caption=f"{len(keywords)} sources of {arguments.rows:,} postings, "
                f"{arguments.threads} threads, {arguments.rounds} rounds in turn, on "
                f"{server.kind} {server.version()}.",
                header=["what", "rows a second (median)", "pipeline to it"],
                rows=[
                    ["bare loop, nine columns", f"{medians[0]:,.0f}", f"{ratios[0]:.2f}"],
                    ["bare loop, the same postings", f"{medians[1]:,.0f}", f"{ratios[1]:.2f}"],
                    ["pipeline", f"{medians[2]:,.0f}", "1.00"],
                ],
            )
        )


@contextmanager
def simulator() -> Iterator[dict[str, str]]:
    """The simulator as a process of its own; its exports."""
    with simulator_process() as (_, exports):
        yield exports


@contextmanager
def simulator_process() -> Iterator[tuple[int, dict[str, str]]]:
    """The same, and its process id."""
    command = [sys.executable, "-m", "collection_pipeline.simulator", "--separate-ports"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            exports: dict[str, str] = {}
            while "COLLECTION_SARAMIN_ACCESS_KEY" not in exports:
                name, _, value = process.stdout.readline().removeprefix("export ").partition("=")
                exports[name] = value.strip()
            yield process.pid, exports
        finally:
            process.terminate()


def _loop_rate(
    url: str,
    exports: dict[str, str],
    keywords: list[str],
    threads: int,
    kind: bare_loop.PageKind,
) -> float:
    pipeline = assemble(load_settings(_environment(exports, threads)), url)
    migrate(pipeline.engine)
    pipeline.close()
    with bare_loop.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(bare_loop.TABLE)
    began = time.monotonic()
    rows = bare_loop.collect(
        url,
        exports["COLLECTION_SARAMIN_BASE_URL"],
        exports["COLLECTION_SARAMIN_ACCESS_KEY"],
        keywords,
        threads,
        kind,
    )
    return rows / (time.monotonic() - began)


def _environment(exports: dict[str, str], threads: int) -> dict[str, str]:
    return {
        **{name: value for name, value in exports.items() if name.startswith("COLLECTION_")},
        "COLLECTION_HOST_MIN_DELAY_MS": "1",
        "COLLECTION_TICK_CLAIM_LIMIT": str(threads),
        "COLLECTION_MAX_LEASES_PER_HOST": str(threads),
    }


def _pipeline_rate(url: str, exports: dict[str, str], keywords: list[str], threads: int) -> float:
    environment = _environment(exports, threads)
    with registered(assemble(load_settings(environment), url), keywords) as pipeline:
        began = time.monotonic()
        rows = 0

        def add(report: SliceReport) -> None:
            nonlocal rows
            rows += report.postings

        summary = pipeline.dispatch.execute_tick(TickTerms(drain=True), on_slice=add)
        seconds = time.monotonic() - began
        assert summary.ended["SUCCESS"] == len(keywords), summary
        return rows / seconds


@contextmanager
def registered(pipeline: CollectionPipeline, keywords: list[str]) -> Iterator[CollectionPipeline]:
    """The pipeline over a migrated database with one Saramin source a keyword, flags on."""
    try:
        migrate(pipeline.engine)
        _register(pipeline, keywords)
        yield pipeline
    finally:
        pipeline.close()


def _register(pipeline: CollectionPipeline, keywords: list[str]) -> None:
    rows = [
        {"platform": "saramin", "label": word, "condition": {"keywords": word}} for word in keywords
    ]
    store_sources(pipeline, [checked_source(row, pipeline.gateway) for row in rows])

    def switching(connection: Connection) -> None:
        now = pipeline.clock.now(connection)
        for flag in (DISPATCH_FLAG, AGGREGATOR_FLAG):
            FeatureFlags().set(connection, flag, enabled=True, by="benchmark", now=now)

    pipeline.transactions.run(switching)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keywords", type=int, default=6)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Peak memory of a library ingest by the size of the register.

    python -m benchmarks.library_memory [--rows 10000 100000]

Each size is ingested twice by processes of their own, into an empty register and then with every
row changed; the largest resident set is told. Pages are made while they are
read, so the figures must not follow the register: what grows is the spool, on disk.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from benchmarks.processes import used_by
from benchmarks.tables import Table, show
from collection_pipeline.domain.library import LibraryPage
from collection_pipeline.ingest.assembly import assemble_ingest
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.settings import load_settings
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.library_rows import PAGE_ROWS, library_rows
from collection_pipeline_tests.kit.servers import create_database, private_server


class GeneratedSnapshot:
    """``rows`` libraries of one edition, made page by page."""

    source = "library"

    def __init__(self, rows: int, edition: int) -> None:
        self._rows = rows
        self._edition = edition

    def read(self, between_pages: Callable[[], None]) -> Iterator[LibraryPage]:
        """Pages of 1,000."""
        for number, first in enumerate(range(0, self._rows, PAGE_ROWS), start=1):
            between_pages()
            numbers = range(first, min(first + PAGE_ROWS, self._rows))
            yield LibraryPage(library_rows(numbers, self._edition), self._rows, number)


def main() -> None:
    """Print the peaks for each size and the ratios of the largest to the smallest register."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--ingest", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ingest:
        _ingest(*arguments.ingest)
        return
    sizes = sorted(arguments.rows)
    peaks: list[list[float]] = []
    with private_server() as server:
        for rows in sizes:
            url = create_database(server)
            engine = open_engine(url)
            migrate(engine)
            engine.dispose()
            peaks.append([_peak_megabytes(url, rows, edition) for edition in (0, 1)])
        show(
            Table(
                name=f"library_memory_{server.kind}",
                caption="Largest resident set of a library ingest, on "
                f"{server.kind} {server.version()}.",
                header=["rows", "first (MB)", "all changed (MB)", "to the smallest"],
                rows=[
                    [
                        f"{rows:,}",
                        *(f"{peak:.0f}" for peak in both),
                        " / ".join(f"{a / b:.2f}" for a, b in zip(both, peaks[0], strict=True)),
                    ]
                    for rows, both in zip(sizes, peaks, strict=True)
                ],
            )
        )


def _ingest(rows: int, edition: int) -> None:
    """The child: one ingest."""
    url = os.environ["COLLECTION_DATABASE_URL"]
    ingestion = assemble_ingest(load_settings(os.environ), url)
    config = IngestConfig(source="library", deactivate_stale=True)
    snapshot = GeneratedSnapshot(rows, edition)
    report = ingestion.service.run(config, snapshot, trigger="manual")
    ingestion.close()
    if (report.upserted, report.changed) != (rows, edition * rows):
        raise RuntimeError(f"{report.status}: {report.reason}, {report.counts}")


def _peak_megabytes(url: str, rows: int, edition: int) -> float:
    command = [
        sys.executable,
        "-m",
        "benchmarks.library_memory",
        "--ingest",
        str(rows),
        str(edition),
    ]
    return used_by(command, {**os.environ, "COLLECTION_DATABASE_URL": url}).peak_megabytes


if __name__ == "__main__":
    main()

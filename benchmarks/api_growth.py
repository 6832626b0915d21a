"""What a page of the operations service costs by the length of the history.

    python -m benchmarks.api_growth [--sizes 10000 1000000] [--asked 40]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. 1,000 sources a day, back from today,
nearly all SUCCESS with their history row; today's are in mixed states. Requests go through the
application itself, without a network, and each kind is asked in turn. The pages of one source are
short enough to be full also in the small history.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from benchmarks.bulk_rows import CYCLES, analyze, insert_numbered, migrated
from benchmarks.tables import Table, show
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.operations.app import create_app
from collection_pipeline.operations.context import open_context
from collection_pipeline.operations.query import after_text
from collection_pipeline.settings import load_settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.views.collection_run import RunKey
from collection_pipeline_tests.kit.database import PLATFORMS
from collection_pipeline_tests.kit.servers import create_database, private_server

SOURCES = 1_000
RUNS = "job_posting_collection_runs"
PATH = "/api/operations/collection-runs"
BASE = "http://localhost"
WARM_UP = 3
STATUS = (
    "CASE WHEN n < 1000 THEN ELT(1 + n % 4, 'PENDING', 'NOT_STARTED', 'SUCCESS', 'FAILED')"
    " WHEN n % 1000 = 77 THEN 'FAILED' WHEN n % 1000 = 78 THEN 'BUDGET_EXHAUSTED'"
    " ELSE 'SUCCESS' END"
)


def addresses(today: date, days: int) -> dict[str, str]:
    """What is asked, by its name in the table."""
    middle = RunKey(today - timedelta(days=days // 2), SOURCES // 2)
    deep = after_text(middle)
    return {
        "API, first page": PATH,
        "API, deep page": f"{PATH}?after={deep}",
        "API, one source": f"{PATH}?jobSourceId=7&limit=4",
        "API, one source, deep": f"{PATH}?jobSourceId=7&limit=4&after={deep}",
        **{
            f"API, {status}{name}": f"{PATH}?status={status}{after}"
            for status in ("SUCCESS", "FAILED", "PENDING")
            for name, after in (("", ""), (", deep", f"&after={deep}"))
        },
        "page, today": "/",
        "page, a source": "/sources/7",
    }


def main() -> None:
    """Every size, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--asked", type=int, default=40)
    arguments = parser.parse_args()
    sizes = sorted(arguments.sizes)
    with private_server() as server:
        medians = [_medians(server, size, arguments.asked) for size in sizes]
        show(
            Table(
                name=f"api_growth_{server.kind}",
                caption=f"Milliseconds of an answer by the cycles in the tables, median of "
                f"{arguments.asked}, on {server.kind} {server.version()}.",
                header=["question", *(f"{size:,} cycles" for size in sizes), "ratio"],
                rows=[
                    [
                        name,
                        *(f"{one[name]:.1f}" for one in medians),
                        f"{medians[-1][name] / medians[0][name]:.2f}",
                    ]
                    for name in medians[0]
                ],
            )
        )


def _medians(server: PrivateServer, size: int, asked: int) -> dict[str, float]:
    """The median answer to each question, in milliseconds."""
    with _filled(server, size) as (client, today):
        questions = addresses(today, size // SOURCES)
        taken: dict[str, list[float]] = {name: [] for name in questions}
        for number in range(asked + WARM_UP):
            for name, address in questions.items():
                began = time.perf_counter()
                answer = client.get(address)
                took = 1000 * (time.perf_counter() - began)
                if answer.status_code != 200:
                    raise RuntimeError(f"{address}: {answer.status_code} {answer.text[:300]}")
                if number >= WARM_UP:
                    taken[name].append(took)
    return {name: statistics.median(times) for name, times in taken.items()}


@contextmanager
def _filled(server: PrivateServer, size: int) -> Iterator[tuple[TestClient, date]]:
    url = create_database(server)
    engine = migrated(url)
    with engine.connect() as connection:
        today = run_date_of(DatabaseClock().now(connection))
    _fill(engine, size, today)
    engine.dispose()
    context = open_context(load_settings({}), url, None, PLATFORMS)
    try:
        with TestClient(create_app(context, token=None), base_url=BASE) as client:
            yield client, today
    finally:
        context.close()


def _fill(engine: Engine, size: int, today: date) -> None:
    began = time.monotonic()
    insert_numbered(
        engine,
        "job_sources (id, platform, source_type, label, search_condition)",
        "n + 1, 'greenhouse', 'COMPANY_BOUND', CONCAT('source ', n), '{\"board\": [\"b\"]}'",
        SOURCES,
    )
    day = f":day - INTERVAL n DIV {SOURCES} DAY"
    insert_numbered(
        engine,
        f"{CYCLES} (job_source_id, run_date, cycle_status, is_complete, fetched_count)",
        f"n % {SOURCES} + 1, {day}, {STATUS}, 1, 40",
        size,
        {"day": today},
    )
    insert_numbered(
        engine,
        f"{RUNS} (job_source_id, run_date, run_status)",
        f"n % {SOURCES} + 1, {day} - INTERVAL 1 DAY, IF(n % 1000 = 77, 'FAILED', 'SUCCESS')",
        size - SOURCES,
        {"day": today},
    )
    analyze(engine, CYCLES, RUNS, "job_sources")
    print(f"{size:,} cycles made in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()

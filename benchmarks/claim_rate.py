"""What a claim costs by the size of the queue, beside hand-written SQL on the plain driver.

    python -m benchmarks.claim_rate [--sizes 1000 1000000] [--claims 200]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. Two databases a size. In *history* today has
1,000 due cycles and the other rows are those of the days before it, 1,000 a day, as months leave
them. In the others every row is a due cycle of today. 90 % of what is due lies on one host, the
rest on nine. A claim of each competitor in turn, on a server that has nothing else to do; what was
claimed is put back to the end of the queue outside of the measured time.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

from sqlalchemy import Engine, text

from benchmarks.bare_claims import GuardedClaims, PlainClaims
from benchmarks.bulk_rows import CYCLES, analyze, insert_numbered, migrated
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline.store.claim import ClaimTerms
from collection_pipeline.store.flags import KNOWN_FLAGS, FeatureFlags
from collection_pipeline_tests.kit.servers import create_database, private_server

DAILY = 1_000
HOSTS = 10
CAP = 3
WIDE_CAP = 1_000
BUSY_HOST = "host0.test"
HOST = f"IF(n % 10 < 9, '{BUSY_HOST}', CONCAT('host', 1 + n DIV 10 % {HOSTS - 1}, '.test'))"
PIPELINE, GUARDED, PLAIN = "pipeline", "same guarantees", "plain"
NAMES = (PIPELINE, GUARDED, PLAIN)
PUT_BACK = (
    f"UPDATE {CYCLES} SET cycle_status = 'PENDING', lease_token = NULL, lease_owner = NULL,"
    " lease_until = NULL, next_eligible_at = UTC_TIMESTAMP(6) WHERE id = :id"
)
T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """A state of the queue; ``prepare`` is SQL over the sources and cycles that are there."""

    name: str
    is_history: bool = False
    prepare: tuple[str, ...] = ()
    cap: int = WIDE_CAP


CASES = (
    Case("1,000 due today, the rest history", is_history=True),
    Case("all due today"),
    Case(
        "every second source off",
        prepare=("UPDATE job_sources SET active = (id - 1) DIV 10 % 2",),
    ),
    Case(
        "a host with 90 % at its limit",
        prepare=(
            "UPDATE job_sources SET active = 1",
            f"UPDATE {CYCLES} SET cycle_status = 'RUNNING', lease_token = CONCAT('busy', id),"
            " lease_owner = 'busy', lease_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR"
            f" WHERE request_host = '{BUSY_HOST}' AND id <= {CAP}",
        ),
        cap=CAP,
    ),
)


@dataclass
class Costs:
    """Milliseconds of each claim, by competitor."""

    taken: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})

    def median(self, name: str) -> float:
        """The middle claim."""
        return statistics.median(self.taken[name])

    def late(self, name: str) -> float:
        """The 95th of a hundred claims."""
        return statistics.quantiles(self.taken[name], n=20)[-1]


def main() -> None:
    """Every case at every size, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--claims", type=int, default=200)
    arguments = parser.parse_args()
    sizes = sorted(arguments.sizes)
    measured: dict[tuple[str, int], Costs] = {}
    with private_server() as server:
        for size in sizes:
            for is_history in (True, False):
                cases = [case for case in CASES if case.is_history is is_history]
                with _filled(server, size, is_history=is_history) as world:
                    for case in cases:
                        measured[case.name, size] = world.measure(case, arguments.claims)
        show(_table(server, sizes, measured, arguments.claims))


def _table(
    server: PrivateServer, sizes: list[int], measured: dict[tuple[str, int], Costs], claims: int
) -> Table:
    rows = []
    for case in CASES:
        small = measured[case.name, sizes[0]].median(PIPELINE)
        for size in sizes:
            costs = measured[case.name, size]
            ours = costs.median(PIPELINE)
            rows.append(
                [
                    case.name,
                    f"{size:,}",
                    f"{ours:.2f}",
                    f"{costs.late(PIPELINE):.2f}",
                    f"{ours / small:.2f}",
                    f"{costs.median(GUARDED):.2f}",
                    f"{costs.median(GUARDED) / ours:.2f}",
                    f"{costs.median(PLAIN):.2f}",
                    f"{costs.median(PLAIN) / ours:.2f}",
                ]
            )
    return Table(
        name=f"claim_rate_{server.kind}",
        caption=f"One claim, in milliseconds: {claims} of each competitor in turn on {server.kind} "
        f"{server.version()}. Rate: the competitor's median by the pipeline's.",
        header=[
            "queue",
            "cycles",
            "claim",
            "p95",
            "to the smallest",
            "bare SQL, same guarantees",
            "rate to it",
            "bare SQL, no guarantees",
            "rate to it",
        ],
        rows=rows,
    )


@dataclass
class _World:
    """A filled database and the three that claim from it."""

    url: str
    engine: Engine
    pipeline: CollectionPipeline
    day: date

    def measure(self, case: Case, claims: int) -> Costs:
        """Claims of each in turn; the first ones are not counted."""
        for statement in case.prepare:
            self._write(statement)
        terms = ClaimTerms("benchmark", 600, case.cap, 300.0, self.pipeline.creation.platforms)
        costs = Costs()
        with ExitStack() as stack:
            guarded, plain = (
                GuardedClaims(self.url, self.day, case.cap),
                PlainClaims(self.url, self.day),
            )
            stack.callback(guarded.close)
            stack.callback(plain.close)

            def ours() -> int:
                claimed = self.pipeline.repository.claim_next(terms)
                if claimed is None:
                    raise RuntimeError(f"nothing to claim: {case.name}")
                return claimed.cycle.id

            competitors: dict[str, Callable[[], int]] = {
                PIPELINE: ours,
                GUARDED: guarded.claim,
                PLAIN: plain.claim,
            }
            for number in range(claims + 5):
                for name, claim in competitors.items():
                    began = time.perf_counter()
                    cycle_id = claim()
                    took = 1000 * (time.perf_counter() - began)
                    if number >= 5:
                        costs.taken[name].append(took)
                    self._write(PUT_BACK, id=cycle_id)
        return costs

    def _write(self, statement: str, **values: object) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement), values)


@contextmanager
def _filled(server: PrivateServer, size: int, *, is_history: bool) -> Iterator[_World]:
    """A database of so many cycles; dropped at the end."""
    url = create_database(server)
    engine = migrated(url)
    pipeline = assemble(load_settings({}), url)
    began = time.monotonic()
    try:
        day = run_date_of(pipeline.transactions.run(pipeline.clock.now))
        fill(engine, size, day, sources=DAILY if is_history else size)
        _switch_on(pipeline)
        pipeline.gate.ensure_headers()
        print(f"{size:,} cycles made in {time.monotonic() - began:.0f} s", flush=True)
        yield _World(url, engine, pipeline, day)
    finally:
        pipeline.close()
        engine.dispose()
        server.execute(f"DROP DATABASE `{url.rsplit('/', 1)[1].split('?', 1)[0]}`")


def fill(engine: Engine, size: int, day: date, sources: int) -> None:
    """``size`` cycles, ``sources`` a day back from ``day``; those of ``day`` are PENDING and due.

    Of a day before: 90 of a hundred ended SUCCESS, 5 FAILED, 5 were left PENDING.
    """
    insert_numbered(
        engine,
        "job_sources (id, platform, source_type, label, search_condition)",
        "n + 1, 'greenhouse', 'COMPANY_BOUND', CONCAT('source ', n), '{\"board\": [\"b\"]}'",
        sources,
    )
    status = (
        f"IF(n < {sources}, 'PENDING',"
        " CASE WHEN n % 100 < 90 THEN 'SUCCESS' WHEN n % 100 < 95 THEN 'FAILED' ELSE 'PENDING' END)"
    )
    insert_numbered(
        engine,
        f"{CYCLES} (id, job_source_id, run_date, cycle_status, request_host, next_eligible_at,"
        " finished_at, is_complete, fetched_count)",
        f"n + 1, n % {sources} + 1, :day - INTERVAL n DIV {sources} DAY, {status}, {HOST},"
        " UTC_TIMESTAMP(6) - INTERVAL 1 HOUR + INTERVAL n MICROSECOND,"
        f" IF(n < {sources}, NULL, UTC_TIMESTAMP(6)), n >= {sources}, 40",
        size,
        {"day": day},
    )
    insert_numbered(engine, "collection_host_claims", "CONCAT('host', n, '.test')", HOSTS)
    analyze(engine, CYCLES, "job_sources", "collection_host_claims")


def _switch_on(pipeline: CollectionPipeline) -> None:
    for name in KNOWN_FLAGS:
        pipeline.transactions.run(
            lambda connection, name=name: FeatureFlags().set(  # type: ignore[misc]  # bound at once
                connection,
                name,
                enabled=True,
                by="benchmark",
                now=pipeline.clock.now(connection),
            )
        )


if __name__ == "__main__":
    main()

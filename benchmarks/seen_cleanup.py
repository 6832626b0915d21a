"""Whether the cleanup of a million seen rows lets writers wait (R31).

    python -m benchmarks.seen_cleanup [--rows 1000000] [--writers 4] [--seconds 20]

``COLLECTION_TEST_SERVER=mariadb`` measures MariaDB. Writers on connections of their own claim a
cycle, store a page of 100 postings and so put it back, several times a second as hosts allow it:
first alone, then while the cleanup service, in a process of its own, deletes the residue of cycles
that ended three days before. Each apply is timed, and the server tells how often and how long
transactions waited for row locks.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date

from sqlalchemy import Engine, text

from benchmarks.bulk_rows import CYCLES, analyze, insert_numbered, migrated
from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.slices import store_slice, unfinished, work_of

PAGE_ROWS = 100
ROWS_A_CYCLE = 2_500
FIRST_RESIDUE = 1_000_000
MOST_WAIT_MS = 100
WRITER_CYCLES = 20
PAUSE_SECONDS = 0.2
WAITED = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_%'"


@dataclass
class Phase:
    """What writers met: milliseconds of each apply, and what the server says of row locks."""

    name: str
    applies: list[float] = field(default_factory=list)
    lock_waits: int = 0
    locked_ms: int = 0

    def cells(self) -> list[str]:
        """The row of the table."""
        ordered = statistics.quantiles(self.applies, n=100)
        figures = [ordered[49], ordered[98], max(self.applies)]
        return [
            self.name,
            f"{len(self.applies):,}",
            *(f"{one:.1f}" for one in figures),
            str(self.lock_waits),
            str(self.locked_ms),
        ]


def main() -> None:
    """Writers alone, then with the cleanup, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clean", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.clean:
        _clean()
        return
    with private_server() as server, ExitStack() as opened:
        url = create_database(server)
        engine = migrated(url)
        opened.callback(engine.dispose)
        stores = [Store(url, now=None) for _ in range(arguments.writers)]
        for store in stores:
            opened.callback(store.close)
        _queue(stores[0], arguments.writers)
        day = stores[0].run(stores[0].clock.today)
        _leave_residue(engine, arguments.rows, day)
        alone = _write(engine, stores, "writers alone", _pause(arguments.seconds))
        began = time.monotonic()
        beside = _write(engine, stores, "while the cleanup runs", lambda: _cleaned(url))
        took = time.monotonic() - began
        left = "SELECT COUNT(*) FROM job_posting_collection_seen_postings WHERE cycle_id >= :first"
        if stores[0].value(left, first=FIRST_RESIDUE):
            raise RuntimeError("not all was cleaned up")
        show(_table(server, arguments.writers, arguments.rows, took, [alone, beside]))


def _clean() -> None:
    """The child: the real service, once."""
    pipeline = assemble(load_settings({}), os.environ["COLLECTION_DATABASE_URL"])
    pipeline.cleanup.clean_up()
    pipeline.close()


def _cleaned(url: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "benchmarks.seen_cleanup", "--clean"],
        env={**os.environ, "COLLECTION_DATABASE_URL": url},
        check=True,
    )


def _table(
    server: PrivateServer, writers: int, rows: int, took: float, phases: list[Phase]
) -> Table:
    return Table(
        name=f"seen_cleanup_{server.kind}",
        caption=f"{writers} writers that store pages of {PAGE_ROWS} postings, alone and while "
        f"{rows:,} seen rows are deleted by the cleanup ({took:.0f} s), on "
        f"{server.kind} {server.version()}; none may wait {MOST_WAIT_MS} ms because of it.",
        header=[
            "phase",
            "applies",
            "p50 (ms)",
            "p99 (ms)",
            "most (ms)",
            "row lock waits",
            "waited for locks (ms)",
        ],
        rows=[phase.cells() for phase in phases],
    )


def _queue(store: Store, writers: int) -> None:
    """Sources of the day, due now; more than there are writers."""
    store.switch_on()
    store.gate.ensure_headers()
    for number in range(writers * WRITER_CYCLES):
        day = store.run(store.clock.today)
        now = store.run(store.clock.now)
        store.add_cycle(
            store.add_source(), run_date=day, host=f"h{number % writers}", next_eligible_at=now
        )


def _leave_residue(engine: Engine, rows: int, day: date) -> None:
    """Cycles of three days ago whose ends left their seen rows behind."""
    insert_numbered(
        engine,
        f"{CYCLES} (id, job_source_id, run_date, cycle_status, finished_at)",
        f"{FIRST_RESIDUE} + n, {FIRST_RESIDUE} + n, :day - INTERVAL 3 DAY, 'SUCCESS',"
        " UTC_TIMESTAMP(6) - INTERVAL 3 DAY",
        -(-rows // ROWS_A_CYCLE),
        {"day": day},
    )
    insert_numbered(
        engine,
        "job_posting_collection_seen_postings (cycle_id, source_job_id, list_position, created_at)",
        f"{FIRST_RESIDUE} + n DIV {ROWS_A_CYCLE}, LPAD(n % {ROWS_A_CYCLE}, 12, '0'),"
        f" n % {ROWS_A_CYCLE}, UTC_TIMESTAMP(6) - INTERVAL 3 DAY",
        rows,
    )
    analyze(engine, CYCLES, "job_posting_collection_seen_postings")


def _pause(seconds: float) -> Callable[[], object]:
    return lambda: threading.Event().wait(seconds)


def _write(
    engine: Engine, stores: list[Store], name: str, meanwhile: Callable[[], object]
) -> Phase:
    """Writers go on until ``meanwhile`` returns."""
    phase, done = Phase(name), threading.Event()
    before = _row_lock_status(engine)

    def writing(store: Store) -> None:
        number = 0
        while not done.is_set():
            claimed = store.repository.claim_next(store.terms(max_leases_per_host=100))
            if claimed is None:
                raise RuntimeError("the queue is empty")
            ids = [f"{number * PAGE_ROWS + one:08d}" for one in range(PAGE_ROWS)]
            work = unfinished(work_of(ids))
            began = time.perf_counter()
            store_slice(store, claimed, work)
            phase.applies.append(1000 * (time.perf_counter() - began))
            done.wait(PAUSE_SECONDS)
            number = (number + 1) % WRITER_CYCLES

    with ThreadPoolExecutor(len(stores)) as threads:
        working = [threads.submit(writing, store) for store in stores]
        try:
            meanwhile()
        finally:
            done.set()
        for one in working:
            one.result()
    after = _row_lock_status(engine)
    phase.lock_waits = after["waits"] - before["waits"]
    phase.locked_ms = after["time"] - before["time"]
    return phase


def _row_lock_status(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        rows = connection.execute(text(WAITED)).all()
    return {str(name).lower().removeprefix("innodb_row_lock_"): int(value) for name, value in rows}


if __name__ == "__main__":
    main()

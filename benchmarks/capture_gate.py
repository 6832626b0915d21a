"""How long the 09:00 capture holds the gate after the cutoff, beside a row-by-row capture.

    python -m benchmarks.capture_gate [--sources 10000] [--rounds 3]

For MySQL and MariaDB: that many sources with cycles in mixed states; each round is a morning of its
own. The service captures it, then the competitor reads the same cycles and writes the same items in
one transaction, a statement a row, into a table of the same form. Every writer of the day waits as
long as the gate is held.
"""

import argparse
import statistics
import time
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, text

from benchmarks.tables import Table, show
from collection_pipeline.collection.assembly import CollectionPipeline, assemble, worker_name
from collection_pipeline.collection.snapshot import CaptureReport
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.local_db.server_binary import ServerKind
from collection_pipeline.settings import load_settings
from collection_pipeline.store.flags import KNOWN_FLAGS, FeatureFlags
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.servers import create_database, private_server

KINDS: tuple[ServerKind, ...] = ("mysql", "mariadb")
STATES = ", ".join(f"'{status.value}'" for status in CycleStatus)
ADD_SOURCES = """
INSERT INTO job_sources (platform, source_type, label, search_condition, active)
WITH RECURSIVE number AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM number WHERE n < :sources)
SELECT 'greenhouse', 'COMPANY_BOUND', CONCAT('source ', n), '{"board": ["b"]}', 1 FROM number
"""
MIX_STATES = f"""
UPDATE job_posting_collection_cycles SET cycle_status = ELT(1 + id % 6, {STATES}),
  is_complete = id % 2, fetched_count = id % 3 * 40, list_page_count = 3,
  failure_reason = IF(id % 6 = 4, 'TIMEOUT', NULL)
WHERE run_date = :day
"""
READ_CYCLES = """
SELECT s.id, s.label, c.cycle_status, c.is_complete, c.fetched_count, c.list_page_count,
  c.detail_request_count, s.platform, s.source_type, c.failure_reason
FROM job_sources AS s JOIN job_posting_collection_cycles AS c
  ON c.job_source_id = s.id AND c.run_date = :day
FOR UPDATE
"""
INSERT_ITEM = """
INSERT INTO bare_items VALUES (1, :source, :label, :status, :complete, :fetched, :pages, :details,
  :abnormal, :guarded, :platform, :type, :reason)
"""


def main() -> None:
    """Every round of every server, then the medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sources", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    show(
        Table(
            name="capture_gate",
            caption=f"How long the 09:00 snapshot of {arguments.sources:,} sources holds the gate "
            f"after the cutoff, {arguments.rounds} mornings each; less than a second is wanted.",
            header=["server", "median (ms)", "most (ms)", "row by row (ms)", "times as long"],
            rows=[_measured(kind, arguments.sources, arguments.rounds) for kind in KINDS],
        )
    )


def _measured(kind: ServerKind, sources: int, rounds: int) -> list[str]:
    with private_server(kind) as server:
        url = create_database(server)
        pipeline = assemble(load_settings({"COLLECTION_SIMULATION": "1"}), url)
        migrate(pipeline.engine)
        pipeline.transactions.run(lambda connection: _prepare(pipeline, connection, sources))
        held, bare = [], []
        for _ in range(rounds):
            report = _captured_morning(pipeline)
            assert report.captured_here and report.gate_held_seconds is not None
            assert report.item_count == sources
            held.append(report.gate_held_seconds * 1000)
            bare.append(_row_by_row(pipeline, report.header.snapshot_date) * 1000)
        ratio = statistics.median(one / other for one, other in zip(bare, held, strict=True))
        pipeline.close()
        return [
            f"{kind} {server.version()}",
            f"{statistics.median(held):,.0f}",
            f"{max(held):,.0f}",
            f"{statistics.median(bare):,.0f}",
            f"{ratio:.0f}",
        ]


def _prepare(pipeline: CollectionPipeline, connection: Connection, sources: int) -> None:
    version = connection.execute(text("SELECT VERSION()")).scalar_one()
    bound = "max_recursive_iterations" if "MariaDB" in version else "cte_max_recursion_depth"
    connection.execute(text(f"SET SESSION {bound} = {sources + 1}"))
    connection.execute(text(ADD_SOURCES), {"sources": sources})
    now = pipeline.clock.now(connection)
    for name in KNOWN_FLAGS:
        FeatureFlags().set(connection, name, enabled=True, by="benchmark", now=now)
    connection.execute(
        text("CREATE TABLE bare_items LIKE job_posting_collection_sla_snapshot_items")
    )


def _captured_morning(pipeline: CollectionPipeline) -> CaptureReport:
    """The next day's snapshot; its cycles are made ahead of it, as every tick does."""
    day = run_date_of(pipeline.transactions.run(pipeline.clock.now)) + timedelta(days=1)
    cutoff = utc_of_kst(day, pipeline.settings.sla_cutoff)
    _move(pipeline, cutoff - timedelta(minutes=10))
    pipeline.creation.create_daily_cycles()

    def mixing(connection: Connection) -> None:
        connection.execute(text(MIX_STATES), {"day": day})

    pipeline.transactions.run(mixing)
    _move(pipeline, cutoff - timedelta(seconds=1))
    return pipeline.snapshots.capture_at_nine(worker=worker_name())


def _move(pipeline: CollectionPipeline, target: datetime) -> None:
    pipeline.transactions.run(lambda connection: pipeline.clock.move_to(connection, target))


def _row_by_row(pipeline: CollectionPipeline, day: date) -> float:
    """Seconds that an application-side loop needs for the same items."""

    def looping(connection: Connection) -> float:
        began = time.monotonic()
        for row in connection.execute(text(READ_CYCLES), {"day": day}).all():
            source, label, status, complete, fetched, pages, details, platform, kind, reason = row
            judged = {"is_complete": bool(complete), "fetched_count": fetched}
            connection.execute(
                text(INSERT_ITEM),
                {
                    "source": source,
                    "label": label,
                    "status": status,
                    "complete": complete,
                    "fetched": fetched,
                    "pages": pages,
                    "details": details,
                    "abnormal": is_abnormal(CycleStatus(status), **judged),
                    "guarded": is_close_guarded(CycleStatus(status), **judged),
                    "platform": platform,
                    "type": kind,
                    "reason": reason,
                },
            )
        took = time.monotonic() - began
        connection.execute(text("DELETE FROM bare_items"))
        return took

    return pipeline.transactions.run(looping)


if __name__ == "__main__":
    main()

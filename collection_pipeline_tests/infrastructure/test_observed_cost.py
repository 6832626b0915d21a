"""What the observation checks read does not grow with the history, on both servers (R45)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Connection, text

from collection_pipeline.store.views import observed
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.statement_costs import CHUNK_ROWS, numbers_from, rows_read

SOURCES = 40
DAYS = CHUNK_ROWS // SOURCES
ROWS_A_SLICE = 8
"""The slice by index and row, its source by key, and its place in the group."""


def fill_history(store: Store) -> None:
    """A cycle and a slice for each source and day; one cycle in a hundred ran out of budget."""
    numbers = f"({numbers_from(0)}) AS s"
    day = f"'{DAY}' - INTERVAL n DIV {SOURCES} DAY"
    then = f"'{NOON}' - INTERVAL n DIV {SOURCES} DAY"
    source = f"n % {SOURCES} + 1"
    for statement in (
        "INSERT INTO job_sources (id, platform, source_type, label, search_condition, updated_at) "
        f"SELECT n + 1, 'lever', 'COMPANY_BOUND', 'a', '{{}}', '2025-01-01' FROM {numbers} "
        f"WHERE n < {SOURCES}",
        "INSERT INTO job_posting_collection_cycles (job_source_id, run_date, cycle_status, "
        f"created_at, updated_at) SELECT {source}, {day}, "
        f"IF(n % 100 = 7, 'BUDGET_EXHAUSTED', 'SUCCESS'), {then}, {then} FROM {numbers} ORDER BY n",
        "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token, worker, "
        "request_host, outcome, seconds, seconds_waited, least_interval_ms, created_at) "
        f"SELECT n + 1, {source}, {day}, n, 'w', 'h.test', 'SUCCESS', 1, 1, 1000, {then} "
        f"FROM {numbers} ORDER BY n",
        "INSERT INTO notification_outbox (notification_date, kind, idempotency_key, state, "
        f"created_at) SELECT '{DAY}' - INTERVAL n DAY, 'MORNING_REPORT', n, 'DELIVERED', '{NOON}' "
        f"FROM {numbers} WHERE n < 2000",
        "INSERT INTO job_posting_collection_sla_snapshots (snapshot_date, scheduled_at, "
        f"capture_status, captured_at, created_at) SELECT '{DAY}' - INTERVAL n DAY, '{NOON}', "
        f"'CAPTURED', '{NOON}', '{NOON}' FROM {numbers} WHERE n < 2000",
    ):
        store.write(statement)
    analyze = (
        "ANALYZE TABLE job_sources, job_posting_collection_cycles, collection_slices, "
        "notification_outbox, job_posting_collection_sla_snapshots"
    )
    with store.engine.connect() as connection:
        connection.execute(text(analyze)).all()


@pytest.mark.parametrize(
    ("asking", "most"),
    [
        (lambda c: observed.stuck_leases(c, NOON), 10),
        (lambda c: observed.exhausted_boards(c, DAY), 10 * ROWS_A_SLICE),
        (
            lambda c: observed.kept_intervals(c, NOON - timedelta(hours=23)),
            SOURCES * ROWS_A_SLICE,
        ),
        (lambda c: observed.told_too_early(c, DAY - timedelta(days=7)), 10 * ROWS_A_SLICE),
        (lambda c: observed.broken_source_ids(c), 10),
    ],
    ids=["leases", "boards", "intervals", "told", "broken"],
)
def test_a_check_reads_its_days_and_not_the_history(
    store: Store, asking: Callable[[Connection], object], most: int
) -> None:
    """10,000 cycles and slices lie there, of which a day has forty."""
    fill_history(store)
    assert DAYS == 250
    _, read = rows_read(store, lambda: store.run(asking))
    assert 0 < read <= most

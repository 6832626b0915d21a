"""Many sources: page by page, and at the cost of few."""

import time
from datetime import timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.operations.page.asking import TodayQuestion
from collection_pipeline.operations.page.today_page import read_today
from collection_pipeline.store.views.today import TodayFilter
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
)
from collection_pipeline_tests.kit.page_reading import labels, next_link, page
from collection_pipeline_tests.kit.statement_costs import listening, numbers_from, plan_of

pytestmark = pytest.mark.usefixtures("noon")


MOST_SECONDS = 3.0
"""With 10,000 sources; it takes a tenth of it where nothing else runs."""
CYCLES = "job_posting_collection_cycles"


def test_pages_hold_every_source_once(store: Store, operations: Operations) -> None:
    """Keyset: walking on shows all of them in order, and the last page leads nowhere."""
    ids = [store.add_source() for _ in range(7)]
    for number, source_id in enumerate(ids[:5]):
        store.add_cycle(source_id, list(CycleStatus)[number])
    question, seen = TodayQuestion(TodayFilter(), None), []
    for _ in range(4):
        today = read_today(operations.context, question, limit=2)
        seen += [row.source.id for row in today.page.rows]
        question = TodayQuestion(TodayFilter(), today.page.next_after)
    assert sorted(seen) == ids
    assert today.page.next_after is None
    assert [row.source.id for row in today.page.rows] == seen[6:]


def test_more_sources_than_a_page_holds_are_one_link_away(
    store: Store, operations: Operations
) -> None:
    """At most 200 sources a page; the filter stays."""
    add_sources(store, 130)
    first = page(operations, state="NOT_STARTED", lang="en")
    on = next_link(first)
    assert on is not None and "state=NOT_STARTED" in on and "lang=en" in on
    second = page(operations, on)
    assert len(labels(first)) == 100
    assert len(labels(second)) == 30
    assert next_link(second) is None


def add_sources(store: Store, count: int, days: int = 1) -> None:
    """So many sources with a cycle on each of the last ``days`` days."""
    with store.engine.begin() as connection:
        numbers = numbers_from(1)
        connection.exec_driver_sql(
            "INSERT INTO job_sources (id, platform, source_type, label, search_condition) SELECT n,"
            f" 'lever', 'COMPANY_BOUND', CONCAT('s', n), '{{}}' FROM ({numbers}) AS s"
            f" WHERE n <= {count}"
        )
        for back in range(days):
            connection.exec_driver_sql(
                f"INSERT INTO {CYCLES} (job_source_id, run_date, cycle_status, is_complete,"
                f" fetched_count) SELECT n, '{DAY - timedelta(days=back)}',"
                f" IF({back} = 0, 'NOT_STARTED', 'SUCCESS'), 0, n FROM ({numbers}) AS s"
                f" WHERE n <= {count}"
            )
    with store.engine.connect() as connection:
        connection.exec_driver_sql(f"ANALYZE TABLE {CYCLES}, job_sources").all()


def test_ten_thousand_sources_cost_the_statements_of_three(
    store: Store, operations: Operations
) -> None:
    """Bounded: no statement more, none that walks the cycles of other days, and soon there."""
    add_sources(store, 3)
    page(operations, "/postings")  # A connection that ended with another test is replaced now.
    with listening(operations.context.database.engine) as few:
        page(operations)
    store.write(f"DELETE FROM {CYCLES}")
    store.write("DELETE FROM job_sources")
    add_sources(store, 10_000, days=10)
    with listening(operations.context.database.engine) as many:
        began = time.monotonic()
        shown = page(operations)
        took = time.monotonic() - began
    assert len(labels(shown)) == 100
    assert took < MOST_SECONDS
    reads = [one for one in many.sent if "SELECT" in one[0]]
    assert len(many.sent) <= len(few.sent)
    for statement, parameters in [one for one in reads if CYCLES in one[0]]:
        for step in plan_of(store, statement, parameters):
            if step["table"] == CYCLES:
                assert step["key"] in {
                    "uq_cycles_source_date",
                    "ix_cycles_date_source",
                    "ix_cycles_status_date_source",
                    "PRIMARY",
                }
                assert step["type"] not in {"ALL", "index"}, (statement, step)

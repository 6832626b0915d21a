"""What the operations API reads does not grow with the history: 100,000 cycles, every filter.

Rows are counted by the server's own handlers, and every statement is explained, on both servers.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from itertools import product

from sqlalchemy import text

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.views.collection_run import RunKey
from collection_pipeline.store.views.collection_runs import (
    MOST_PASSED_ROWS,
    RunsPage,
    collection_runs,
    cycle_counts,
)
from collection_pipeline.store.views.run_order import RunsQuestion
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.statement_costs import (
    CHUNK_ROWS,
    listening,
    numbers_from,
    plan_of,
    rows_read,
)

CYCLES, RUNS = "job_posting_collection_cycles", "job_posting_collection_runs"
LIMIT = 50
ROWS_A_ITEM = 16
"""Cycle, run and source, each by index and row, and what finding the page's end took."""
PLACES = [None, RunKey(DAY - timedelta(days=250), 40)]
RANGES: list[tuple[date | None, date | None]] = [
    (None, None),
    (DAY - timedelta(days=400), DAY - timedelta(days=100)),
]
SOURCES = [None, 7]


def fill(store: Store, rows: int, sources: int) -> None:
    """``rows`` cycles, ``sources`` a day back from today, nearly all SUCCESS with their runs row.

    One in a thousand is FAILED, one in a thousand BUDGET_EXHAUSTED; the oldest tenth has a runs row
    only.
    """
    state = (
        "CASE WHEN n < 20 THEN 'PENDING' WHEN n % 1000 = 77 THEN 'FAILED' "
        "WHEN n % 1000 = 78 THEN 'BUDGET_EXHAUSTED' ELSE 'SUCCESS' END"
    )
    store.write(
        "INSERT INTO job_sources (id, platform, source_type, label, search_condition) "
        f"SELECT n + 1, 'lever', 'COMPANY_BOUND', 'a', '{{}}' FROM ({numbers_from(0)}) AS s "
        "WHERE n < 100"
    )
    values = {"day": DAY, "sources": sources, "cycles": rows * 9 // 10, "rows": rows}
    with store.engine.begin() as connection:
        for first in range(0, rows, CHUNK_ROWS):
            numbers = f"({numbers_from(first)}) AS s"
            connection.execute(
                text(
                    f"INSERT INTO {CYCLES} (job_source_id, run_date, cycle_status, is_complete, "
                    "fetched_count, created_at, updated_at) "
                    f"SELECT n % :sources + 1, :day - INTERVAL n DIV :sources DAY, {state}, 1, 5, "
                    f"'2026-01-01', '2026-01-01' FROM {numbers} WHERE n < :cycles ORDER BY n"
                ),
                values,
            )
            connection.execute(
                text(
                    f"INSERT INTO {RUNS} (job_source_id, run_date, run_status) "
                    "SELECT n % :sources + 1, :day - INTERVAL n DIV :sources DAY, "
                    "IF(n % 1000 = 77, 'FAILED', 'SUCCESS') "
                    f"FROM {numbers} WHERE n >= 20 AND n < :rows ORDER BY n"
                ),
                values,
            )
    with store.engine.connect() as connection:
        connection.execute(text(f"ANALYZE TABLE {CYCLES}, {RUNS}")).all()


def questions() -> Iterator[RunsQuestion]:
    """Every combination of filters, from the beginning and from the middle."""
    for (first, last), source, status, after in product(
        RANGES, SOURCES, [None, *CycleStatus], PLACES
    ):
        yield RunsQuestion(first, last, source, status, after, LIMIT)


def page(store: Store, question: RunsQuestion) -> RunsPage:
    """One page as the API reads it."""
    return store.run(lambda connection: collection_runs(connection, question, DAY))


def test_a_page_costs_the_same_in_a_long_history(store: Store) -> None:
    """At 100,000 cycles every filter reads what its page holds, and not what the history holds.

    With a status that runs rows have too, rows may be passed, and never more than stated. Every
    statement is explained as well: the forced index for the page, whole keys for what is joined.
    """
    fill(store, 100_000, sources=100)
    with listening(store.engine) as heard:
        for question in questions():
            found, read = rows_read(store, partial(page, store, question))
            assert len(found.rows) <= LIMIT
            assert read <= most_rows(question), question
    checked = dict(heard.on("FORCE INDEX"))
    assert len(checked) >= 10
    for statement, parameters in checked.items():
        index = statement.split("FORCE INDEX (", 1)[1].split(")", 1)[0]
        steps = plan_of(store, statement, parameters)
        assert "filesort" not in str([step["Extra"] for step in steps]), statement
        if "mpossible" in str(steps[0]["Extra"]):
            continue
        assert [step["key"] for step in steps].count(index) == 1, statement
        joined = {step["type"] for step in steps if step["key"] != index}
        assert joined <= {"eq_ref", "const"}, statement


def most_rows(question: RunsQuestion) -> int:
    """What a page may read."""
    if question.job_source_id is not None:
        # One row a day: its whole history of a thousand days is bounded by the calendar.
        return ROWS_A_ITEM * LIMIT + 3 * 1_000
    if question.status in {CycleStatus.SUCCESS, CycleStatus.FAILED}:
        return ROWS_A_ITEM * LIMIT + 4 * MOST_PASSED_ROWS
    return ROWS_A_ITEM * LIMIT


def test_a_page_of_one_long_day_costs_no_more(store: Store) -> None:
    """20,000 sources on one day: a page from its middle; the counts read index entries alone."""
    fill(store, 20_000, sources=20_000)
    middle = RunsQuestion(after=RunKey(DAY, 12_000), limit=LIMIT)
    found, read = rows_read(store, lambda: page(store, middle))
    assert [run.key.job_source_id for run in found.rows] == list(range(12_001, 12_001 + LIMIT))
    assert read <= ROWS_A_ITEM * LIMIT
    with listening(store.engine) as heard:
        counted = store.run(lambda connection: cycle_counts(connection, DAY))
    assert sum(counted.values()) == 18_000
    assert counted[CycleStatus.PENDING] == 20
    ((statement, parameters),) = heard.on("GROUP BY")
    (step,) = plan_of(store, statement, parameters)
    assert step["key"] == "ix_cycles_status_date_source"
    assert "Using index" in step["Extra"]


def test_yesterdays_history_costs_todays_counts_nothing(store: Store) -> None:
    """The counts of today read today's entries, however long the history is."""
    fill(store, 10_000, sources=50)
    counted, read = rows_read(
        store, lambda: store.run(lambda connection: cycle_counts(connection, DAY))
    )
    assert sum(counted.values()) == 50
    assert read <= 100


def test_a_search_that_is_given_up_goes_on_where_it_ended(store: Store) -> None:
    """The older rows behind many thousands of others are found, page by page, none twice."""
    fill(store, 20_000, sources=100)
    status = CycleStatus.FAILED
    question = RunsQuestion(status=status, limit=500)
    keys: list[RunKey] = []
    pages = 0
    while True:
        found = page(store, question)
        keys += [run.key for run in found.rows]
        pages += 1
        if found.next_after is None:
            break
        question = RunsQuestion(status=status, limit=500, after=found.next_after)
    assert keys == sorted(keys, key=lambda key: key.place)
    matching = store.value(
        f"SELECT (SELECT COUNT(*) FROM {CYCLES} WHERE cycle_status = :status) + "
        f"(SELECT COUNT(*) FROM {RUNS} AS r WHERE run_status = :status AND NOT EXISTS "
        f"(SELECT 1 FROM {CYCLES} AS c WHERE c.job_source_id = r.job_source_id "
        "AND c.run_date = r.run_date))",
        status=status.value,
    )
    assert len(keys) == len(set(keys)) == matching
    assert pages == 1 + 20_000 // MOST_PASSED_ROWS - 1

"""Residual seen rows go in short transactions, never those of a RUNNING cycle (R31)."""

from datetime import date, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from collection_pipeline.collection.cleanup import CleanedUp, SeenRowCleanup
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.rivals import open_transaction, run_sql
from collection_pipeline_tests.kit.statement_costs import listening, plan_of, rows_locked

SEEN = "job_posting_collection_seen_postings"
TWO_DAYS = timedelta(hours=48)
MICROSECOND = timedelta(microseconds=1)
LONG_AGO = DAY - timedelta(days=9)


def cleanup(store: Store, chunk_rows: int = 1000) -> SeenRowCleanup:
    """The 10:15 job of one process."""
    settings = load_settings({"COLLECTION_SEEN_CLEANUP_CHUNK_ROWS": str(chunk_rows)})
    return SeenRowCleanup(store.transactions, store.clock, settings)


def see(store: Store, cycle_id: int, rows: int = 1) -> int:
    """Gives a cycle seen rows."""
    for first in range(0, rows, 1000):
        values = ", ".join(
            f"({cycle_id}, '{number:06d}', 0, 0, '2026-12-01')"
            for number in range(first, min(rows, first + 1000))
        )
        store.write(f"INSERT INTO {SEEN} VALUES {values}")
    return cycle_id


def test_the_columns_of_the_seen_table_are_in_the_expected_order(store: Store) -> None:
    """The rows above are written without column names."""
    cycle_id = see(store, 7)
    row = store.row(f"SELECT * FROM {SEEN}")
    assert list(row)[:4] == ["cycle_id", "source_job_id", "list_position", "detail_tried"]
    assert row["cycle_id"] == cycle_id


@pytest.mark.parametrize(
    ("status", "run_date", "age", "goes"),
    [
        (CycleStatus.SUCCESS, LONG_AGO, TWO_DAYS + MICROSECOND, True),
        (CycleStatus.FAILED, LONG_AGO, TWO_DAYS + MICROSECOND, True),
        (CycleStatus.BUDGET_EXHAUSTED, LONG_AGO, TWO_DAYS + MICROSECOND, True),
        (CycleStatus.SUCCESS, LONG_AGO, TWO_DAYS, False),
        (CycleStatus.NOT_STARTED, YESTERDAY, None, True),
        (CycleStatus.PENDING, YESTERDAY, None, True),
        (CycleStatus.NOT_STARTED, DAY, None, False),
        (CycleStatus.PENDING, DAY, None, False),
        (CycleStatus.RUNNING, DAY, None, False),
        (CycleStatus.RUNNING, YESTERDAY, None, False),
        (CycleStatus.RUNNING, LONG_AGO, None, False),
    ],
)
def test_only_residue_goes(
    store: Store, status: CycleStatus, run_date: date, age: timedelta | None, goes: bool
) -> None:
    """R31: ended more than 48 h ago, or waiting on a day that is over."""
    columns: dict[str, Any] = {} if age is None else {"finished_at": NOON - age}
    see(store, store.add_cycle(store.add_source(), status, run_date, **columns), 3)
    before = store.run(cleanup(store).count_left_over)
    done = cleanup(store).clean_up()
    assert before == 3 * goes
    assert done == CleanedUp(3 * goes, int(goes), 0)
    assert store.value(f"SELECT COUNT(*) FROM {SEEN}") == 3 * (not goes)


def test_each_chunk_is_a_transaction_of_its_own(store: Store) -> None:
    """R31: a cleanup that is stopped keeps what it has done; no chunk spans two cycles."""
    for rows in (25, 5):
        see(store, store.add_cycle(store.add_source(), run_date=YESTERDAY), rows)
    chunks: list[int] = []

    def deleted(*_arguments: object) -> None:
        with open_transaction(store) as connection:
            chunks.append(run_sql(connection, f"SELECT COUNT(*) FROM {SEEN}").scalar_one())

    with listening(store.engine) as heard:
        event.listen(store.engine, "commit", deleted)
        done = cleanup(store, chunk_rows=10).clean_up()
        event.remove(store.engine, "commit", deleted)
    assert done == CleanedUp(30, 4, 0)
    assert {30, 20, 10, 5} <= set(chunks)
    assert all("LIMIT" in statement for statement, _ in heard.on("DELETE"))


def test_what_could_not_be_deleted_is_counted(store: Store, other: Store) -> None:
    """R31: ``seenRowsOlderThan48Hours``; here residue appears while the cleanup runs."""
    see(store, store.add_cycle(store.add_source(), run_date=YESTERDAY), 2)
    late = store.add_cycle(store.add_source(), run_date=YESTERDAY)
    commits: list[int] = []

    def appearing(*_arguments: object) -> None:
        commits.append(1)
        if len(commits) == 1:
            see(other, late, 4)

    event.listen(store.engine, "commit", appearing)
    done = cleanup(store).clean_up()
    event.remove(store.engine, "commit", appearing)
    assert done == CleanedUp(2, 1, 4)


def test_a_chunk_locks_only_its_own_rows(store: Store, other: Store) -> None:
    """mysql.md: without the index a chunk of 500 locked 5,013 rows."""
    see(store, store.add_cycle(store.add_source(), run_date=YESTERDAY), 5_000)
    locked = rows_locked(
        store, other, cleanup(store, chunk_rows=500).clean_up, f"DELETE FROM {SEEN}"
    )
    assert 500 <= locked <= 510
    with listening(store.engine) as heard:
        see(store, store.add_cycle(store.add_source(), run_date=YESTERDAY), 5_000)
        cleanup(store, chunk_rows=500).clean_up()
    statement, parameters = heard.on("DELETE")[0]
    (step,) = plan_of(store, statement, parameters)
    assert step["key"] == "PRIMARY" and "filesort" not in (step["Extra"] or "")

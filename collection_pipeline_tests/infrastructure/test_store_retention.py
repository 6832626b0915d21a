"""Old rows go in short chunks by the database's clock, and nothing that is kept for ever (R32)."""

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from collection_pipeline.collection import retention as passes
from collection_pipeline.collection.retention import PolicyResult, Retention, RetentionFailed
from collection_pipeline.domain.notification import MORNING_REPORT, RUN_FAILED, SNAPSHOT_MISSED
from collection_pipeline.settings import load_settings
from collection_pipeline.store.connection import LOCK_WAIT_SECONDS
from collection_pipeline.store.outbox import NotificationOutbox
from collection_pipeline.store.retention.aged_rows import (
    OLD_CAPTURE_ATTEMPTS,
    OLD_DRIFT_COUNTS,
    OLD_KEY_QUOTAS,
    OLD_SLICES,
    OLD_TICKS,
    AgedRows,
)
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.rivals import open_transaction, rivals, run_sql
from collection_pipeline_tests.kit.statement_costs import (
    CHUNK_ROWS,
    listening,
    numbers_from,
    plan_of,
    rows_locked,
)

MANY = 100_000
HISTORY, TICKS = timedelta(days=400), timedelta(days=90)
MOMENT, ONE_DAY = timedelta(microseconds=1), timedelta(days=1)
SLICES, QUOTAS = "collection_slices", "platform_key_quotas"
AGED = {
    OLD_TICKS: (NOON - TICKS, MOMENT),
    OLD_SLICES: (NOON - HISTORY, MOMENT),
    OLD_CAPTURE_ATTEMPTS: (DAY - HISTORY, ONE_DAY),
    OLD_DRIFT_COUNTS: (DAY - HISTORY, ONE_DAY),
    OLD_KEY_QUOTAS: (DAY - HISTORY, ONE_DAY),
}
every_aged_table = pytest.mark.parametrize("aged", AGED, ids=lambda aged: aged.table.name)


def retention(store: Store, **changed: Any) -> Retention:
    """The nightly pass of one process."""
    monotonic = changed.pop("monotonic", None)
    settings = load_settings({f"COLLECTION_{name}": str(value) for name, value in changed.items()})
    more = {} if monotonic is None else {"monotonic": monotonic}
    return Retention(store.transactions, store.clock, settings, **more)


def done_to(store: Store, table: str, **changed: Any) -> PolicyResult:
    """What one pass did to ``table``."""
    results = retention(store, **changed).apply().results
    (one,) = [result for result in results if result.table == table]
    return one


def add_rows(store: Store, aged: AgedRows, age: date | datetime, rows: int = 1) -> None:
    """Rows of that age, each with keys of its own and with nothing but what may not be null."""
    first = int(store.value(f"SELECT COUNT(*) FROM {aged.table.name}"))
    for begin in range(0, rows, CHUNK_ROWS):
        columns = {
            column.name: _filled(column.name, column.type.python_type)
            for column in aged.table.columns
            if not (column.nullable or column.server_default or column.autoincrement is True)
        }
        columns[aged.age.name] = ":age"
        names, values = ", ".join(columns), ", ".join(columns.values())
        store.write(
            f"INSERT INTO {aged.table.name} ({names}) SELECT {values} "
            f"FROM ({numbers_from(first + begin)}) AS s WHERE n < {first + rows}",
            age=age,
        )


def _filled(name: str, kind: type) -> str:
    if issubclass(kind, int | float):
        return "n"
    return "CONCAT('x', n)" if kind is str else f"'{NOON:%Y-%m-%d}'"


def counted(store: Store, table: str) -> int:
    """How many rows a table has."""
    return int(store.value(f"SELECT COUNT(*) FROM {table}"))


@every_aged_table
def test_rows_go_the_moment_that_they_are_too_old(store: Store, aged: AgedRows) -> None:
    """A year without anybody watching: each such table levels out at its age."""
    edge, step = AGED[aged]
    add_rows(store, aged, edge - step, rows=2)
    add_rows(store, aged, edge)
    name = aged.table.name
    assert done_to(store, name) == PolicyResult(name, "deleted", 2, is_done=True)
    assert store.value(f"SELECT {aged.age.name} FROM {name}") == edge
    assert store.now is not None
    store.now += step
    assert done_to(store, name).rows == 1
    assert counted(store, name) == 0


@every_aged_table
def test_a_pass_locks_its_chunk_and_waits_for_no_writer(
    store: Store, other: Store, aged: AgedRows
) -> None:
    """At three rows, where the server would rather walk the table."""
    edge, step = AGED[aged]
    add_rows(store, aged, edge - step)
    add_rows(store, aged, edge + 2 * step)
    add_rows(store, aged, edge + 3 * step)
    name, column = aged.table.name, aged.age.name
    with rivals() as start, open_transaction(other) as writer:
        run_sql(writer, f"SELECT * FROM {name} WHERE {column} > :edge FOR UPDATE", edge=edge)
        deleting = start(lambda: done_to(store, name))
        assert deleting.result(LOCK_WAIT_SECONDS - 1).rows == 1


def test_a_chunk_of_a_large_table_locks_and_reads_only_itself(store: Store, other: Store) -> None:
    """100,000 slices, of which half a percent is due."""
    add_rows(store, OLD_SLICES, NOON, rows=MANY)
    add_rows(store, OLD_SLICES, NOON - HISTORY - ONE_DAY, rows=passes.CHUNK_ROWS)
    with store.engine.connect() as connection:
        connection.execute(text(f"ANALYZE TABLE {SLICES}")).all()
    with listening(store.engine) as heard:
        locked = rows_locked(store, other, retention(store).apply, f"DELETE {SLICES}")
    # The row, and its entry in each of the three indexes.
    assert passes.CHUNK_ROWS <= locked <= 4 * passes.CHUNK_ROWS + 4
    assert counted(store, SLICES) == MANY
    finding, deleting = heard.on("SELECT", SLICES)[0], heard.on(f"DELETE {SLICES}")[0]
    (step,) = plan_of(store, *finding)
    assert step["key"] == OLD_SLICES.index and "filesort" not in (step["Extra"] or "")
    assert [step["key"] for step in plan_of(store, *deleting)] == ["PRIMARY"]


@pytest.mark.parametrize("aged", [OLD_DRIFT_COUNTS, OLD_KEY_QUOTAS], ids=lambda a: a.table.name)
def test_rows_with_a_key_of_several_columns_are_found_by_it(store: Store, aged: AgedRows) -> None:
    """A list of pairs is a walk through the whole table where the server cannot use it."""
    edge, step = AGED[aged]
    add_rows(store, aged, edge + step, rows=2_000)
    add_rows(store, aged, edge - step, rows=3)
    with listening(store.engine) as heard:
        assert done_to(store, aged.table.name).rows == 3
    (deleting,) = heard.on(f"DELETE {aged.table.name}")
    (plan,) = plan_of(store, *deleting)
    assert plan["key"] == "PRIMARY" and int(plan["rows"]) <= 6


def test_each_chunk_is_a_transaction_of_its_own_until_time_is_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left over goes on the next night; what is done stays done."""
    monkeypatch.setattr(passes, "CHUNK_ROWS", 10)
    add_rows(store, OLD_TICKS, NOON - TICKS - MOMENT, rows=35)
    ticks = OLD_TICKS.table.name
    moments = [0.0, 1.0, 2.0, passes.MOST_SECONDS, *[0.0] * 20]
    late = done_to(store, ticks, monotonic=lambda: moments.pop(0))
    assert late == PolicyResult(ticks, "deleted", 20, is_done=False)
    assert counted(store, ticks) == 15
    with listening(store.engine) as heard:
        assert done_to(store, ticks) == PolicyResult(ticks, "deleted", 15, is_done=True)
    assert len(heard.on(f"DELETE {ticks}")) == 2


def test_a_table_that_fails_keeps_no_other_from_its_work(store: Store) -> None:
    """The pass fails in the end, with one sentence a table."""
    for aged, (edge, step) in AGED.items():
        add_rows(store, aged, edge - step)
    store.write(
        f"CREATE TRIGGER kept BEFORE DELETE ON {SLICES} FOR EACH ROW "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nobody deletes here'"
    )
    try:
        done = retention(store).apply()
    finally:
        store.write("DROP TRIGGER kept")
    rows = {result.table: result.rows for result in done.results}
    assert rows == {aged.table.name: int(aged is not OLD_SLICES) for aged in AGED} | {
        "notification_outbox": 0
    }
    with pytest.raises(RetentionFailed, match=f"^{SLICES}: the database refused: nobody deletes"):
        done.require_success()
    assert counted(store, SLICES) == 1


def told(store: Store, day: date, kind: str, state: str = "DELIVERED") -> None:
    """A message of that day as the outbox keeps it."""
    store.run(lambda connection: NotificationOutbox().add(connection, day, kind, "{}", NOON))
    store.write(
        "UPDATE notification_outbox SET state = :state WHERE notification_date = :day "
        "AND kind = :kind",
        state=state,
        day=day,
        kind=kind,
    )


def snapshot(store: Store, day: date, status: str) -> None:
    """A final header of that day."""
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots (snapshot_date, scheduled_at, "
        "capture_status, created_at) VALUES (:day, :day, :status, :day)",
        day=day,
        status=status,
    )


def test_old_messages_go_but_no_missed_morning_is_told_a_second_time(store: Store) -> None:
    """R40: the row is the only mark that a MISSED morning was told, however old it is."""
    old, edge = DAY - HISTORY - ONE_DAY, DAY - HISTORY
    earlier = old - ONE_DAY
    snapshot(store, earlier, "MISSED")
    snapshot(store, old, "CAPTURED")
    told(store, earlier, SNAPSHOT_MISSED, "LOGGED")
    told(store, earlier, RUN_FAILED, "EXPIRED")
    told(store, old, MORNING_REPORT)
    told(store, old, RUN_FAILED, "WAITING")
    told(store, edge, MORNING_REPORT)
    assert done_to(store, "notification_outbox").rows == 2
    left = store.rows("SELECT notification_date, kind FROM notification_outbox ORDER BY id")
    assert [tuple(row.values()) for row in left] == [
        (earlier, SNAPSHOT_MISSED),
        (old, RUN_FAILED),
        (edge, MORNING_REPORT),
    ]
    untold = store.run(lambda connection: NotificationOutbox().untold_snapshots(connection, edge))
    assert untold == []


def test_cycles_history_and_snapshots_are_kept_for_ever(store: Store) -> None:
    """Ten years later nothing but the rows of the policies has gone."""
    source = store.add_source()
    cycle = store.add_cycle(source)
    snapshot(store, DAY, "CAPTURED")
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status) "
        "VALUES (:source, :day, 'SUCCESS')",
        source=source,
        day=DAY,
    )
    before = store.tables()
    store.now = NOON + timedelta(days=3_650)
    retention(store, HISTORY_DAYS=367, TICK_DAYS=7, RAW_BODY_DAYS=1).apply().require_success()
    assert store.tables() == before and store.cycle(cycle)

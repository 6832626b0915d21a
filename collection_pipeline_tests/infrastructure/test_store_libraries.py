"""The library register's rows: written where they changed, seen, switched off, never deleted."""

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from collection_pipeline.domain.library import Library, library_of
from collection_pipeline.ingest.spool import LibrarySpool
from collection_pipeline.store.ingest_runs import (
    IngestCounts,
    IngestEnd,
    IngestRuns,
    IngestStatus,
    RunStart,
)
from collection_pipeline.store.libraries import PublicLibraries, SnapshotRow, StoredChunk
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.library_rows import Row, library_row, library_rows, pages_of
from collection_pipeline_tests.kit.statement_costs import (
    CHUNK_ROWS,
    Statements,
    listening,
    numbers_from,
    plan_of,
    rows_locked,
)

LATER = NOON + timedelta(days=31)
REGISTER = PublicLibraries()


def chunk_of(rows: Sequence[Row]) -> list[SnapshotRow]:
    """Rows as the spool hands them on: distinct, sorted by key."""
    with LibrarySpool() as spool:
        for page in pages_of(rows):
            spool.add(page)
        return [row for chunk in spool.chunks() for row in chunk]


def stored(store: Store, run_id: int, rows: Sequence[Row], now: datetime = NOON) -> StoredChunk:
    """One chunk in a transaction."""
    chunk = chunk_of(rows)
    return store.run(lambda connection: REGISTER.store(connection, run_id, chunk, now))


def deactivated(store: Store, run_id: int, now: datetime = NOON) -> int:
    """The stale step of a run."""
    return store.run(lambda connection: REGISTER.deactivate_unsighted(connection, run_id, now))


def libraries(store: Store) -> list[dict[str, Any]]:
    """The register, by key."""
    return store.rows("SELECT * FROM public_libraries ORDER BY provider_code, library_name")


def history(store: Store) -> list[tuple[Any, ...]]:
    """What the changes table holds, without keys."""
    asked = "SELECT field, old_value, new_value, ingest_run_id FROM public_library_changes"
    return [tuple(row.values()) for row in store.rows(f"{asked} ORDER BY id")]


def test_all_28_columns_come_back_as_they_were_typed(store: Store) -> None:
    """Section 11: times, counts, areas, coordinates and dates are values, the row as sent stays."""
    row = library_row(7)
    assert stored(store, 1, [row]) == StoredChunk(1, 1, 0, 0)
    (found,) = libraries(store)
    library = library_of(row)
    assert isinstance(library, Library)
    values = dict(library.values)
    assert {name: found[name] for name in values} == values
    assert found["saturday_closes_at"] == timedelta(hours=24)
    assert found["plot_area_m2"] == Decimal("343.50")
    assert found["longitude"] == Decimal("127.1566190")
    assert found["reference_date"] == date(2026, 1, 20)
    assert (found["provider_code"], found["library_name"]) == ("3007000", "작은도서관 7")
    assert json.loads(found["raw_row"]) == row
    assert found["row_hash"] == library.row_hash
    assert (found["active"], found["unparsed_fields"], found["deactivated_at"]) == (1, None, None)
    assert (found["first_seen_at"], found["updated_at"]) == (NOON, NOON)


def test_what_does_not_parse_is_kept_as_sent_and_named(store: Store) -> None:
    """Nothing is dropped; hostile texts are no error of the database."""
    hostile = "\x00" + "가" * 70_000 + "\ud800😀"
    row = library_row(1, seat_count="약 30석", homepage_url=hostile)
    stored(store, 1, [row])
    (found,) = libraries(store)
    assert (found["seat_count"], found["homepage_url"]) == (None, None)
    assert json.loads(found["unparsed_fields"]) == ["seat_count", "homepage_url"]
    assert json.loads(found["raw_row"]) == row
    stored(store, 2, [library_row(1, seat_count="30", homepage_url=hostile[:-1])])
    by_field = {one[0]: one for one in history(store)}
    assert by_field["seat_count"] == ("seat_count", "약 30석", "30", 2)


def test_the_same_rows_again_write_only_their_sightings(store: Store) -> None:
    """R49: idempotent; an unchanged row is not rewritten, its sighting lives in a narrow table."""
    rows = library_rows(range(30))
    stored(store, 1, rows)
    before = libraries(store)
    with listening(store.engine) as noted:
        assert stored(store, 2, rows, LATER) == StoredChunk(30, 0, 0, 0)
    assert writes_to(noted, "public_libraries") == []
    assert len(writes_to(noted, "public_library_sightings")) == 1
    assert libraries(store) == before and history(store) == []
    asked = "SELECT DISTINCT ingest_run_id, last_seen_at FROM public_library_sightings"
    assert store.rows(asked) == [{"ingest_run_id": 2, "last_seen_at": LATER}]


def writes_to(noted: Statements, table: str) -> list[str]:
    """Statements that change ``table``."""
    verbs = (f"INSERT INTO {table} ", f"UPDATE {table} ", f"DELETE FROM {table}")
    return [statement for statement, _ in noted.sent if statement.startswith(verbs)]


def test_a_changed_row_is_rewritten_and_leaves_one_history_row_a_field(store: Store) -> None:
    """Old and new text, who changed it and when; neighbours are not touched."""
    stored(store, 1, library_rows(range(5)))
    before = {row["library_name"]: row for row in libraries(store)}
    edited = library_row(3, closed_days="연중무휴", saturday_closes_at="", latitude="37.5")
    rows = [*library_rows([0, 1, 2, 4]), edited]
    assert stored(store, 2, rows, LATER) == StoredChunk(5, 0, 1, 0)
    assert history(store) == [
        ("closed_days", "매주 월요일+법정공휴일", "연중무휴", 2),
        ("saturday_closes_at", "24:00", None, 2),
        ("latitude", "37.492325", "37.5", 2),
    ]
    after = {row["library_name"]: row for row in libraries(store)}
    changed = after.pop("작은도서관 3")
    assert (changed["closed_days"], changed["updated_at"]) == ("연중무휴", LATER)
    assert changed["first_seen_at"] == NOON
    assert changed["id"] == before.pop("작은도서관 3")["id"]
    assert after == before
    whole = store.row("SELECT DISTINCT library_id, changed_at FROM public_library_changes")
    assert whole == {"library_id": changed["id"], "changed_at": LATER}


def test_a_row_of_a_reading_that_this_release_cannot_key_is_replaced(store: Store) -> None:
    """R34: an older release may have stored it; the run goes on."""
    stored(store, 1, [library_row(1)])
    store.write("UPDATE public_libraries SET raw_row = '{}', row_hash = 'older'")
    assert stored(store, 2, [library_row(1)]) == StoredChunk(1, 0, 1, 0)
    assert ("province", None, "서울특별시", 2) in history(store)


def test_stale_rows_are_switched_off_and_returning_ones_on_again(store: Store) -> None:
    """R49, R32: soft, with the moment; both keep their row, and nothing is deleted."""
    stored(store, 1, library_rows(range(6)))
    first = libraries(store)
    with listening(store.engine) as noted:
        stored(store, 2, library_rows(range(4)), LATER)
        assert deactivated(store, 2, LATER) == 2
        assert deactivated(store, 2, LATER) == 0
        gone = [row for row in libraries(store) if not row["active"]]
        assert [row["library_name"] for row in gone] == ["작은도서관 4", "작은도서관 5"]
        assert {(row["deactivated_at"], row["updated_at"]) for row in gone} == {(LATER, LATER)}
        back = [*library_rows([0, 1, 2, 3, 4]), library_row(5, edition=1)]
        assert stored(store, 3, back, LATER) == StoredChunk(6, 0, 1, 2)
        assert deactivated(store, 3, LATER) == 0
    assert [statement for statement, _ in noted.sent if "DELETE" in statement] == []
    again = libraries(store)
    assert [row["id"] for row in again] == [row["id"] for row in first]
    assert {(row["active"], row["deactivated_at"]) for row in again} == {(1, None)}
    assert again[-1]["updated_at"] == LATER


def test_keys_that_look_alike_stay_apart(store: Store) -> None:
    """Section 7: bytewise keys; the same name under two codes, or in another case, is another."""
    alike = [
        library_row(1, library_name="Library A"),
        library_row(1, library_name="library a"),
        library_row(1, library_name="Library A", provider_code="3001001"),
        library_row(1, library_name='도서관%s\'s \\ "1"'),
    ]
    assert stored(store, 1, alike) == StoredChunk(4, 4, 0, 0)
    assert stored(store, 2, alike) == StoredChunk(4, 0, 0, 0)
    assert len(libraries(store)) == 4


def test_no_rows_are_no_statement(store: Store) -> None:
    """An empty chunk is not an empty IN list."""
    with listening(store.engine) as noted:
        assert stored(store, 1, []) == StoredChunk(0, 0, 0, 0)
    assert [one for one in noted.sent if "public_libr" in one[0]] == []


def fill_register(store: Store, rows: int, run_id: int) -> None:
    """``rows`` active libraries, all sighted by ``run_id``."""
    with store.engine.begin() as connection:
        for first in range(0, rows, CHUNK_ROWS):
            connection.exec_driver_sql(
                "INSERT INTO public_libraries (id, provider_code, library_name, row_hash, raw_row, "
                "first_seen_at, updated_at) SELECT n + 1, 3000000 + n %% 700, CONCAT('작은 ', n), "
                f"'h', '{{}}', %s, %s FROM ({numbers_from(first)}) AS s WHERE n < {rows}",
                (NOON, NOON),
            )
        connection.exec_driver_sql(
            "INSERT INTO public_library_sightings SELECT id, %s, %s FROM public_libraries",
            (run_id, NOON),
        )
    store.rows("ANALYZE TABLE public_libraries, public_library_sightings")


@pytest.mark.parametrize("rows", [3, 100_000])
def test_a_chunk_finds_and_locks_its_own_rows_only(store: Store, other: Store, rows: int) -> None:
    """mysql.md: by ranges of the unique index, however large the register is."""
    fill_register(store, rows, run_id=1)
    wanted = library_rows(range(500_000, 500_040))
    with listening(store.engine) as noted:
        stored(store, 2, wanted)
    looked_up = next(one for one in noted.sent if one[0].startswith("SELECT id, provider_code"))
    sighted = next(one for one in noted.sent if one[0].startswith("INSERT INTO public_library_sig"))
    if rows > 3:
        for statement, parameters in (looked_up, sighted):
            plan = plan_of(store, statement, parameters)
            (step,) = [one for one in plan if one["table"] == "public_libraries"]
            assert (step["key"], step["type"]) == ("uq_public_libraries_key", "range"), step
            assert int(step["rows"]) <= 2 * len(wanted), step
    locked = rows_locked(store, other, lambda: stored(store, 3, wanted), "public_library_sightings")
    assert locked <= 4 * len(wanted)


def test_the_stale_step_locks_what_it_switches_off(store: Store, other: Store) -> None:
    """mysql.md: what is stale is found without a lock, and it may be more than one statement."""
    fill_register(store, 20_000, run_id=2)
    store.write("UPDATE public_library_sightings SET ingest_run_id = 1 WHERE library_id <= 1500")
    locked = rows_locked(store, other, lambda: deactivated(store, 2), "UPDATE public_libraries")
    assert locked <= 4 * 1_500
    assert store.value("SELECT COUNT(*) FROM public_libraries WHERE active = 0") == 1_500


def begun(store: Store, **start: Any) -> int:
    """A run that begins now."""
    asked: dict[str, Any] = {"source": "library", "trigger": "manual", **start}
    terms = RunStart(deactivate_stale=True, allow_shrink=False, **asked)
    return store.run(lambda connection: IngestRuns().begin(connection, terms, NOON))


def ended(store: Store, run_id: int, end: IngestEnd) -> bool:
    """The run's end."""
    return store.run(lambda connection: IngestRuns().end(connection, run_id, end, LATER))


def test_a_run_records_what_it_was_asked_and_what_it_did(store: Store) -> None:
    """R51: all counts, the reason, who started it, when it began and ended."""
    run_id = begun(store, source="csv", trigger="scheduled", dagster_run_id="abc")
    counts = IngestCounts(20, 15, 2, 3, 4, 5, 1, 7, 4, 9)
    assert ended(store, run_id, IngestEnd(IngestStatus.SUCCESS, "a" * 400, counts, 21, "QUOTA"))
    row = store.row("SELECT * FROM ingest_runs")
    assert row == {
        "id": run_id,
        "source": "csv",
        "trigger_kind": "scheduled",
        "run_status": "SUCCESS",
        "reason": "a" * 300,
        "dagster_run_id": "abc",
        "fetched_count": 20,
        "upserted_count": 15,
        "added_count": 2,
        "changed_count": 3,
        "reactivated_count": 4,
        "deactivated_count": 5,
        "unkeyable_count": 1,
        "unparsed_count": 7,
        "duplicate_count": 4,
        "left_out_count": 9,
        "stated_total": 21,
        "failure_kind": "QUOTA",
        "deactivate_stale": 1,
        "allow_shrink": 0,
        "started_at": NOON,
        "finished_at": LATER,
    }


def test_a_run_that_has_ended_never_changes(store: Store) -> None:
    """The next run closes a RUNNING row; its late process must not reopen or rewrite it."""
    first = begun(store)
    second = begun(store)
    rows = store.rows("SELECT id, run_status, reason FROM ingest_runs ORDER BY id")
    assert [(row["id"], row["run_status"]) for row in rows] == [
        (first, "FAILED"),
        (second, "RUNNING"),
    ]
    assert rows[0]["reason"].startswith("interrupted")
    assert not ended(store, first, IngestEnd(IngestStatus.SUCCESS))
    assert ended(store, second, IngestEnd(IngestStatus.SUCCESS))
    begun(store)
    statuses = store.rows("SELECT run_status FROM ingest_runs ORDER BY id")
    assert [row["run_status"] for row in statuses] == ["FAILED", "SUCCESS", "RUNNING"]

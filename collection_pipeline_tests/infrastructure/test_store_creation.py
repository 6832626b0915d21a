"""Headers and cycles come into being once, whoever makes them and however often (R35, I1)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy.exc import DBAPIError

from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.store.cycle_creation import create_missing_cycles
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.transaction import mysql_error_code
from collection_pipeline_tests.kit.database import DAY, NOON, PLATFORMS, Store
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    open_transaction,
    rivals,
    run_sql,
    winner_then_loser,
)

TOMORROW = DAY + timedelta(days=1)
CYCLES = "job_posting_collection_cycles"
HEADERS = "job_posting_collection_sla_snapshots"
OpenStore = Callable[..., Store]


def creation(store: Store) -> CollectionCycleDomainService:
    """The service of one process."""
    return CollectionCycleDomainService(store.transactions, store.clock, store.gate, PLATFORMS)


def test_making_the_day_twice_makes_it_once(store: Store) -> None:
    """R35, I1: the second time finds nothing missing and changes no row."""
    for _ in range(3):
        store.add_source()
    first = creation(store).create_daily_cycles()
    before = store.tables()
    second = creation(store).create_daily_cycles()
    assert (first.made_cycles, first.made_headers) == (True, [DAY, TOMORROW])
    assert (second.made_cycles, second.made_headers) == (False, [])
    assert store.tables() == before
    assert len(before[CYCLES]) == 3


def test_a_source_added_later_gets_its_cycle_the_same_day(store: Store) -> None:
    """R35: only the missing one is made."""
    store.add_source()
    creation(store).create_daily_cycles()
    before = store.rows(f"SELECT * FROM {CYCLES}")
    late = store.add_source()
    creation(store).create_daily_cycles()
    after = store.rows(f"SELECT * FROM {CYCLES} ORDER BY id")
    assert after[:1] == before
    assert [row["job_source_id"] for row in after[1:]] == [late]


@pytest.mark.parametrize("order", ["first wins", "second wins"])
def test_two_processes_that_make_the_day_at_once_make_one_cycle(
    store: Store, other: Store, order: str
) -> None:
    """I1: the loser waits for the unique key and leaves the winner's cycles as they are."""
    for _ in range(5):
        store.add_source()
    store.gate.ensure_headers()
    pair = (store, other) if order == "first wins" else (other, store)
    winner, loser = pair
    winner_then_loser(
        winner,
        lambda: creation(winner).create_daily_cycles(),
        lambda: creation(loser).create_daily_cycles(),
        f"INSERT INTO {CYCLES}",
    )
    made = store.rows(f"SELECT job_source_id, cycle_status FROM {CYCLES}")
    assert len({row["job_source_id"] for row in made}) == len(made) == 5
    assert {row["cycle_status"] for row in made} == {"NOT_STARTED"}


@pytest.mark.parametrize("order", ["first wins", "second wins"])
def test_two_processes_that_make_one_sources_cycle_at_once_get_the_same(
    store: Store, other: Store, order: str
) -> None:
    """I1 for ``create_if_absent``: both are told of the one cycle."""
    source_id = store.add_source()
    store.gate.ensure_headers()
    winner, loser = (store, other) if order == "first wins" else (other, store)
    first, second = winner_then_loser(
        winner,
        lambda: winner.repository.create_if_absent(source_id, DAY),
        lambda: loser.repository.create_if_absent(source_id, DAY),
        f"INSERT INTO {CYCLES}",
    )
    assert first == second
    assert store.value(f"SELECT COUNT(*) FROM {CYCLES}") == 1


def test_eight_processes_at_once_leave_no_deadlock_behind(open_store: OpenStore) -> None:
    """R35: headers and cycles together, from an empty day, all of them end well."""
    store = open_store()
    store.switch_on()
    for _ in range(20):
        store.add_source()
    many = [open_store() for _ in range(8)]
    with rivals() as start:
        ends = [start(creation(one).create_daily_cycles) for one in many]
        days = [end.result(PATIENCE_SECONDS) for end in ends]
    assert {day.run_date for day in days} == {DAY}
    assert sorted(made for day in days for made in day.made_headers) == [DAY, TOMORROW]
    assert store.value(f"SELECT COUNT(*) FROM {CYCLES}") == 20
    assert store.value(f"SELECT COUNT(*) FROM {HEADERS}") == 2


def test_headers_are_made_with_the_flags_off_and_cycles_are_not(store: Store) -> None:
    """R35, R44: the morning's report needs a header also on a day without collection."""
    store.add_source()
    store.switch_on(DISPATCH_FLAG, AGGREGATOR_FLAG, enabled=False)
    day = creation(store).create_daily_cycles()
    assert day.made_headers == [DAY, TOMORROW]
    assert store.rows(f"SELECT id FROM {CYCLES}") == []


def test_a_header_made_after_the_cutoff_is_not_applicable_and_tomorrows_waits(
    store: Store,
) -> None:
    """R37: noon is late for today and early for tomorrow."""
    store.gate.ensure_headers()
    found = store.rows(f"SELECT snapshot_date, capture_status FROM {HEADERS} ORDER BY 1")
    assert [tuple(row.values()) for row in found] == [
        (DAY, "NOT_APPLICABLE"),
        (TOMORROW, "PENDING"),
    ]


def test_a_header_never_changes_by_being_asked_for(store: Store) -> None:
    """R39: whatever its state, a second maker leaves it alone."""
    store.now = NOON - timedelta(hours=6)
    store.gate.ensure_headers()
    store.write(f"UPDATE {HEADERS} SET capture_status = 'CAPTURED'")
    before = store.tables()
    store.now = NOON
    assert store.gate.ensure_headers() == []
    assert store.tables() == before


def test_two_processes_that_make_a_header_at_once_make_one(store: Store, other: Store) -> None:
    """R35: the loser finds it made and says so."""
    results = winner_then_loser(
        store,
        lambda: store.gate.ensure_header(DAY),
        lambda: other.gate.ensure_header(DAY),
        f"INSERT INTO {HEADERS}",
    )
    assert results == (True, False)
    assert store.value(f"SELECT COUNT(*) FROM {HEADERS}") == 1


def test_a_header_that_exists_is_only_read(store: Store, other: Store) -> None:
    """R35: a capture that holds the gate exclusively does not stop a tick's look at the header."""
    store.gate.ensure_headers()
    with open_transaction(other) as capture:
        # By its date, so that the index entry is locked too, as an insert would meet it.
        run_sql(capture, f"SELECT * FROM {HEADERS} WHERE snapshot_date = :day FOR UPDATE", day=DAY)
        with rivals() as start:
            asked = start(store.gate.ensure_headers)
            assert asked.result(PATIENCE_SECONDS) == []


def test_writers_share_the_gate(store: Store, other: Store) -> None:
    """R13: a writer whose transaction stays open delays no other writer."""
    source, another = store.add_source(), store.add_source()
    store.gate.ensure_headers()
    with rivals() as start, open_transaction(other) as writer:
        run_sql(
            writer,
            f"SELECT id FROM {HEADERS} WHERE snapshot_date = :day LOCK IN SHARE MODE",
            day=DAY,
        )
        made = start(lambda: store.repository.create_if_absent(source, DAY))
        assert made.result(PATIENCE_SECONDS).job_source_id == source
    assert store.repository.create_if_absent(another, DAY).job_source_id == another


@pytest.mark.parametrize("found_by", ["snapshot_date = '2026-12-01'", "id = :id"])
def test_a_state_write_holds_its_days_header_row(store: Store, other: Store, found_by: str) -> None:
    """R13, R36: the row itself, however a capture finds it, and only for others' exclusive lock."""
    source_id = store.add_source()
    store.gate.ensure_headers()
    header = store.value(f"SELECT id FROM {HEADERS} WHERE snapshot_date = :day", day=DAY)

    def asking(_connection: object) -> int | None:
        with open_transaction(other) as capture:
            asked = f"SELECT capture_status FROM {HEADERS} WHERE {found_by} FOR UPDATE NOWAIT"
            try:
                run_sql(capture, asked, **({"id": header} if ":id" in found_by else {}))
            except DBAPIError as refused:
                return mysql_error_code(refused)
            return None

    refused = store.gate.with_daily_write_gate(DAY, asking)
    assert refused in {3572, 1205}
    assert asking(None) is None
    assert source_id


def test_a_state_write_makes_a_missing_header_first(store: Store) -> None:
    """R13, R35: the gate of a day that no tick has prepared is made on the way."""
    source_id = store.add_source()
    assert store.rows(f"SELECT id FROM {HEADERS}") == []
    store.repository.create_if_absent(source_id, DAY)
    assert store.value(f"SELECT snapshot_date FROM {HEADERS}") == DAY


def test_no_cycle_is_made_for_a_day_that_is_over(store: Store) -> None:
    """R16: midnight between the look at the day and the write leaves the old day as it ended."""
    store.add_source()
    after = NOON + timedelta(hours=13)
    store.run(lambda connection: create_missing_cycles(connection, DAY, PLATFORMS, after))
    assert store.rows(f"SELECT id FROM {CYCLES}") == []

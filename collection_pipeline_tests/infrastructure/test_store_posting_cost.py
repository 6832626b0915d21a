"""What a page costs does not grow with the catalogue, nor preparation with the queue (R22a)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.posting import DetailState
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.connection import LOCK_WAIT_SECONDS
from collection_pipeline.store.preparation import prepare_cycles
from collection_pipeline.store.seen import SeenPostings
from collection_pipeline_tests.kit.database import DAY, HOST, NOON, PLATFORMS, Store
from collection_pipeline_tests.kit.rivals import open_transaction, rivals, run_sql
from collection_pipeline_tests.kit.slices import store_slice, unfinished, work_of
from collection_pipeline_tests.kit.statement_costs import (
    CHUNK_ROWS,
    fill_queue,
    listening,
    numbers_from,
    plan_of,
    rows_locked,
    rows_read,
)

MANY = 100_000
PAGE = 100
CYCLES = "job_posting_collection_cycles"


def fill_catalogue(store: Store, source_id: int, rows: int) -> None:
    """So many known postings of one source, sighted yesterday, their details waiting."""
    with store.engine.begin() as connection:
        for first in range(0, rows, CHUNK_ROWS):
            connection.execute(
                text(
                    "INSERT INTO job_postings (job_source_id, source_job_id, title, "
                    "list_signature, detail_state, first_seen_run_date, last_seen_run_date) "
                    "SELECT :source, n, 't', '1:a', 'PENDING', :day, :day "
                    f"FROM ({numbers_from(first)}) AS s WHERE n < :rows"
                ),
                {"source": source_id, "day": DAY - timedelta(days=1), "rows": rows},
            )
    with store.engine.connect() as connection:
        connection.execute(text("ANALYZE TABLE job_postings")).all()


def page_of_a_known_catalogue(store: Store, rows: int) -> tuple[ClaimedCycle, list[str]]:
    """A claimed cycle of a source with so many postings, and a page of them, two unknown."""
    store.write(f"DELETE FROM {CYCLES}")
    source = store.add_source()
    fill_catalogue(store, source, rows)
    store.add_cycle(source)
    known = [str(number * (rows // PAGE)) for number in range(PAGE - 2)]
    return store.claim(), [*known, "new 1", "new 2"]


def costs_of_a_page(store: Store, rows: int) -> dict[str, int]:
    """Rows read by each step of a page."""
    claimed, ids = page_of_a_known_catalogue(store, rows)
    cycle, source, seen = claimed.cycle.id, claimed.source.id, SeenPostings()
    steps: dict[str, Callable[[], Any]] = {
        "look-up": lambda: store.run(lambda c: seen.known(c, cycle, source, ids)),
        "store": lambda: store_slice(
            store, claimed, unfinished(work_of(ids)), waiting=DetailState.PENDING
        ),
        "backlog": lambda: store.run(lambda c: seen.waiting_details(c, cycle, source, 50)),
    }
    results = {name: rows_read(store, step) for name, step in steps.items()}
    assert len(results["look-up"][0]) == PAGE - 2
    assert results["store"][0].counts.new == 2
    assert len(results["backlog"][0]) == 50
    return {name: read for name, (_, read) in results.items()}


def test_a_page_reads_no_more_rows_of_a_large_catalogue(store: Store) -> None:
    """R22a: look-up, storing and the backlog, with 1,000 and with 100,000 known postings."""
    small, large = costs_of_a_page(store, 1_000), costs_of_a_page(store, MANY)
    for step, read in large.items():
        assert read <= small[step] + 2 * PAGE, (small, large)
        assert read <= PAGE * 12


def statements_of_a_page(store: Store, rows: int, first: str, then: str) -> int:
    """How many statements store a page of ``rows`` postings of version ``then``.

    They were stored as version ``first`` by a slice before; with an empty one they are new.
    """
    source = store.add_source()
    store.add_cycle(source)
    ids = [f"{number:04d}" for number in range(rows)]
    if first:
        assert store_slice(store, store.claim(), unfinished(work_of(ids, version=first)))
    claimed = store.claim()
    with listening(store.engine) as heard:
        stored = store_slice(store, claimed, unfinished(work_of(ids, version=then)))
    assert stored is not None
    wanted = (0 if first else rows, rows if first not in ("", then) else 0)
    assert (stored.counts.new, stored.counts.updated) == wanted
    # Away with it, so that the next page's claim finds its own cycle.
    store.write(f"DELETE FROM {CYCLES}")
    return len(heard.sent)


@pytest.mark.parametrize(
    ("first", "then"), [("", "a"), ("a", "b"), ("a", "a")], ids=["new", "changed", "unchanged"]
)
def test_a_page_is_stored_in_the_same_few_statements_however_long(
    store: Store, first: str, then: str
) -> None:
    """R34a: set statements, one a table and kind of change: 10, 100 and 500 postings alike."""
    counted = {rows: statements_of_a_page(store, rows, first, then) for rows in (10, 100, 500)}
    assert len(set(counted.values())) == 1, counted
    assert counted[10] <= 16


def test_a_page_locks_no_more_than_its_rows(store: Store, other: Store) -> None:
    """A slice of 100 rows in a catalogue of 100,000."""
    claimed, ids = page_of_a_known_catalogue(store, MANY)

    def storing() -> Any:
        return store_slice(store, claimed, unfinished(work_of(ids)))

    assert rows_locked(store, other, storing, "INSERT INTO collection_slices") <= PAGE * 5


@pytest.mark.parametrize("rows", [3, MANY])
def test_preparation_locks_its_chunk_by_primary_key(store: Store, other: Store, rows: int) -> None:
    """The chunk's rows, not all that are NOT_STARTED."""
    fill_queue(store, rows)
    store.write(
        f"UPDATE {CYCLES} SET cycle_status = 'NOT_STARTED', next_eligible_at = NULL, "
        "request_host = NULL"
    )
    found = store.rows(f"SELECT id FROM {CYCLES} ORDER BY id LIMIT 50")
    ids = [row["id"] for row in found]

    def preparing() -> Any:
        return store.gate.with_daily_write_gate(
            DAY, lambda c: prepare_cycles(c, DAY, {HOST: ids}, PLATFORMS, store.clock)
        )

    with listening(store.engine) as heard:
        locked = rows_locked(store, other, preparing, f"UPDATE {CYCLES}")
    assert store.value(f"SELECT COUNT(*) FROM {CYCLES} WHERE cycle_status = 'PENDING'") == len(ids)
    assert locked <= 4 * len(ids) + 4
    (chunk,) = heard.on(CYCLES, "FOR UPDATE")
    assert [step["key"] for step in plan_of(store, *chunk)] == ["PRIMARY"]


def test_preparation_waits_for_no_cycle_that_it_does_not_prepare(
    store: Store, other: Store
) -> None:
    """mysql.md: on a table of few rows the server would rather walk, and lock, all of them."""
    held = store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    mine = [store.add_cycle(store.add_source(), CycleStatus.NOT_STARTED) for _ in range(2)]
    with rivals() as start, open_transaction(other) as holder:
        run_sql(holder, f"SELECT * FROM {CYCLES} WHERE id = :id FOR UPDATE", id=held)
        preparing = start(
            lambda: store.gate.with_daily_write_gate(
                DAY, lambda c: prepare_cycles(c, DAY, {HOST: mine}, PLATFORMS, store.clock)
            )
        )
        assert preparing.result(LOCK_WAIT_SECONDS - 1) == 2


@pytest.mark.parametrize("rows", [3, MANY])
def test_recovery_finds_expired_leases_by_their_index(
    store: Store, other: Store, rows: int
) -> None:
    """mysql.md: the index (status, lease_until), and locks on what it ends only."""
    fill_queue(store, rows)
    claimed = store.claim()
    store.now = NOON + timedelta(hours=1)
    with listening(store.engine) as heard:
        locked = rows_locked(
            store, other, store.repository.recover_expired, "INSERT INTO collection_slices"
        )
    assert store.status(claimed.cycle.id) == CycleStatus.FAILED.value
    assert locked <= 10
    reading, parameters = heard.on("ORDER BY", "lease_until", "LIMIT")[0]
    (step,) = plan_of(store, reading, parameters)
    assert int(step["rows"]) <= 2 and step["key"]

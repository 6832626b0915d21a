"""The missed/close delta: only a safe end marks what it did not see (R7, R17, R30, R32, I4)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.cycle_rows import cycle_of_row
from collection_pipeline.store.missed import UnsafeDelta, apply_missed_delta
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline_tests.kit.cycle_ends import (
    UNSAFE_ENDS,
)
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.slices import (
    collect_day,
    complete,
    failed,
    posting,
    store_slice,
    unfinished,
    work_of,
)

ONE_DAY = timedelta(days=1)


CLOSING = ("status", "status_reason", "missed_count", "closed_at")


OpenStore = Callable[..., Store]


def closing_columns(store: Store) -> list[dict[str, Any]]:
    """What only the delta may touch, of every posting."""
    return store.rows(f"SELECT source_job_id, {', '.join(CLOSING)} FROM job_postings ORDER BY id")


@pytest.mark.parametrize("end", UNSAFE_ENDS)
def test_an_unsafe_end_closes_nothing(
    store: Store, yesterdays: int, end: Callable[[Store], None]
) -> None:
    """I4: the missed and closed columns are equal to before."""
    store.add_cycle(yesterdays)
    before = closing_columns(store)
    end(store)
    assert closing_columns(store) == before
    assert store.row(
        "SELECT missed_count, closed_count FROM job_posting_collection_cycles "
        "WHERE run_date = :day",
        day=DAY,
    ) == {"missed_count": 0, "closed_count": 0}


def test_a_safe_end_marks_what_it_did_not_see(store: Store, yesterdays: int) -> None:
    """R7, R30: one missed for the first time, one closed at the second, one already closed."""
    stored = collect_day(store, yesterdays, complete(work_of(["1"])))
    assert (stored.cycle.missed_count, stored.cycle.closed_count) == (1, 1)
    found = {row.pop("source_job_id"): tuple(row.values()) for row in closing_columns(store)}
    assert found == {
        "1": ("OPEN", None, 0, None),
        "2": ("MISSED", "MISSED", 1, None),
        "3": ("CLOSED", "MISSED_OFTEN_ENOUGH", 2, NOON),
        "4": ("CLOSED", "x", 2, NOON - ONE_DAY),
    }
    row = store.row("SELECT * FROM job_posting_collection_runs WHERE run_date = :day", day=DAY)
    assert (row["missed_count"], row["closed_count"]) == (1, 1)


@pytest.mark.parametrize("close_after", [1, 2, 3])
def test_a_posting_closes_after_so_many_safe_cycles(
    open_store: OpenStore, close_after: int
) -> None:
    """CLOSE_AFTER_MISSED_CYCLES: missed until then, and unsafe days in between do not count."""
    store = open_store(close_after=close_after)
    store.switch_on()
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1", "gone"])))
    states = []
    for number in range(1, close_after + 1):
        store.now = NOON + number * 2 * ONE_DAY
        collect_day(store, source, failed(work_of(["1"])))
        store.now += ONE_DAY
        collect_day(store, source, complete(work_of(["1"])))
        states.append(posting(store, "gone")["status"])
    assert states == ["MISSED"] * (close_after - 1) + ["CLOSED"]


def test_a_posting_that_comes_back_starts_anew(store: Store) -> None:
    """R32: reopened, and missed twice again before it closes."""
    source = store.add_source()
    states = []
    for number, ids in enumerate((["1", "2"], ["1"], ["1"], ["1", "2"], ["1"], ["1"])):
        store.now = NOON + number * ONE_DAY
        collect_day(store, source, complete(work_of(ids)))
        states.append(posting(store, "2")["status"])
    assert states == ["OPEN", "MISSED", "CLOSED", "OPEN", "MISSED", "CLOSED"]


def test_sightings_of_all_slices_of_a_cycle_count(store: Store, yesterdays: int) -> None:
    """R7: the delta comes from the seen set, not from the last slice."""
    store.add_cycle(yesterdays)
    store_slice(store, store.claim(), unfinished(work_of(["1", "2"])))
    store_slice(store, store.claim(), complete(work_of(["3"])))
    assert {row["status"] for row in closing_columns(store)} == {"OPEN", "CLOSED"}


def test_a_cycle_closes_nothing_of_another_source(store: Store) -> None:
    """R7: postings belong to their source."""
    collect_day(store, store.add_source(), complete(work_of(["1"])))
    collect_day(store, store.add_source(), complete(work_of(["2"])))
    assert {row["status"] for row in closing_columns(store)} == {"OPEN"}


def test_a_slice_that_ends_after_midnight_closes_nothing_seen_since(store: Store) -> None:
    """R17: yesterday's late delta leaves a posting alone that today has sighted."""
    source = store.add_source()
    store.add_cycle(source, run_date=YESTERDAY, next_eligible_at=NOON - ONE_DAY)
    store.now = NOON - timedelta(hours=12, minutes=1)
    late = store.claim()
    store.write("UPDATE job_posting_collection_cycles SET cycle_status = 'PENDING'")
    store.now = NOON - timedelta(hours=11, minutes=59)
    collect_day(store, source, complete(work_of(["new today"])))
    store.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING' WHERE run_date = :day",
        day=YESTERDAY,
    )
    stored = store_slice(store, late, complete(work_of(["1"])))
    assert stored is not None and (stored.cycle.missed_count, stored.cycle.closed_count) == (0, 0)
    assert posting(store, "new today")["status"] == "OPEN"


@pytest.mark.parametrize("status", list(CycleStatus))
@pytest.mark.parametrize(("is_complete", "fetched"), [(0, 0), (0, 5), (1, 0), (1, 5)])
def test_the_delta_itself_refuses_every_unsafe_cycle(
    store: Store, status: CycleStatus, is_complete: int, fetched: int
) -> None:
    """R32: the predicate is the only door, whoever calls."""
    cycle_id = store.add_cycle(
        store.add_source(), status, is_complete=is_complete, fetched_count=fetched
    )
    found = store.run(
        lambda connection: connection.execute(cycles.select().where(cycles.c.id == cycle_id)).one()
    )
    cycle = cycle_of_row(found)
    safe = status is CycleStatus.SUCCESS and is_complete == 1 and fetched > 0

    def applying() -> object:
        return store.run(lambda connection: apply_missed_delta(connection, cycle, 2, NOON))

    if safe:
        assert applying() is not None
    else:
        with pytest.raises(UnsafeDelta):
            applying()

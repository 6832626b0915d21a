"""What the question for missing cycles costs, and that it judges as creation does (R35, R44)."""

import pytest

from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.cycle_creation import has_missing_cycles
from collection_pipeline_tests.kit.database import DAY, PLATFORMS, YESTERDAY, Store
from collection_pipeline_tests.kit.servers import wanted_kind
from collection_pipeline_tests.kit.statement_costs import fill_queue, rows_read

SOURCES = 400
READS_A_SOURCE = {"mysql": 2, "mariadb": 4}
"""The source and its cycle; MariaDB may copy the day's cycles into a table of its own first."""
FIXED_READS = 60
"""Flags, the end of each scan, and the server's own look at the tables."""
END_THE_DAY = "UPDATE job_posting_collection_cycles SET cycle_status = 'SUCCESS'"
TELL_THE_DAY = (
    "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status)"
    " SELECT job_source_id, run_date, 'SUCCESS' FROM job_posting_collection_cycles"
)


def is_missing_any(store: Store) -> bool:
    """As every tick and the sensor ask it."""
    return store.run(lambda connection: has_missing_cycles(connection, DAY, PLATFORMS))


def test_a_day_that_is_complete_costs_one_look_a_source(store: Store) -> None:
    """R35: neither the end of a cycle nor its history is looked at; each tick asks this."""
    fill_queue(store, SOURCES, sources=SOURCES)
    store.write(END_THE_DAY)
    store.write(TELL_THE_DAY)
    missing, read = rows_read(store, lambda: is_missing_any(store))
    assert missing is False
    assert SOURCES <= read <= READS_A_SOURCE[wanted_kind()] * SOURCES + FIXED_READS


@pytest.mark.parametrize("flags", [True, False])
def test_a_cycle_is_missing_exactly_where_creation_would_make_one(
    store: Store, *, flags: bool
) -> None:
    """R3, R35, R44: sources that may not be collected do not hide one that may, nor stand for it.

    Before it: one switched off, one of an unsupported platform, one that an older system ran, one
    with its cycle; after it: one whose only cycle is yesterday's.
    """
    store.add_source(active=False)
    unsupported = store.add_source()
    store.write("UPDATE job_sources SET platform = 'elsewhere' WHERE id = :id", id=unsupported)
    ran_elsewhere = store.add_source()
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status)"
        " VALUES (:source, :day, 'SUCCESS')",
        source=ran_elsewhere,
        day=DAY,
    )
    store.add_cycle(store.add_source())
    assert is_missing_any(store) is False
    late = store.add_source()
    store.add_cycle(late, CycleStatus.SUCCESS, run_date=YESTERDAY)
    store.switch_on(enabled=flags)
    assert is_missing_any(store) is flags
    creation = CollectionCycleDomainService(store.transactions, store.clock, store.gate, PLATFORMS)
    assert creation.create_daily_cycles().made_cycles is flags
    made = store.value(
        "SELECT COUNT(*) FROM job_posting_collection_cycles"
        " WHERE job_source_id = :late AND run_date = :day",
        late=late,
        day=DAY,
    )
    assert made == int(flags)
    assert is_missing_any(store) is False

"""What the release's standing is read from: whose a history row is, and what a day left (R44)."""

from datetime import date, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.release import OlderRuns, ReleaseDay, ReleaseFacts
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.views.release_facts import release_facts
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.statement_costs import CHUNK_ROWS, numbers_from, rows_read

RUNS = "job_posting_collection_runs"
DAYS_READ = 31
SOURCES = 20
ROWS_A_RUN = 12
"""The run and its cycle, by index and row, in the two reads that look for older rows."""


def facts(store: Store) -> ReleaseFacts:
    """The facts of the store's day."""
    return store.run(lambda connection: release_facts(connection, DAY))


def add_run(store: Store, source: int, day: date = DAY) -> None:
    """A terminal history row, whoever wrote it."""
    store.write(
        f"INSERT INTO {RUNS} (job_source_id, run_date, run_status, created_at)"
        " VALUES (:source, :day, 'SUCCESS', :now)",
        source=source,
        day=day,
        now=NOON,
    )


def test_a_history_row_is_an_older_systems_unless_a_cycle_ended_here(store: Store) -> None:
    """R44: as ``runnable`` sees it; by day and type, also of a source that is not known here."""
    board, search = store.add_source("greenhouse"), store.add_source("saramin")
    ours, waiting = store.add_source(), store.add_source()
    store.add_cycle(ours, CycleStatus.SUCCESS)
    store.add_cycle(waiting, CycleStatus.PENDING)
    for one in (board, search, ours, waiting, 999):
        add_run(store, one)
    add_run(store, board, YESTERDAY)
    add_run(store, board, DAY - timedelta(days=DAYS_READ))

    found = facts(store)

    assert set(found.older) == {
        OlderRuns(DAY, "COMPANY_BOUND", 2),
        OlderRuns(DAY, "AGGREGATOR", 1),
        OlderRuns(DAY, None, 1),
        OlderRuns(YESTERDAY, "COMPANY_BOUND", 1),
    }
    assert found.older[-1].run_date == YESTERDAY
    assert found.older_written_at == NOON
    assert found.days[0].older_runs == 1


def test_only_claimed_cycles_of_the_day_were_begun(store: Store) -> None:
    """R44: what decides on which day an older system may run again."""
    for status in (CycleStatus.NOT_STARTED, CycleStatus.PENDING):
        store.add_cycle(store.add_source(), status)
    assert (facts(store).begun_today, facts(store).running) == (0, 0)
    store.add_cycle(store.add_source(), CycleStatus.PENDING, started_at=NOON)
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    store.add_cycle(store.add_source(), CycleStatus.RUNNING, YESTERDAY)
    assert (facts(store).begun_today, facts(store).running) == (2, 2)


def test_a_day_tells_its_snapshot_and_its_blemishes(store: Store) -> None:
    """R45: what this release did wrong; a platform's refusal and a search's budget are not that."""
    ends: list[tuple[CycleStatus, dict[str, Any]]] = [
        (CycleStatus.FAILED, {"failure_reason": "LEASE_EXPIRED"}),
        (CycleStatus.FAILED, {"failure_reason": "LEASE_EXPIRED"}),
        (CycleStatus.FAILED, {"failure_reason": "INTERNAL"}),
        (CycleStatus.FAILED, {"failure_reason": "FORBIDDEN"}),
        (CycleStatus.BUDGET_EXHAUSTED, {"budget_exhausted_reason": "POSTINGS"}),
    ]
    for status, reason in ends:
        store.add_cycle(store.add_source(), status, YESTERDAY, **reason)
        store.add_cycle(store.add_source(), status, **reason)
    search = store.add_source("saramin")
    store.add_cycle(search, CycleStatus.BUDGET_EXHAUSTED, YESTERDAY)
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots (snapshot_date, scheduled_at,"
        " capture_status, created_at) VALUES (:day, :now, 'CAPTURED', :now)",
        day=YESTERDAY,
        now=NOON,
    )
    days = facts(store).days
    assert len(days) == DAYS_READ - 1
    assert days[0] == ReleaseDay(YESTERDAY, CaptureStatus.CAPTURED, 0, 2, 1, 1)
    assert days[1] == ReleaseDay(YESTERDAY - timedelta(days=1), CaptureStatus.UNAVAILABLE)


def test_the_switch_knows_that_it_was_on(store: Store, other: Store) -> None:
    """R44: of the main flag only, and by its history."""
    assert facts(store).dispatch.is_on
    store.switch_on(DISPATCH_FLAG, enabled=False)
    assert (facts(store).dispatch.is_on, facts(store).dispatch.was_ever_on) == (False, True)
    store.write("DELETE FROM feature_flag_changes WHERE name = :name", name=DISPATCH_FLAG)
    assert other.value("SELECT enabled FROM feature_flags WHERE name = :n", n=AGGREGATOR_FLAG)
    assert not facts(store).dispatch.was_ever_on


@pytest.mark.parametrize("older", [0, 1], ids=["ours", "older"])
def test_the_standing_reads_a_month_and_not_the_history(store: Store, older: int) -> None:
    """500 days of 20 sources lie there; read are 31 of them."""
    numbers = f"({numbers_from(0)}) AS s"
    place = f"n % {SOURCES} + 1, '{DAY}' - INTERVAL n DIV {SOURCES} DAY"
    store.write(
        f"INSERT INTO {RUNS} (job_source_id, run_date, run_status) "
        f"SELECT {place}, 'SUCCESS' FROM {numbers} ORDER BY n"
    )
    if not older:
        store.write(
            "INSERT INTO job_posting_collection_cycles (job_source_id, run_date, cycle_status) "
            f"SELECT {place}, IF(n % 50 = 7, 'FAILED', 'SUCCESS') FROM {numbers} ORDER BY n"
        )
    with store.engine.connect() as connection:
        connection.execute(text(f"ANALYZE TABLE {RUNS}, job_posting_collection_cycles")).all()
    found, read = rows_read(store, lambda: facts(store))
    assert CHUNK_ROWS // SOURCES == 500
    assert sum(one.count for one in found.older) == older * SOURCES * DAYS_READ
    assert 0 < read <= ROWS_A_RUN * SOURCES * DAYS_READ

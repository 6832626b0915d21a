"""What a claim costs: its plans, its locks and its reads do not grow with the queue (mysql.md)."""

from collections.abc import Callable

import pytest

from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.slices import complete, store_slice, unfinished, work_of
from collection_pipeline_tests.kit.statement_costs import (
    fill_queue,
    listening,
    plan_of,
    rows_locked,
    rows_read,
)

FEW, MANY = 3, 100_000
CYCLES = "job_posting_collection_cycles"
MOST_LOCKS = 8
"""Gate, host and cycle, each with the index entry it was found by, and the cycle's new entries."""


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_every_locking_statement_of_a_slice_finds_its_rows_by_a_key(
    store: Store, other: Store, rows: int
) -> None:
    """Claim, renewal and the end of a slice, explained at 3 and 100,000 rows."""
    fill_queue(store, rows)
    with listening(store.engine) as heard:
        claimed = store.claim()
        assert store.repository.renew(claimed.cycle.id, DAY, claimed.token, 600)
        assert store_slice(store, claimed, unfinished(work_of(["1", "2"]))) is not None
        again = store.claim()
        assert store_slice(store, again, complete(work_of(["2", "3"]))) is not None
    checked = heard.locking
    assert len(checked) >= 12
    for statement, parameters in checked:
        for step in plan_of(store, statement, parameters):
            # A row found by its whole unique key that does not meet the rest, such as the state.
            if step["table"] is None and "const table" in step["Extra"]:
                continue
            assert step["key"], (statement, step)
            assert "filesort" not in (step["Extra"] or ""), (statement, step)
            if step["table"] == CYCLES:
                assert step["key"] == "PRIMARY", (statement, step)
                assert int(step["rows"]) == 1


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_candidates_are_read_in_index_order(store: Store, other: Store, rows: int) -> None:
    """mysql.md: equality prefix plus exactly the ORDER BY, so no sort and no reading ahead."""
    fill_queue(store, rows, sources=0)
    store.add_source()
    with listening(store.engine) as heard:
        store.repository.claim_next(store.terms())
    pages = heard.on("ORDER BY", CYCLES, "LIMIT")
    assert len(pages) >= 2
    for statement, parameters in pages:
        steps = plan_of(other, statement, parameters)
        (reading,) = [step for step in steps if step["key"] == "ix_cycles_ready_host"]
        assert "filesort" not in (reading["Extra"] or "")
        of_cycles = {step["type"] for step in steps if step["table"] == CYCLES}
        assert of_cycles <= {"range", "ref", "eq_ref", "const"}, steps


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_a_claim_locks_only_what_it_takes(store: Store, other: Store, rows: int) -> None:
    """Counted by the server while the claim's transaction is open."""
    fill_queue(store, rows)
    locked = rows_locked(store, other, store.claim, f"UPDATE {CYCLES}")
    assert 3 <= locked <= MOST_LOCKS


def cost_of_claims(store: Store, cycles: int, hosts: int) -> int:
    """Rows read by three claims in a queue of so many cycles."""
    fill_queue(store, cycles, hosts)
    _, read = rows_read(store, lambda: [store.claim() for _ in range(3)])
    return read


@pytest.mark.parametrize("hosts", [1, 7])
def test_a_claim_reads_no_more_rows_in_a_long_queue(store: Store, hosts: int) -> None:
    """mysql.md: flat from 1,000 to 100,000 due cycles, with one host and with several."""
    short = cost_of_claims(store, 1_000, hosts)
    for table in (CYCLES, "job_sources", "collection_host_claims"):
        store.write(f"TRUNCATE TABLE {table}")
    long = cost_of_claims(store, MANY, hosts)
    assert long <= short + 20
    assert long < 1_000


def test_the_sensors_question_reads_no_more_rows_in_a_long_queue(store: Store) -> None:
    """mysql.md: it is asked every few seconds."""
    fill_queue(store, MANY)
    has_due: Callable[[], bool] = lambda: store.run(  # noqa: E731
        lambda connection: store.repository.has_due(connection, store.terms())
    )
    found, read = rows_read(store, has_due)
    assert found and read < 300


def test_yesterdays_cycles_cost_todays_claim_nothing(store: Store) -> None:
    """A year of history lies in the same table."""
    fill_queue(store, MANY)
    store.write(
        f"UPDATE {CYCLES} SET run_date = run_date - INTERVAL 1 DAY, "
        "cycle_status = IF(id % 2, 'PENDING', 'SUCCESS') WHERE id > 10"
    )
    _, read = rows_read(store, store.claim)
    assert read < 300
    assert store.now == NOON


def test_what_ended_today_costs_the_next_claim_nothing(store: Store) -> None:
    """R44 asks whether an older system ran a source: of the rows at hand, not of all that ended."""
    fill_queue(store, MANY, sources=MANY)
    store.write(f"UPDATE {CYCLES} SET cycle_status = 'SUCCESS' WHERE id > 100")
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status)"
        f" SELECT job_source_id, run_date, 'SUCCESS' FROM {CYCLES} WHERE id > 100 LIMIT 20000"
    )
    _, read = rows_read(store, store.claim)
    assert read < 300


def test_a_claim_is_a_handful_of_statements_however_many_hosts_wait(store: Store) -> None:
    """Its round trips, not its rows, are what a claim takes: the same with 1 host and with 30."""
    fill_queue(store, 300, hosts=30)
    with listening(store.engine) as heard:
        store.claim()
    assert len(heard.sent) <= 9

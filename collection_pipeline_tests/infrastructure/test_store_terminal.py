"""A terminal transition: the delta where it is safe, then its traces, all at once (R30 to R33)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.slices import SliceWork, SourceCollectionSliceOutcome
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline_tests.kit.cycle_ends import (
    UNSAFE_ENDS,
    end_by_list_budget,
    end_rejected,
    end_unfinished,
)
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.slices import (
    collect_day,
    complete,
    exhausted,
    failed,
    store_slice,
    unfinished,
    work_of,
)
from collection_pipeline_tests.kit.statement_costs import listening, plan_of

ONE_DAY = timedelta(days=1)
OpenStore = Callable[..., Store]


ENDS = [end for end in UNSAFE_ENDS if end is not end_unfinished]


@pytest.mark.parametrize("end", ENDS)
def test_an_end_leaves_no_seen_row_and_exactly_one_runs_row(
    store: Store, end: Callable[[Store], None]
) -> None:
    """I5, R30: in the same transaction; and the cycle is nobody's any more."""
    cycle_id = store.due_cycle()
    end(store)
    row = store.cycle(cycle_id)
    assert CycleStatus(row["cycle_status"]).is_terminal
    assert row["lease_token"] is None and row["next_eligible_at"] is None
    assert row["finished_at"] == store.now
    assert store.rows("SELECT * FROM job_posting_collection_seen_postings") == []
    run = store.row("SELECT * FROM job_posting_collection_runs")
    assert run["run_status"] == ("FAILED" if row["cycle_status"] == "FAILED" else "SUCCESS")
    for name in (
        "fetched_count",
        "new_count",
        "updated_count",
        "missed_count",
        "closed_count",
        "detail_failure_count",
        "failure_reason",
        "started_at",
        "finished_at",
    ):
        assert run[name] == row[name]


def test_an_end_deletes_only_its_own_seen_rows(store: Store) -> None:
    """R30: another cycle's seen set is the basis of another delta."""
    for _ in range(2):
        store.due_cycle()
    first, second = store.claim(), store.claim()
    store_slice(store, first, unfinished(work_of(["1"])))
    store_slice(store, second, complete(work_of(["1"])))
    rows = store.rows("SELECT cycle_id FROM job_posting_collection_seen_postings")
    assert [row["cycle_id"] for row in rows] == [first.cycle.id]


def test_an_older_systems_runs_row_is_left_as_it_is(store: Store) -> None:
    """R30, R44: terminal and immutable; the cycle ends all the same."""
    cycle_id = store.due_cycle()
    claimed = store.claim()
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status, "
        "fetched_count) VALUES (:source, :day, 'FAILED', 77)",
        source=claimed.source.id,
        day=DAY,
    )
    before = store.rows("SELECT * FROM job_posting_collection_runs")
    assert store_slice(store, claimed, complete(work_of(["1"]))) is not None
    assert store.rows("SELECT * FROM job_posting_collection_runs") == before
    assert store.status(cycle_id) == "SUCCESS"


def test_every_attempt_leaves_one_row_with_what_it_did(store: Store) -> None:
    """R19a, R45: counters, seconds and the interval that was kept."""
    store.due_cycle()
    claimed = store.claim()
    work = work_of(
        ["1", "2"],
        pages=2,
        detail_request_count=3,
        detail_failure_count=1,
        rate_limited_count=1,
        seconds_waited=2.5,
        least_interval_seconds=1.25,
    )
    store_slice(store, claimed, failed(work))
    row = store.row("SELECT * FROM collection_slices")
    expected = {
        "cycle_id": claimed.cycle.id,
        "job_source_id": claimed.source.id,
        "run_date": DAY,
        "lease_token": claimed.token,
        "worker": "worker",
        "request_host": "board.test",
        "outcome": "FAILED",
        "reason": "HTTP_5XX",
        "list_page_count": 2,
        "fetched_count": 2,
        "new_count": 2,
        "updated_count": 0,
        "detail_request_count": 3,
        "detail_failure_count": 1,
        "rate_limited_count": 1,
        "seconds": 1.5,
        "seconds_waited": 2.5,
        "least_interval_ms": 1250.0,
        "created_at": NOON,
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("end", [unfinished, failed])
def test_an_attempt_that_sent_nothing_leaves_its_row_too(
    store: Store, end: Callable[[SliceWork], SourceCollectionSliceOutcome]
) -> None:
    """R19a: a lost COMMIT of it could not be decided otherwise."""
    store.due_cycle()
    claimed = store.claim()
    assert store_slice(store, claimed, end(SliceWork())) is not None
    rows = store.rows("SELECT lease_token, list_page_count FROM collection_slices")
    assert rows == [{"lease_token": claimed.token, "list_page_count": 0}]


def test_the_slice_row_names_the_budget_that_ended_it(store: Store) -> None:
    """R9: the limit is the reason."""
    store.due_cycle()
    end_by_list_budget(store)
    assert store.row("SELECT outcome, reason FROM collection_slices") == {
        "outcome": "BUDGET_EXHAUSTED",
        "reason": "LIST_PAGES",
    }
    cycle = store.row("SELECT * FROM job_posting_collection_cycles")
    assert cycle["budget_exhausted_reason"] == "LIST_PAGES"
    assert cycle["continuation_cursor"] is not None


def test_a_rejected_cycle_was_no_attempt(store: Store) -> None:
    """R2: no HTTP, so no slice; the reason and the detail are kept."""
    store.due_cycle()
    end_rejected(store)
    assert store.rows("SELECT * FROM collection_slices") == []
    row = store.row("SELECT * FROM job_posting_collection_cycles")
    assert (row["failure_reason"], row["failure_detail"]) == ("HTTP_5XX", "status 503")


HEALTH = "SELECT abnormal_days, judged_date, broken_since FROM job_source_health"


def test_failed_and_empty_days_in_a_row_mark_a_source_broken(store: Store) -> None:
    """R33: three counted days; a day that neither counts nor resets changes nothing."""
    source = store.add_source()
    ends: list[tuple[SourceCollectionSliceOutcome, int, date | None]] = [
        (failed(work_of(["1"])), 1, None),
        (exhausted(work_of(["1"])), 1, None),
        (complete(SliceWork(list_page_count=1)), 2, None),
        (complete(work_of(["1"], stated_total=500)), 2, None),
        (failed(SliceWork()), 3, DAY + 4 * ONE_DAY),
        (failed(SliceWork()), 4, DAY + 4 * ONE_DAY),
        (complete(work_of(["1"])), 0, None),
    ]
    for number, (outcome, days, broken_since) in enumerate(ends):
        store.now = NOON + number * ONE_DAY
        stored = collect_day(store, source, outcome)
        health = store.row(HEALTH)
        assert (health["abnormal_days"], health["broken_since"]) == (days, broken_since)
        assert stored.health is not None and stored.health.abnormal_days == days


def test_an_older_day_never_overwrites_a_newer_judgement(store: Store) -> None:
    """R33: yesterday's lease is recovered after today has gone well."""
    source = store.add_source()
    store.now = NOON - ONE_DAY
    store.add_cycle(source, run_date=YESTERDAY, next_eligible_at=store.now)
    store.claim()
    store.write("UPDATE job_posting_collection_cycles SET cycle_status = 'PENDING'")
    store.now = NOON
    collect_day(store, source, complete(work_of(["1"])))
    store.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING' WHERE run_date = :day",
        day=YESTERDAY,
    )
    assert len(store.repository.recover_expired()) == 1
    assert store.row(HEALTH) == {"abnormal_days": 0, "judged_date": DAY, "broken_since": None}


def test_a_terminal_transition_takes_few_statements(store: Store, yesterdays: int) -> None:
    """R30: as few set statements, and each finds its rows by a key."""
    store.add_cycle(yesterdays)
    claimed = store.claim()
    with listening(store.engine) as heard:
        store_slice(store, claimed, complete(work_of(["1"])))
    assert len(heard.sent) <= 20
    for statement, parameters in heard.on("UPDATE job_postings"):
        assert all(step["key"] for step in plan_of(store, statement, parameters))
    assert len(heard.on("DELETE FROM")) == 1


def test_an_end_that_breaks_half_way_leaves_nothing(store: Store, yesterdays: int) -> None:
    """R30: all or nothing; here the slice row cannot be written."""
    store.add_cycle(yesterdays)
    claimed = store.claim()
    clash = replace(SliceAttempt(claimed.token, "worker"))
    store.write(
        "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token, worker, "
        "outcome, created_at) VALUES (0, 0, :day, :token, 'x', 'x', :now)",
        day=DAY,
        token=clash.token,
        now=NOON,
    )
    before = store.tables()
    with pytest.raises(Exception, match="Duplicate entry"):
        store_slice(store, claimed, complete(work_of(["1"])))
    assert store.tables() == before

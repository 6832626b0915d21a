"""What the end of a slice keeps: rows, counters, sightings, details (R6, R20, R22, R32, R34a)."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from collection_pipeline.domain.posting import (
    DetailState,
)
from collection_pipeline.domain.slices import SliceWork
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.slices import (
    NEXT,
    collect_day,
    complete,
    posting,
    sighted,
    store_slice,
    unfinished,
    work_of,
)
from collection_pipeline_tests.kit.statement_costs import listening

PENDING = DetailState.PENDING
DAY_LENGTH = timedelta(days=1)


def test_a_slice_with_more_to_do_goes_to_the_back_of_the_queue(store: Store) -> None:
    """R6: PENDING, cursor and counters stored, due now, the lease freed."""
    store.due_cycle()
    store.now = NOON + timedelta(seconds=30)
    claimed = store.claim()
    store.now = NOON + timedelta(seconds=40)
    work = work_of(
        ["1", "2"], pages=3, detail_request_count=2, detail_failure_count=1, stated_total=9
    )
    assert store_slice(store, claimed, unfinished(work)) is not None
    row = store.cycle(claimed.cycle.id)
    assert row["cycle_status"] == "PENDING" and row["next_eligible_at"] == store.now
    assert (row["lease_token"], row["lease_until"], row["lease_owner"]) == (None, None, None)
    assert row["continuation_cursor"] == NEXT.encoded()
    counted = (
        "attempt_count",
        "list_page_count",
        "fetched_count",
        "new_count",
        "updated_count",
        "detail_request_count",
        "detail_failure_count",
        "stated_total",
        "is_complete",
    )
    assert [row[name] for name in counted] == [1, 3, 2, 2, 0, 2, 1, 9, 0]


def test_a_host_that_asked_for_a_pause_is_due_when_the_pause_ends(store: Store) -> None:
    """R6, R26: ``next_eligible_at`` is the host's moment."""
    store.due_cycle()
    claimed = store.claim()
    resume_at = NOON + timedelta(minutes=20)
    store_slice(store, claimed, replace(unfinished(work_of(["1"])), resume_at=resume_at))
    assert store.cycle(claimed.cycle.id)["next_eligible_at"] == resume_at


def test_a_slice_that_sent_nothing_is_no_attempt(store: Store) -> None:
    """R20: ``attempt_count`` is slices that sent a request."""
    store.due_cycle()
    claimed = store.claim()
    store_slice(store, claimed, unfinished(SliceWork()))
    assert store.cycle(claimed.cycle.id)["attempt_count"] == 0


def test_counters_add_up_over_slices_and_a_row_counts_once(store: Store) -> None:
    """R20: fetched_count is distinct postings, whatever pages shifted."""
    store.due_cycle()
    for ids in (["1", "2", "3"], ["3", "4"], ["1", "4"]):
        store_slice(store, store.claim(), unfinished(work_of(ids, pages=2)))
    row = store.row("SELECT * FROM job_posting_collection_cycles")
    assert (row["fetched_count"], row["new_count"], row["list_page_count"]) == (4, 4, 6)
    assert row["attempt_count"] == 3
    counts = store.rows("SELECT fetched_count, new_count FROM collection_slices ORDER BY id")
    assert [tuple(one.values()) for one in counts] == [(3, 3), (1, 1), (0, 0)]


def test_new_changed_and_unchanged_rows_are_told_apart(store: Store) -> None:
    """R34a: counted under the cycle's lock, not by the driver's row counts."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1", "2", "3"])))
    store.now = NOON + DAY_LENGTH
    mixed = sighted(["1"], "a") + sighted(["2"], "b") + sighted(["4"], "a")
    stored = collect_day(store, source, complete(SliceWork(postings=mixed, list_page_count=1)))
    assert (stored.counts.new_to_cycle, stored.counts.new, stored.counts.updated) == (3, 1, 1)
    assert posting(store, "2")["title"] == "title b"


def test_a_second_sighting_on_the_same_day_writes_no_posting(store: Store) -> None:
    """R34a: not even its date; the server itself counts the rows it changed."""
    store.due_cycle()
    store_slice(store, store.claim(), unfinished(work_of(["1", "2"])))
    claimed = store.claim()
    with listening(store.engine) as heard:
        store_slice(store, claimed, unfinished(work_of(["1", "2"])))
    (update,) = heard.on("UPDATE job_postings")
    assert heard.on("INSERT INTO job_postings") == []
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql(*update).rowcount == 0


def test_fields_that_did_not_parse_are_added_up_by_day(store: Store) -> None:
    """Section 7: drift counts, per source, day and field."""
    store.due_cycle()
    for drift in (Counter(salary=2, remote=1), Counter(salary=3), Counter[str]()):
        store_slice(store, store.claim(), unfinished(work_of(["1"], drift=drift)))
    rows = store.rows("SELECT field, row_count FROM platform_drift_counts ORDER BY field")
    assert [tuple(row.values()) for row in rows] == [("remote", 1), ("salary", 5)]


def statements_of_a_slice(store: Store, rows: int) -> int:
    """How many statements storing so many new, changed and unchanged rows takes."""
    source = store.add_source()
    names = [f"{source}-{number}" for number in range(rows)]
    half = rows // 2
    collect_day(store, source, complete(work_of(names[:half])))
    store.now = (store.now or NOON) + DAY_LENGTH
    day = store.run(store.clock.today)
    store.add_cycle(source, run_date=day, next_eligible_at=store.now)
    claimed = store.claim()
    mixed = sighted(names[: half // 2], "b") + sighted(names[half // 2 :], "a")
    with listening(store.engine) as heard:
        stored = store_slice(store, claimed, complete(SliceWork(mixed, list_page_count=1)))
    assert stored is not None and stored.counts.new_to_cycle == rows
    assert (stored.counts.new, stored.counts.updated) == (rows - half, half // 2)
    return len(heard.sent)


def test_a_slice_takes_as_many_statements_for_500_rows_as_for_10(store: Store) -> None:
    """R30: set statements; the driver sends each bulk insert as one."""
    few, many = statements_of_a_slice(store, 10), statements_of_a_slice(store, 500)
    assert few == many <= 20


def test_bulk_inserts_are_sorted_by_key(store: Store) -> None:
    """Section 7: in the list's order, two slices could wait for each other crosswise."""
    store.due_cycle()
    claimed = store.claim()
    with listening(store.engine) as heard:
        store_slice(store, claimed, unfinished(work_of(["c", "a", "d", "b"])))
    for table in ("job_postings", "job_posting_collection_seen_postings"):
        ((_, parameters),) = heard.on(f"INSERT INTO {table}")
        assert [one for one in parameters if one in set("abcd")] == ["a", "b", "c", "d"]


def test_the_driver_sends_a_bulk_insert_as_one_statement(store: Store) -> None:
    """mysql.md: ``executemany`` falls back to row by row where the driver cannot rewrite it."""
    store.due_cycle()
    claimed = store.claim()

    def inserts() -> int:
        return int(store.row("SHOW SESSION STATUS LIKE 'Com_insert'")["Value"])

    before = inserts()
    store_slice(store, claimed, unfinished(work_of([str(number) for number in range(500)])))
    assert inserts() - before == 3

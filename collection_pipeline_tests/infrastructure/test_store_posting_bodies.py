"""The raw bodies of closed postings can go; their judgement and their return cannot (R32, R34a)."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, text

from collection_pipeline.collection import retention as passes
from collection_pipeline.collection.retention import PolicyResult, Retention
from collection_pipeline.domain.posting import DetailState, PostingDetail
from collection_pipeline.domain.slices import TriedDetail
from collection_pipeline.settings import load_settings
from collection_pipeline.store.connection import LOCK_WAIT_SECONDS
from collection_pipeline.store.seen import SeenPostings
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.rivals import open_transaction, rivals, run_sql
from collection_pipeline_tests.kit.slices import collect_day, complete, posting, work_of
from collection_pipeline_tests.kit.statement_costs import (
    CHUNK_ROWS,
    listening,
    numbers_from,
    plan_of,
    rows_locked,
)

DAYS = 30
AGE, MOMENT, ONE_DAY = timedelta(days=DAYS), timedelta(microseconds=1), timedelta(days=1)
MANY = 100_000
BODY = {"raw_list", "raw_detail", "body_trimmed_at"}


def trimmed(store: Store, **changed: Any) -> PolicyResult:
    """What one pass did to the postings."""
    settings = load_settings({"COLLECTION_RAW_BODY_DAYS": str(changed.get("days", DAYS))})
    results = Retention(store.transactions, store.clock, settings).apply().results
    (one,) = [result for result in results if result.table == "job_postings"]
    assert one.action == "trimmed" and one.failure is None
    return one


def collected(store: Store, *ids: str, waiting: DetailState = DetailState.NONE) -> int:
    """A source with postings that were sighted, with detail where one waits; returns its id."""
    source = store.add_source()
    details = [
        TriedDetail(one, PostingDetail({"description": "long"}, "{detail}"))
        for one in ids
        if waiting is DetailState.PENDING
    ]
    collect_day(store, source, complete(work_of(ids, details=details)), waiting=waiting)
    return source


def close(store: Store, *ids: str, age: timedelta, status: str = "CLOSED") -> None:
    """As a delta would have left the postings, so long ago."""
    assert store.now is not None
    for one in ids:
        store.write(
            "UPDATE job_postings SET status = :status, status_reason = 'x', missed_count = 2, "
            "closed_at = :at WHERE source_job_id = :id",
            status=status,
            at=store.now - age,
            id=one,
        )


def without_body(row: dict[str, Any]) -> dict[str, Any]:
    """A posting's other columns."""
    return {name: value for name, value in row.items() if name not in BODY}


def test_only_what_is_closed_for_long_enough_loses_its_body_and_nothing_else(store: Store) -> None:
    """R32, I4: judgement, signature, description and dates are as before."""
    collected(store, "due", "young", "missed", "open", waiting=DetailState.PENDING)
    close(store, "due", age=AGE + MOMENT)
    close(store, "young", age=AGE)
    close(store, "missed", age=AGE + MOMENT, status="MISSED")
    before = {one: posting(store, one) for one in ("due", "young", "missed", "open")}
    assert trimmed(store) == PolicyResult("job_postings", "trimmed", 1, is_done=True)
    due = posting(store, "due")
    assert (due["raw_list"], due["raw_detail"], due["body_trimmed_at"]) == (None, None, NOON)
    assert without_body(due) == without_body(before["due"])
    assert due["description"] == "long" and due["list_signature"] == "1:a"
    assert before["due"]["raw_list"] and before["due"]["raw_detail"] == "{detail}"
    for kept in ("young", "missed", "open"):
        assert posting(store, kept) == before[kept]
    assert trimmed(store).rows == 0


def test_bodies_are_kept_unless_an_age_is_set(store: Store) -> None:
    """What a platform sent cannot be had again, so nobody loses it by default."""
    collected(store, "1")
    close(store, "1", age=timedelta(days=3_650))
    done = Retention(store.transactions, store.clock, load_settings({})).apply()
    assert "job_postings" not in {result.table for result in done.results}
    assert posting(store, "1")["raw_list"] is not None


def test_a_trimmed_posting_that_returns_unchanged_is_stored_again(store: Store) -> None:
    """R34a: of a platform whose list says everything; the signature alone says "same"."""
    source = collected(store, "1", "2")
    close(store, "1", age=AGE + MOMENT)
    trimmed(store)
    store.now = NOON + ONE_DAY
    stored = collect_day(store, source, complete(work_of(["1", "2"])))
    row = posting(store, "1")
    assert (row["status"], row["missed_count"], row["closed_at"]) == ("OPEN", 0, None)
    assert (row["raw_list"], row["body_trimmed_at"]) == ('{"id": "1"}', None)
    assert (stored.counts.new, stored.counts.updated) == (0, 1)
    store.now += ONE_DAY
    again = collect_day(store, source, complete(work_of(["1", "2"])))
    assert again.counts.updated == 0


def test_a_trimmed_posting_that_returns_unchanged_waits_for_its_detail_again(store: Store) -> None:
    """R22, R34a: and what its detail had added stays until the new one is there."""
    source = collected(store, "1", "2", waiting=DetailState.PENDING)
    close(store, "1", age=AGE + MOMENT)
    trimmed(store)
    known = store.run(lambda c: SeenPostings().known(c, 0, source, ["1", "2"]))
    assert {one: row.body_trimmed for one, row in known.items()} == {"1": True, "2": False}
    store.now = NOON + ONE_DAY
    collect_day(store, source, complete(work_of(["1", "2"])), waiting=DetailState.PENDING)
    row = posting(store, "1")
    assert (row["detail_state"], row["raw_detail"], row["description"]) == ("PENDING", None, "long")
    assert row["raw_list"] and posting(store, "2")["detail_state"] == "DONE"


def test_a_posting_that_a_slice_holds_is_left_to_the_next_night(store: Store, other: Store) -> None:
    """Nobody waits: a slice that stores a page comes first."""
    collected(store, "held", "free")
    close(store, "held", "free", age=AGE + MOMENT)
    with rivals() as start, open_transaction(other) as slice_end:
        run_sql(slice_end, "SELECT * FROM job_postings WHERE source_job_id = 'held' FOR UPDATE")
        trimming = start(lambda: trimmed(store))
        done = trimming.result(LOCK_WAIT_SECONDS - 1)
    assert (done.rows, done.is_done) == (1, False)
    assert posting(store, "held")["raw_list"] is not None
    assert trimmed(store) == PolicyResult("job_postings", "trimmed", 1, is_done=True)


def test_chunks_of_postings_that_are_all_held_come_to_an_end(
    store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass is bounded although what it finds does not get less."""
    monkeypatch.setattr(passes, "CHUNK_BODIES", 2)
    collected(store, "1", "2", "3")
    close(store, "1", "2", "3", age=AGE + MOMENT)
    with rivals() as start, open_transaction(other) as slice_end:
        run_sql(slice_end, "SELECT * FROM job_postings FOR UPDATE")
        done = start(lambda: trimmed(store)).result(LOCK_WAIT_SECONDS - 1)
    assert (done.rows, done.is_done) == (0, False)


def test_a_posting_that_is_sighted_meanwhile_keeps_its_body(store: Store, other: Store) -> None:
    """It is judged again under its lock: here it reopens after it was found."""
    source = collected(store, "1")
    close(store, "1", age=AGE + MOMENT)
    other.now = store.now = NOON + ONE_DAY

    reached: list[str] = []

    def reopen(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "SKIP LOCKED" in statement and not reached:
            reached.append(statement)
            collect_day(other, source, complete(work_of(["1"])))

    event.listen(store.engine, "before_cursor_execute", reopen)
    done = trimmed(store)
    event.remove(store.engine, "before_cursor_execute", reopen)
    assert reached and done.rows == 0
    row = posting(store, "1")
    assert row["status"] == "OPEN" and row["raw_list"] is not None


@pytest.mark.parametrize("rows", [3, MANY])
def test_trimming_locks_and_reads_only_its_chunk(store: Store, other: Store, rows: int) -> None:
    """Among closed postings of which all but three are young or trimmed already."""
    source = store.add_source()
    with store.engine.begin() as connection:
        for first in range(0, rows, CHUNK_ROWS):
            connection.execute(
                text(
                    "INSERT INTO job_postings (job_source_id, source_job_id, title, "
                    "list_signature, detail_state, status, first_seen_run_date, "
                    "last_seen_run_date, closed_at, body_trimmed_at) SELECT :source, n, 't', "
                    "'1:a', 'NONE', IF(n % 3 = 0, 'OPEN', 'CLOSED'), :day, :day, "
                    "IF(n % 3 = 0, NULL, :now), IF(n % 3 = 1, :now, NULL) "
                    f"FROM ({numbers_from(first)}) AS s WHERE n < :rows"
                ),
                {"source": source, "day": DAY, "now": NOON, "rows": rows},
            )
        connection.execute(text("ANALYZE TABLE job_postings")).all()
    collected(store, "a", "b", "c")
    close(store, "a", "b", "c", age=AGE + MOMENT)
    with listening(store.engine) as heard:
        locked = rows_locked(store, other, lambda: trimmed(store), "UPDATE job_postings")
    assert locked <= 3 * 2 + 1
    assert store.value("SELECT COUNT(raw_list) FROM job_postings") == 0
    finding, locking = heard.on("SELECT", "job_postings")[:2]
    (found,) = plan_of(store, *finding)
    # The server's guess: it may count closed neighbours of a small table twice.
    assert found["key"] == "ix_job_postings_untrimmed" and int(found["rows"]) <= 3 * 2 + 1
    assert "filesort" not in (found["Extra"] or "")
    assert [step["key"] for step in plan_of(store, *locking)] == ["PRIMARY"]
    (trimming,) = heard.on("UPDATE job_postings FORCE")
    assert [step["key"] for step in plan_of(store, *trimming)] == ["PRIMARY"]

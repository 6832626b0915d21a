"""What a posting keeps: content, sightings, details (R17, R22, R32, R34a)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from collection_pipeline.domain.posting import (
    Deadline,
    DeadlineKind,
    DetailState,
    GonePosting,
    KnownPosting,
    ListedPosting,
    PostingContent,
    PostingDetail,
    PostingFields,
)
from collection_pipeline.domain.slices import SightedPosting, SliceWork, TriedDetail
from collection_pipeline.store.seen import SeenPostings
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.slices import (
    collect_day,
    complete,
    failed,
    posting,
    sighted,
    store_slice,
    unfinished,
    work_of,
)

PENDING = DetailState.PENDING


DATE = datetime(2026, 12, 24, 14, 59, 59)


DAY_LENGTH = timedelta(days=1)


FULL: dict[str, Any] = {
    "location_raw": "Seoul",
    "region": "서울",
    "career_from": 3,
    "career_to": 7,
    "employment_type": "full",
    "remote": "hybrid",
    "salary": "a lot",
    "skills": ("python", "sql"),
    "categories": ("dev",),
    "url": "https://example.test/1",
    "language": "ko",
    "description": "텍스트 🙂",
    "published_at": NOON,
    "opened_at": NOON,
    "deadline": Deadline(DeadlineKind.DATE, DATE),
}


def test_an_unchanged_posting_is_not_rewritten(store: Store) -> None:
    """R34a: a sighting changes its date and nothing else of it."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1"])))
    before = posting(store, "1")
    store.now = NOON + DAY_LENGTH
    collect_day(store, source, complete(work_of(["1"])))
    assert posting(store, "1") == before | {"last_seen_run_date": DAY + DAY_LENGTH}
    assert before["updated_at"] == NOON


def test_a_new_signature_version_rewrites_the_row_without_counting_it(store: Store) -> None:
    """R22a: a release that signs differently must not ask for every detail again."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1"])), waiting=PENDING)
    store.write("UPDATE job_postings SET detail_state = 'DONE'")
    store.now = NOON + DAY_LENGTH
    (row_of_today,) = sighted(["1"], "z")
    reversioned = ListedPosting("1", "2:a", lambda: row_of_today.listed.content)
    rows = [replace(row_of_today, listed=reversioned)]
    stored = collect_day(
        store, source, complete(SliceWork(rows, list_page_count=1)), waiting=PENDING
    )
    row = posting(store, "1")
    assert (row["list_signature"], row["title"], row["detail_state"]) == ("2:a", "title z", "DONE")
    assert (stored.counts.new, stored.counts.updated) == (0, 0)


def test_every_field_of_a_posting_is_kept(store: Store) -> None:
    """Section 7: no column is forgotten, Korean and four-byte characters included."""
    source = store.add_source()
    rows = sighted(["1"], **FULL, company_name="회사")
    collect_day(store, source, complete(SliceWork(rows, list_page_count=1)), company_id=42)
    row = posting(store, "1")
    plain = {
        name: value
        for name, value in FULL.items()
        if name not in {"skills", "categories", "deadline"}
    }
    assert {name: row[name] for name in plain} == plain
    assert (row["skills"], row["categories"]) == ('["python", "sql"]', '["dev"]')
    assert (row["deadline_kind"], row["deadline_at"]) == ("DATE", DATE)
    assert (row["company_name"], row["company_id"], row["raw_list"]) == ("회사", 42, '{"id": "1"}')
    assert (row["first_seen_run_date"], row["last_seen_run_date"]) == (DAY, DAY)
    assert (row["status"], row["missed_count"], row["detail_state"]) == ("OPEN", 0, "NONE")


def test_an_aggregators_postings_get_the_company_that_their_page_named(store: Store) -> None:
    """R25: companies were found before; the slice only refers to them."""
    source = store.add_source("saramin")
    rows = sighted(["1"], company_name="A") + sighted(["2"], company_name="B")
    work = SliceWork(rows, list_page_count=1, company_ids={"A": 7})
    collect_day(store, source, complete(work))
    assert [posting(store, one)["company_id"] for one in "12"] == [7, None]


def test_the_same_id_of_two_sources_is_two_postings(store: Store) -> None:
    """Section 7: unique (job_source_id, source_job_id)."""
    for source in (store.add_source(), store.add_source("lever")):
        assert collect_day(store, source, complete(work_of(["1"]))).counts.new == 1
    assert store.value("SELECT COUNT(*) FROM job_postings") == 2


@pytest.mark.parametrize("status", ["MISSED", "CLOSED"])
def test_a_sighting_reopens_a_posting_and_forgets_what_it_was_missed(
    store: Store, status: str
) -> None:
    """R32: without rewriting its content, also in a slice that ends badly."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1"])))
    store.write(
        "UPDATE job_postings SET status = :status, missed_count = 2, status_reason = 'x', "
        "closed_at = :now",
        status=status,
        now=NOON,
    )
    store.now = NOON + DAY_LENGTH
    collect_day(store, source, failed(work_of(["1"])))
    row = posting(store, "1")
    assert (row["status"], row["status_reason"], row["missed_count"]) == ("OPEN", None, 0)
    assert (row["closed_at"], row["updated_at"]) == (None, NOON)


def test_the_last_sighting_never_goes_back(store: Store) -> None:
    """R17: a slice of yesterday that is stored late leaves today's sighting and state alone."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1"])))
    store.write("UPDATE job_postings SET status = 'MISSED', missed_count = 1")
    store.add_cycle(source, run_date=YESTERDAY, next_eligible_at=NOON - DAY_LENGTH)
    store.now = NOON - timedelta(hours=13)
    claimed = store.claim()
    assert claimed.cycle.run_date == YESTERDAY
    assert store_slice(store, claimed, complete(work_of(["1"]))) is not None
    row = posting(store, "1")
    assert (row["last_seen_run_date"], row["status"], row["missed_count"]) == (DAY, "MISSED", 1)


def test_rows_that_need_a_detail_wait_and_unchanged_ones_do_not(store: Store) -> None:
    """R22: new and changed rows are PENDING; a known, unchanged posting costs no detail."""
    source = store.add_source()
    collect_day(store, source, complete(work_of(["1", "2", "3"])), waiting=PENDING)
    store.write("UPDATE job_postings SET detail_state = IF(source_job_id = '3', 'GONE', 'DONE')")
    store.now = NOON + DAY_LENGTH
    mixed = sighted(["1", "3"], "a") + sighted(["2"], "b")
    collect_day(store, source, complete(SliceWork(mixed, list_page_count=1)), waiting=PENDING)
    assert [posting(store, one)["detail_state"] for one in "123"] == ["DONE", "PENDING", "GONE"]


def test_details_end_stored_gone_or_waiting(store: Store) -> None:
    """R22: a failed one is not tried again in this cycle and waits for another day."""
    store.due_cycle()
    deadline = Deadline(DeadlineKind.DATE, DATE)
    detail = PostingDetail(
        {"description": "long", "skills": ("a", "b"), "deadline": deadline}, raw="{}"
    )
    work = work_of(["1", "2", "3"], detail_request_count=3, detail_failure_count=1)
    work.details = [
        TriedDetail("3", None),
        TriedDetail("1", detail),
        TriedDetail("2", GonePosting()),
    ]
    store_slice(store, store.claim(), unfinished(work), waiting=PENDING)
    first = posting(store, "1")
    assert (first["detail_state"], first["description"], first["skills"], first["raw_detail"]) == (
        "DONE",
        "long",
        '["a", "b"]',
        "{}",
    )
    assert (first["deadline_kind"], first["deadline_at"]) == ("DATE", DATE)
    assert [posting(store, one)["detail_state"] for one in "23"] == ["GONE", "PENDING"]
    tried = store.rows(
        "SELECT source_job_id, detail_tried FROM job_posting_collection_seen_postings ORDER BY 1"
    )
    assert [row["detail_tried"] for row in tried] == [1, 1, 1]
    assert posting(store, "2")["status"] == "OPEN"


def test_a_list_row_does_not_wipe_what_a_detail_added(store: Store) -> None:
    """R22: where details exist, an empty list field leaves the column; a filled one replaces it."""
    source = store.add_source()
    rows = sighted(["1"], **FULL)
    collect_day(store, source, complete(SliceWork(rows, list_page_count=1)), waiting=PENDING)
    before = posting(store, "1")
    store.now = NOON + DAY_LENGTH
    changed = sighted(["1"], "b", salary="more")
    collect_day(store, source, complete(SliceWork(changed, list_page_count=1)), waiting=PENDING)
    after = posting(store, "1")
    same = set(FULL) - {"salary", "deadline"} | {"deadline_kind", "deadline_at"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert (after["salary"], after["title"]) == ("more", "title b")


def test_a_list_row_is_the_whole_truth_where_there_are_no_details(store: Store) -> None:
    """R34a: what the platform no longer says is no longer there."""
    source = store.add_source()
    rows = sighted(["1"], **FULL)
    collect_day(store, source, complete(SliceWork(rows, list_page_count=1)))
    store.now = NOON + DAY_LENGTH
    collect_day(store, source, complete(work_of(["1"], version="b")))
    after = posting(store, "1")
    gone = set(FULL) - {"deadline"} | {"deadline_at"}
    assert {after[name] for name in gone} == {None}
    assert after["deadline_kind"] == "UNKNOWN"


def test_a_deadline_that_a_list_row_states_replaces_kind_and_instant_together(
    store: Store,
) -> None:
    """R22: "until filled" leaves no date behind, also beside details."""
    source = store.add_source()
    rows = sighted(["1"], deadline=Deadline(DeadlineKind.DATE, DATE))
    collect_day(store, source, complete(SliceWork(rows, list_page_count=1)), waiting=PENDING)
    store.now = NOON + DAY_LENGTH
    changed = sighted(["1"], "b", deadline=Deadline(DeadlineKind.UNTIL_FILLED))
    collect_day(store, source, complete(SliceWork(changed, list_page_count=1)), waiting=PENDING)
    row = posting(store, "1")
    assert (row["deadline_kind"], row["deadline_at"]) == ("UNTIL_FILLED", None)


def known_of(store: Store, source: int) -> KnownPosting:
    """What a page's look-up finds of the posting ``1``."""
    return store.run(lambda c: SeenPostings().known(c, 0, source, ["1"]))["1"]


def test_what_did_not_parse_stays_with_the_posting_until_it_is_read_again(store: Store) -> None:
    """R10, R34a: an unchanged row is not read, and its drift is counted all the same."""
    source = store.add_source()
    for day, (signature, unparsed) in enumerate([("1:a", ("salary", "url")), ("1:b", ())]):
        store.now = NOON + day * DAY_LENGTH
        listed = ListedPosting.of("1", PostingFields(title="t"), signature, "{}", unparsed)
        row = SightedPosting(listed, 0, None, wants_detail=False)
        collect_day(store, source, complete(SliceWork([row], list_page_count=1)))
        assert known_of(store, source).unparsed == unparsed


def test_a_row_that_was_found_unchanged_is_sighted_without_being_read(store: Store) -> None:
    """R32, R34a: its date and its state, and nothing that it says."""

    def unreadable() -> PostingContent:
        raise AssertionError("an unchanged row was read")

    source = store.add_source()
    collect_day(store, source, complete(work_of(["1"])))
    store.write("UPDATE job_postings SET status = 'MISSED', missed_count = 1")
    before = posting(store, "1")
    store.now = NOON + DAY_LENGTH
    known = known_of(store, source)
    row = SightedPosting(ListedPosting("1", "1:a", unreadable), 0, known, wants_detail=False)
    stored = collect_day(store, source, complete(SliceWork([row], list_page_count=1)))
    assert (stored.counts.new_to_cycle, stored.counts.new, stored.counts.updated) == (1, 0, 0)
    changes = {"last_seen_run_date": DAY + DAY_LENGTH, "status": "OPEN", "missed_count": 0}
    assert posting(store, "1") == before | changes

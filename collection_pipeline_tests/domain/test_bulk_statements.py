"""Statements over many rows: what is left out, what is literal, where they are cut (section 7)."""

import json
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.posting import ListedPosting, PostingFields
from collection_pipeline.store.bulk import filled_columns, in_statements, insert_of, literal
from collection_pipeline.store.postings import ROW_COLUMNS, posting_row, posting_upserts

SHARED: dict[str, int | date | datetime] = {"job_source_id": 7, "updated_at": datetime(2026, 12, 1)}
WORDS = st.lists(st.text('a"\\, 가\n\x7f😀', max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (7, "7"),
        (True, "1"),
        (date(2026, 12, 1), "'2026-12-01'"),
        (datetime(2026, 12, 1, 9), "'2026-12-01 09:00:00.000000'"),
        (datetime(2026, 12, 1, 23, 59, 59, 999600), "'2026-12-01 23:59:59.999600'"),
    ],
)
def test_numbers_and_moments_are_literals(value: int | date | datetime, written: str) -> None:
    """Section 7: with all their microseconds."""
    assert literal(value) == written


def test_what_all_rows_share_stands_once_a_row_and_the_rest_are_parameters() -> None:
    """R29: texts are never part of a statement."""
    statement, parameters = insert_of("t", SHARED, ("a", "b"), [("x'", None), ("y", 2)])
    shared = "7, '2026-12-01 00:00:00.000000'"
    assert statement == (
        "INSERT INTO t (job_source_id, updated_at, a, b) "
        f"VALUES ({shared}, %s, %s), ({shared}, %s, %s)"
    )
    assert parameters == ["x'", None, "y", 2]


def test_a_column_that_one_row_fills_is_written_for_all() -> None:
    """Section 7: no column is forgotten."""
    assert filled_columns(("a", "b", "c"), [(None, 1, None), (None, None, 0)]) == [1, 2]


def test_statements_are_cut_by_their_texts_and_hold_a_row_at_least() -> None:
    """mysql.md: transactions are bounded by rows and bytes."""
    rows = [("x" * size, 1) for size in (4, 4, 4, 30, 1)]
    assert [len(part) for part in in_statements(rows, chars=10)] == [2, 1, 1, 1]
    assert list(in_statements([], chars=10)) == []


@given(WORDS)
def test_lists_of_words_are_stored_as_json(words: list[str]) -> None:
    """Section 7: whatever stands in them."""
    fields = PostingFields(title="t", skills=tuple(words))
    row = posting_row(ListedPosting.of("1", fields, "1:a", "{}"), None, "NONE")
    stored = row[ROW_COLUMNS.index("skills")]
    assert stored == json.dumps(words, ensure_ascii=False)


@pytest.mark.parametrize("keeps_detail", [False, True])
def test_a_column_that_no_row_fills_is_emptied_unless_a_detail_may_have_filled_it(
    *, keeps_detail: bool
) -> None:
    """R22, R34a: a salary that is gone is gone; a text that came with the detail stays."""
    listed = ListedPosting.of("1", PostingFields(title="t", location_raw="서울"), "1:a", "{}")
    ((statement, _),) = posting_upserts(
        SHARED, [posting_row(listed, None, "NONE")], keeps_detail=keeps_detail
    )
    inserted, _, assigned = statement.partition(" ON DUPLICATE KEY UPDATE ")
    assert "location_raw" in inserted and "salary" not in inserted
    assert ("salary = NULL" in assigned) is not keeps_detail
    assert "unparsed_fields = NULL" in assigned
    kept = "COALESCE(VALUES(location_raw), location_raw)"
    assert (kept if keeps_detail else "location_raw = VALUES(location_raw)") in assigned

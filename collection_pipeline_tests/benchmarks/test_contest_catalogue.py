"""The contest's catalogue: what all contestants read is what this project's parser expects."""

import json
from dataclasses import fields

import pytest

from benchmarks.contest.catalogue import PAGE_ROWS, SOURCES, page_body, pages_of, posting_id
from benchmarks.contest.page_server import ACCESS_KEY, PageServer, prepared_pages
from benchmarks.contest.task import ContestTask
from collection_pipeline.domain.posting import DeadlineKind, PostingFields
from collection_pipeline.platforms.adapters.saramin import SaraminAdapter
from collection_pipeline.platforms.contract import ListPage, PlatformReply, Position

ROWS = 250
NOT_IN_SARAMINS_LIST = {"remote", "language", "description"}
ADAPTER = SaraminAdapter("http://127.0.0.1:1", ACCESS_KEY)


def read(body: bytes, page: int) -> ListPage:
    """The page as the pipeline reads it."""
    position: Position = {"start": page, "count": PAGE_ROWS}
    return ADAPTER.read_page({}, position, PlatformReply(200, {}, body))


def test_every_page_passes_through_the_parser_with_no_field_missing() -> None:
    """R10: nothing that does not parse, nothing that a posting of the list could have and lacks."""
    for source in range(SOURCES):
        for page in range(pages_of(ROWS)):
            for row in read(page_body(source, ROWS, page), page).rows:
                assert row.unparsed == ()
                empty = {
                    one.name
                    for one in fields(PostingFields)
                    if getattr(row.fields, one.name) in (None, ())
                }
                assert empty == NOT_IN_SARAMINS_LIST
                assert row.fields.deadline.kind is DeadlineKind.DATE


def test_the_pages_of_a_source_are_its_whole_catalogue_once() -> None:
    """R9, R19: the last page says that it is the last, and no id comes twice."""
    pages = [read(page_body(2, ROWS, page), page) for page in range(pages_of(ROWS))]
    ids = [row.source_job_id for page in pages for row in page.rows]
    assert ids == [posting_id(2, number) for number in range(ROWS)]
    assert [page.next_position is None for page in pages] == [False, False, True]
    assert {page.stated_total for page in pages} == {ROWS}


def test_a_posting_is_about_1_8_kilobytes() -> None:
    """The contest states its work by this size."""
    for source in range(SOURCES):
        assert 1_750 < len(page_body(source, PAGE_ROWS, 0)) / PAGE_ROWS < 1_850


@pytest.mark.parametrize("source", range(SOURCES))
def test_the_page_server_answers_what_the_contestants_ask(source: int) -> None:
    """Head and body are whole, by the request that all contestants make."""
    task = ContestTask("http://127.0.0.1:1", ACCESS_KEY, "", "", SOURCES, ROWS, "", "")
    server = PageServer(prepared_pages([ROWS]))
    head, _, body = server.answer(task.target(task.keywords[source], 1).encode()).partition(
        b"\r\n\r\n"
    )
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)["jobs"]["job"][0]["id"] == posting_id(source, PAGE_ROWS)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("access-key=other", f"access-key={ACCESS_KEY}"), ("count=10", f"count={PAGE_ROWS}")],
)
def test_the_page_server_gives_nothing_for_another_question(wrong: str, right: str) -> None:
    """Nobody can be faster by asking for less, or without the key."""
    task = ContestTask("http://127.0.0.1:1", ACCESS_KEY, "", "", SOURCES, ROWS, "", "")
    target = task.target(task.keywords[0], 0)
    assert right in target
    answer = PageServer(prepared_pages([ROWS])).answer(target.replace(right, wrong).encode())
    assert answer.startswith(b"HTTP/1.1 404")

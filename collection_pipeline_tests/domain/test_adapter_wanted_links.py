"""Wanted's next links: followed within our own list, refused anywhere else (R20, R23, R28)."""

from urllib.parse import parse_qsl

import pytest

from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.wanted import WantedAdapter
from collection_pipeline.platforms.contract import BadResponse, ListPage
from collection_pipeline_tests.kit.platform_bodies import reply, wanted_chaos_row, wanted_page

HOST = "https://www.wanted.co.kr"
WANTED = WantedAdapter(HOST)
V4: Condition = {"form": ["v4"], "tag_type_ids": ["518", "872"], "years": ["0", "3"]}
CHAOS: Condition = {"job_group_id": ["518"]}
CHAOS_PATH = "/api/chaos/navigation/v1/results"


def read(body: object, condition: Condition = CHAOS, rows: int = 500) -> ListPage:
    """The first page of ``condition`` from ``body``."""
    return WANTED.read_page(condition, WANTED.first_position(condition, rows), reply(body))


def query_of(page: ListPage) -> list[tuple[str, str]]:
    """The query of the page's next position."""
    assert page.next_position is not None
    return parse_qsl(str(page.next_position["query"]), keep_blank_values=True)


@pytest.mark.parametrize(
    "link",
    [
        f"{CHAOS_PATH}?job_group_id=518&limit=100&offset=100",
        f"{HOST}{CHAOS_PATH}?limit=100&offset=100",
        f"{HOST}:443{CHAOS_PATH}?limit=100&offset=100#top",
        "?offset=100&limit=100",
        "results?offset=100&limit=100",
    ],
)
def test_a_link_of_the_same_list_is_followed_and_our_filters_stay(link: str) -> None:
    """R28: relative is resolved, absolute of the same origin accepted; a dropped filter stays."""
    page = read(wanted_page([wanted_chaos_row(1)], link))
    assert page.refused_link is None
    query = query_of(page)
    assert ("job_group_id", "518") in query
    assert ("job_sort", "job.latest_order") in query
    assert WANTED.rows_before(page.next_position or {}) == 100


@pytest.mark.parametrize(
    "link",
    [
        f"https://evil.example{CHAOS_PATH}?offset=100",
        f"//evil.example{CHAOS_PATH}?offset=100",
        f"http://www.wanted.co.kr{CHAOS_PATH}?offset=100",
        f"{HOST}:8443{CHAOS_PATH}?offset=100",
        f"https://user:pw@www.wanted.co.kr{CHAOS_PATH}?offset=100",
        f"https://www.wanted.co.kr@evil.example{CHAOS_PATH}?offset=100",
        "/api/v4/jobs?offset=100",
        f"{CHAOS_PATH}/../v1/other?offset=100",
        f"{CHAOS_PATH}%2f?offset=100",
        "ftp://www.wanted.co.kr/api?offset=100",
        "javascript:alert(1)",
        "https://[broken?offset=100",
        f"{HOST}:99999{CHAOS_PATH}?offset=100",
        f"{CHAOS_PATH}?offset=100\\@evil.example",
        f"{CHAOS_PATH}?offset=100\r\nHost: evil.example",
        f"{CHAOS_PATH}?offset=\ud800",
        f"{CHAOS_PATH}?limit=101&offset=100",
        f"{CHAOS_PATH}?limit=0&offset=100",
        f"{CHAOS_PATH}?limit=20&limit=100&offset=100",
        f"{CHAOS_PATH}?limit=100&offset=-1",
        f"{CHAOS_PATH}?limit=100&offset=x",
        f"{CHAOS_PATH}?offset=100&pad=" + "x" * 1_100,
        f"{CHAOS_PATH}?" + "&".join(f"k{i}=1" for i in range(200)),
    ],
)
def test_any_other_link_is_refused_and_the_rows_are_kept(link: str) -> None:
    """R28, R20: refused before sending; every row of the page is kept."""
    page = read(wanted_page([wanted_chaos_row(1)], link))
    assert page.refused_link is not None
    assert "evil" not in page.refused_link
    assert page.next_position is None
    assert [row.source_job_id for row in page.rows] == ["1"]


def test_a_link_must_not_ask_for_larger_pages_than_the_first() -> None:
    """R20: the size is constant within the cycle."""
    page = read(wanted_page([], f"{CHAOS_PATH}?limit=100&offset=30"), CHAOS, rows=30)
    assert page.refused_link is not None


def test_a_repeated_key_of_the_link_replaces_the_whole_key() -> None:
    """R28: the link's years replace ours, they are not added."""
    page = read(wanted_page([], "/api/v4/jobs?years=1&years=2&offset=100"), V4)
    assert [value for key, value in query_of(page) if key == "years"] == ["1", "2"]
    assert [value for key, value in query_of(page) if key == "tag_type_ids"] == ["518", "872"]


def test_one_place_has_one_form_however_the_link_orders_its_keys() -> None:
    """R23: a loop is seen although the link's keys change places."""
    links = (
        "b=2&offset=0&a=1&c=3&limit=100&d=4",
        "d=4&limit=100&c=3&a=1&b=2&offset=0",
        "c=3&d=4&b=2&limit=100&offset=0&a=1",
    )
    found = {
        Cursor(read(wanted_page([], f"{CHAOS_PATH}?{link}")).next_position).encoded()
        for link in links
    }
    assert len(found) == 1
    back = read(wanted_page([], f"{CHAOS_PATH}?offset=0&limit=100")).next_position
    assert back == WANTED.first_position(CHAOS, 500)


def test_null_is_the_end_and_an_empty_page_with_a_link_is_not() -> None:
    """R23, section 1B."""
    assert read(wanted_page([], None)).next_position is None
    assert read(wanted_page([], f"{CHAOS_PATH}?offset=100")).next_position is not None


def test_a_left_out_next_is_the_end_only_behind_a_page_that_is_not_full() -> None:
    """R10: a lost key behind a full page must not look like the end."""
    rows = [wanted_chaos_row(number) for number in range(1, 31)]
    assert read({"data": rows, "links": {}}).next_position is None
    with pytest.raises(BadResponse):
        read({"data": rows, "links": {}}, CHAOS, rows=30)


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("?limit=100&offset=101", "skips rows"),
        ("?limit=100&offset=900", "skips rows"),
        ("?job_group_id=1&limit=100&offset=100", "changes the search condition"),
        ("?job_group_id=518&job_group_id=1&limit=100&offset=100", "changes the search condition"),
    ],
)
def test_a_link_that_would_hide_rows_is_refused(link: str, reason: str) -> None:
    """R28: what it skips or filters away would be missed, and closed in the end."""
    page = read(wanted_page([wanted_chaos_row(1)], CHAOS_PATH + link))
    assert page.next_position is None
    assert page.refused_link is not None
    assert reason in page.refused_link
    assert len(page.rows) == 1

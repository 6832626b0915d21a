"""Greenhouse and Lever: boards with their texts in the list (R20, R23, R23a)."""

from datetime import datetime
from typing import Any

import pytest

from collection_pipeline.domain.posting import DeadlineKind, ListedPosting
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.greenhouse import GreenhouseAdapter
from collection_pipeline.platforms.adapters.lever import LeverAdapter
from collection_pipeline.platforms.contract import BadResponse, ListPage
from collection_pipeline_tests.kit.platform_bodies import (
    greenhouse_board,
    greenhouse_row,
    lever_row,
    reply,
)

GREENHOUSE = GreenhouseAdapter("https://boards-api.greenhouse.io")
LEVER = LeverAdapter("https://api.lever.co", "https://api.eu.lever.co")
BOARD: Condition = {"board": ["maru"]}
SITE: Condition = {"site": ["gaon"]}


def board(body: object) -> ListPage:
    """A Greenhouse board from ``body``."""
    return GREENHOUSE.read_page(BOARD, GREENHOUSE.first_position(BOARD, 500), reply(body))


def job(**changes: Any) -> ListedPosting:
    """One Greenhouse row."""
    return board(greenhouse_board([greenhouse_row(8503792002, **changes)])).rows[0]


def site(body: object, skip: int = 0, limit: int = 100) -> ListPage:
    """A Lever page from ``body``."""
    return LEVER.read_page(SITE, {"skip": skip, "limit": limit}, reply(body))


def posting(**changes: Any) -> ListedPosting:
    """One Lever row."""
    return site([lever_row(1, **changes)]).rows[0]


def test_a_greenhouse_board_is_one_request_with_texts() -> None:
    """Section 4.1; R20: exempt from the slice's posting limit."""
    request = GREENHOUSE.list_request(BOARD, GREENHOUSE.first_position(BOARD, 500))
    assert (request.path, request.params) == ("/v1/boards/maru/jobs", (("content", "true"),))
    assert GREENHOUSE.whole_board
    assert not GREENHOUSE.has_details
    assert request.accepted_statuses == {200}, "an unknown board's 404 is the executor's failure"


def test_a_greenhouse_board_states_its_total_and_ends() -> None:
    """R23a: a cut board shows in its total."""
    page = board(greenhouse_board([greenhouse_row(1), greenhouse_row(2)], 400))
    assert (page.next_position, page.stated_total, len(page.rows)) == (None, 400, 2)
    assert board(greenhouse_board([])).rows == []


def test_a_greenhouse_row_fills_its_columns() -> None:
    """Section 4.1: ids beyond 32 bits, US offsets, content escaped once over HTML."""
    row = job()
    fields = row.fields
    assert row.source_job_id == "8503792002"
    assert (fields.company_name, fields.language) == ("Maru", "en")
    assert (fields.location_raw, fields.region) == ("Seoul, South Korea", "서울")
    assert fields.description == "We build R&D tools.\n\n• Go"
    assert fields.categories == ("Engineering",)
    assert fields.published_at == datetime(2026, 11, 2, 10, 58, 3)
    assert fields.deadline.kind is DeadlineKind.UNKNOWN
    assert row.unparsed == ()


def test_a_greenhouse_deadline_keeps_its_own_offset() -> None:
    """Section 4.1."""
    fields = job(application_deadline="2026-12-31T23:59:00-05:00").fields
    assert fields.deadline.at == datetime(2027, 1, 1, 4, 59)


@pytest.mark.parametrize(
    ("changes", "remote", "location"),
    [
        ({"location": {"name": "Remote, Italy"}}, "remote", "Remote, Italy"),
        ({"location": {"name": "Hybrid"}}, "hybrid", "Hybrid, Seoul"),
        ({"location": None}, None, "Seoul"),
        (
            {"metadata": [{"name": "Location Type", "value": "On-Site"}]},
            "on-site",
            "Seoul, South Korea",
        ),
        (
            {"metadata": [{"name": "Location Type", "value": None}, {"name": "x", "value": {}}]},
            None,
            "Seoul, South Korea",
        ),
    ],
)
def test_greenhouse_says_where_people_work_in_location_or_metadata(
    changes: dict[str, Any], remote: str | None, location: str
) -> None:
    """Section 4.1: a location may be only "Hybrid", with the city in offices."""
    fields = job(**changes).fields
    assert (fields.remote, fields.location_raw) == (remote, location)


def test_a_greenhouse_update_stamp_is_no_change_and_a_new_text_is() -> None:
    """R22a: boards touch updated_at of every job at once."""
    assert job(updated_at="2026-11-30T00:00:00-05:00").signature == job().signature
    assert job(content="&lt;p&gt;Other&lt;/p&gt;").signature != job().signature


@pytest.mark.parametrize(
    "body",
    [
        {"jobs": []},
        {"jobs": [], "meta": None},
        {"jobs": [], "meta": {}},
        {"meta": {"total": 0}},
        {"jobs": None, "meta": {"total": 0}},
        {"status": 404, "error": "Board not found"},
        greenhouse_board([greenhouse_row(1, id=None)]),
        greenhouse_board([greenhouse_row(1, title=None)]),
        [],
        b"<html></html>",
    ],
)
def test_what_is_not_a_greenhouse_board_is_refused(body: object) -> None:
    """R10."""
    with pytest.raises(BadResponse):
        board(body)


def test_lever_asks_for_json_by_skip_and_limit_on_the_host_of_its_region() -> None:
    """Section 4.2: European tenants answer on a host of their own."""
    request = LEVER.list_request(SITE, LEVER.first_position(SITE, 500))
    assert request.base_url == "https://api.lever.co"
    assert request.path == "/v0/postings/gaon"
    assert request.params == (("mode", "json"), ("skip", "0"), ("limit", "100"))
    european: Condition = {"site": ["gaon"], "region": ["eu"]}
    assert LEVER.base_url(european) == "https://api.eu.lever.co"
    assert LEVER.list_request(european, {"skip": 0, "limit": 5}).base_url.endswith("eu.lever.co")


def test_a_full_lever_page_has_another_behind_it_and_a_short_one_is_the_end() -> None:
    """R23: where the platform says so, a short page is the end."""
    full = [lever_row(number) for number in range(100)]
    assert site(full).next_position == {"skip": 100, "limit": 100}
    assert site(full[:99]).next_position is None
    assert site([], skip=100).next_position is None
    assert site(full[:30], limit=30).next_position == {"skip": 30, "limit": 30}
    assert LEVER.rows_before({"skip": 100, "limit": 100}) == 100


def test_a_lever_row_fills_its_columns() -> None:
    """Section 4.2: epoch milliseconds, categories, lists with titles."""
    row = posting()
    fields = row.fields
    assert fields.title == "Server Engineer 1"
    assert (fields.location_raw, fields.region) == ("Seoul; Busan", "서울")
    assert (fields.employment_type, fields.remote) == ("Full-time", "hybrid")
    assert fields.salary == "KRW 60 - 90 per-year-salary"
    assert fields.categories == ("Engineering", "Payments")
    assert fields.published_at == datetime(2026, 11, 2, 6, 13, 20, 123000)
    assert fields.description == (
        "We run payments.\n\nWhat you do\n• APIs\n• Go & SQL\n\nEqual opportunity."
    )
    assert fields.deadline.kind is DeadlineKind.UNKNOWN
    assert row.unparsed == ()


@pytest.mark.parametrize(
    ("workplace", "remote"),
    [("on-site", "on-site"), ("onsite", "on-site"), ("remote", "remote"), ("unspecified", None)],
)
def test_lever_workplaces_have_one_spelling(workplace: str, remote: str | None) -> None:
    """Section 4.2."""
    row = posting(workplaceType=workplace)
    assert (row.fields.remote, row.unparsed) == (remote, ())


def test_a_lever_row_may_lack_every_optional_key() -> None:
    """Section 4.2: any key of categories may be absent."""
    row = site([{"id": "a", "text": "Engineer", "categories": {}}]).rows[0]
    assert row.fields.location_raw is None
    assert row.unparsed == ()
    assert posting(workplaceType="moon", createdAt="soon", lists=[1]).unparsed == (
        "workplaceType",
        "lists",
        "createdAt",
    )


@pytest.mark.parametrize(
    "body",
    [
        {"ok": False, "error": "Document not found"},
        {"ok": False, "error": {}},
        {},
        [{"title": "Seoul", "postings": []}],
        [lever_row(1, id="")],
        [lever_row(1, text=None)],
        [lever_row(number) for number in range(101)],
        "text",
        None,
        b"<html></html>",
    ],
)
def test_what_is_not_a_lever_array_is_refused(body: object) -> None:
    """R10: ok false with HTTP 200 is an error body."""
    with pytest.raises(BadResponse):
        site(body)

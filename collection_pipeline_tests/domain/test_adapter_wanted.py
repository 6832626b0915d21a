"""Wanted: requests, paging along next links, rows of both lists (R20, R23, R28, R22a)."""

import re
from datetime import datetime
from typing import Any

import pytest

from collection_pipeline.domain.posting import DeadlineKind
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.wanted import WantedAdapter
from collection_pipeline.platforms.contract import BadResponse, InvalidCondition, ListPage
from collection_pipeline_tests.kit.platform_bodies import (
    reply,
    wanted_chaos_row,
    wanted_page,
    wanted_v4_row,
)

HOST = "https://www.wanted.co.kr"
WANTED = WantedAdapter(HOST)
V4: Condition = {"form": ["v4"], "tag_type_ids": ["518", "872"], "years": ["0", "3"]}
CHAOS: Condition = {"job_group_id": ["518"]}
CHAOS_PATH = "/api/chaos/navigation/v1/results"


def read(body: object, condition: Condition = CHAOS, rows: int = 500) -> ListPage:
    """The first page of ``condition`` from ``body``."""
    return WANTED.read_page(condition, WANTED.first_position(condition, rows), reply(body))


def test_the_first_page_is_the_newest_with_every_filter_repeated() -> None:
    """Spec R24; section 1A: years twice is a range, tags are repeated, 100 rows at most."""
    request = WANTED.list_request(V4, WANTED.first_position(V4, 500))
    assert (request.base_url, request.path) == (HOST, "/api/v4/jobs")
    assert request.params == (
        ("country", "kr"),
        ("tag_type_ids", "518"),
        ("tag_type_ids", "872"),
        ("years", "0"),
        ("years", "3"),
        ("locations", "all"),
        ("job_sort", "job.latest_order"),
        ("limit", "100"),
        ("offset", "0"),
    )
    assert request.headers["wanted-user-country"] == "KR"


def test_chaos_is_the_default_form_and_years_default_to_all() -> None:
    """Section 1B: the list that the site uses now."""
    request = WANTED.list_request(CHAOS, WANTED.first_position(CHAOS, 500))
    assert request.path == CHAOS_PATH
    assert ("years", "-1") in request.params
    assert ("job_group_id", "518") in request.params


def test_a_small_budget_makes_smaller_pages_for_the_whole_cycle() -> None:
    """R20: the full size of every page must fit the budget."""
    position = WANTED.first_position(CHAOS, 30)
    assert WANTED.page_rows(position) == 30
    page = WANTED.read_page(
        CHAOS,
        position,
        reply(wanted_page([wanted_chaos_row(1)], f"{CHAOS_PATH}?limit=30&offset=30")),
    )
    assert page.next_position is not None
    assert WANTED.page_rows(page.next_position) == 30
    assert WANTED.rows_before(page.next_position) == 30


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [], "links": None},
        {"data": [], "links": []},
        {"data": [], "links": {"next": 7}},
        {"data": [], "links": {"next": ""}},
        {"data": None, "links": {"next": None}},
        {"data": {}, "links": {"next": None}},
        {"data": [None], "links": {"next": None}},
        {"links": {"next": None}},
        {"positions": {"data": [], "links": {"next": None}}},
        {"message": "internal", "error_code": 500},
        wanted_page([wanted_chaos_row(1, id=None)]),
        wanted_page([wanted_chaos_row(1, id=True)]),
        wanted_page([wanted_chaos_row(1, id=1.5)]),
        wanted_page([wanted_chaos_row(1, id="")]),
        wanted_page([wanted_chaos_row(1, id="x" * 192)]),
        wanted_page([wanted_chaos_row(1, position=None)]),
        wanted_page([wanted_chaos_row(1, position="  \u0000 ")]),
        wanted_page([wanted_chaos_row(number) for number in range(1, 102)]),
    ],
)
def test_a_changed_envelope_or_a_row_without_id_or_title_is_no_list(body: object) -> None:
    """R10: never zero postings in silence; R20: never more rows than asked for."""
    with pytest.raises(BadResponse):
        read(body)


def test_a_v4_row_fills_its_columns() -> None:
    """Section 1A: full address, KST end of the due day, 100 years are no upper limit."""
    row = read(wanted_page([wanted_v4_row(363969)]), V4).rows[0]
    fields = row.fields
    assert row.source_job_id == "363969"
    assert (fields.title, fields.company_name) == ("백엔드 개발자 363969", "가온누리소프트")
    assert (fields.location_raw, fields.region) == ("서울특별시 마포구 월드컵북로 1", "서울")
    assert (fields.career_from, fields.career_to) == (3, None)
    assert fields.deadline.at == datetime(2026, 12, 24, 14, 59, 59)
    assert fields.categories == ("518", "872")
    assert fields.url == "https://www.wanted.co.kr/wd/363969"
    assert fields.salary is None, "the reward is a bounty, not pay"
    assert row.unparsed == ()


@pytest.mark.parametrize(("stated", "highest"), [(0, 0), (49, 49), (50, None), ("7", 7)])
def test_50_years_and_more_are_no_upper_limit(stated: object, highest: int | None) -> None:
    """Section 1A."""
    fields = read(wanted_page([wanted_v4_row(1, annual_to=stated)]), V4).rows[0].fields
    assert fields.career_to == highest


def test_a_chaos_row_has_no_deadline_and_one_category() -> None:
    """Section 1B: no due time, one category_tag, skills are numbers."""
    fields = read(wanted_page([wanted_chaos_row(2**33)])).rows[0].fields
    assert fields.deadline.kind is DeadlineKind.UNKNOWN
    assert fields.categories == ("518", "655")
    assert (fields.location_raw, fields.region) == ("경기 성남시", "경기")
    assert (fields.career_from, fields.career_to) == (0, 3)
    assert fields.employment_type == "regular"
    assert fields.skills == ()


def test_a_listed_row_that_is_closed_is_no_sighting_but_its_page_goes_on() -> None:
    """R32: a closed posting must not be reopened by its own list row."""
    link = "/api/v4/jobs?offset=100"
    rows = [wanted_v4_row(1, status="closed"), wanted_v4_row(2, status="close")]
    page = read(wanted_page(rows, link), V4)
    assert page.rows == []
    assert page.next_position is not None


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"company": {"name": 7}}, "company.name"),
        ({"company": "x"}, "company"),
        ({"annual_from": "three"}, "annual_from"),
        ({"annual_to": -1}, "annual_to"),
        ({"due_time": "soon"}, "due_time"),
        ({"due_time": "0000-00-00"}, "due_time"),
        ({"category_tags": "518"}, "category_tags"),
        ({"category_tags": [{"id": "x"}]}, "category_tags"),
        ({"address": {"full_location": []}}, "address.full_location"),
    ],
)
def test_a_field_that_does_not_parse_is_null_and_named(changes: dict[str, Any], name: str) -> None:
    """R10: only id, title and the envelope are required."""
    row = read(wanted_page([wanted_v4_row(1, **changes)]), V4).rows[0]
    assert row.unparsed == (name,)


def test_counters_do_not_change_the_signature_and_facts_do() -> None:
    """R22a: likes, scores and answer statistics are no change."""

    def signature(**changes: Any) -> str:
        return read(wanted_page([wanted_v4_row(1, **changes)]), V4).rows[0].signature

    company = {"name": "가온누리소프트", "application_response_stats": {"avg_rate": 99.0}}
    assert signature() == signature(like_count=9, matching_score=0.5, company=company)
    assert signature() == signature(title_img={"origin": "other"}, is_bookmark=True)
    facts: list[dict[str, Any]] = [
        {"position": "x"},
        {"due_time": None},
        {"annual_to": 5},
        {"category_tags": []},
        {"employment_type": "contract"},
        {"skill_tags": [1]},
    ]
    for changed in facts:
        assert signature(**changed) != signature(), changed


def test_a_position_of_the_other_form_is_not_sent() -> None:
    """R2: filters of one form are ignored by the other."""
    with pytest.raises(InvalidCondition, match="next run date"):
        WANTED.list_request(V4, WANTED.first_position(CHAOS, 500))


def test_a_condition_that_no_cursor_could_hold_is_refused_before_sending() -> None:
    """R2, spec section 2: a cursor has at most 1,024 bytes."""
    many = {"job_ids": [str(100_000_000 + number) for number in range(50)]}
    with pytest.raises(InvalidCondition, match="fewer values"):
        WANTED.check(many)


def test_every_request_keeps_to_the_policy() -> None:
    """R28: path pattern and page size."""
    for condition in (V4, CHAOS):
        paths = [
            WANTED.list_request(condition, WANTED.first_position(condition, 500)).path,
            WANTED.detail_request(condition, "1").path,
        ]
        assert all(re.fullmatch(WANTED.policy.path_pattern, path) for path in paths)
    assert WANTED.policy.page_size_params == {"limit": 100}

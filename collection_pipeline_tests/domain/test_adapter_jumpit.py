"""Jumpit: its end sign, its envelopes, gone postings and highlighted rows (R10, R21, R22, R23)."""

from datetime import datetime
from typing import Any

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.posting import DeadlineKind, GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.jumpit import JumpitAdapter
from collection_pipeline.platforms.contract import BadResponse, ListPage, RequestFailed
from collection_pipeline_tests.kit.platform_bodies import (
    Json,
    jumpit_detail,
    jumpit_page,
    jumpit_row,
    reply,
)

JUMPIT = JumpitAdapter("https://jumpit-api.saramin.co.kr")
CONDITION: Condition = {"jobCategory": ["1", "8"], "career": ["0"]}


def read(body: object, page: int = 1) -> ListPage:
    """The page number ``page`` from ``body``."""
    return JUMPIT.read_page(CONDITION, {"page": page}, reply(body))


def rows(count: int, first: int = 1) -> list[Json]:
    """``count`` rows with ids from ``first``."""
    return [jumpit_row(first + number) for number in range(count)]


def detail(body: object, status: int = 200) -> PostingDetail | GonePosting:
    """The detail of posting 5 from ``body``."""
    return JUMPIT.read_detail(CONDITION, "5", reply(body, status))


def test_requests_are_newest_first_and_pages_count_from_1() -> None:
    """Section 3: sort reg_dt; size is ignored, so it is not sent."""
    request = JUMPIT.list_request(CONDITION, JUMPIT.first_position(CONDITION, 500))
    assert request.path == "/api/positions"
    assert request.params == (
        ("sort", "reg_dt"),
        ("jobCategory", "1"),
        ("jobCategory", "8"),
        ("career", "0"),
        ("page", "1"),
    )
    assert JUMPIT.page_rows({"page": 3}) == 16
    assert JUMPIT.rows_before({"page": 3}) == 32


def test_pages_go_on_until_an_empty_one_also_behind_a_short_page() -> None:
    """R23, section 3: middle pages can be short; the end is an empty page with totalCount 0."""
    assert read(jumpit_page(rows(16), 40)).next_position == {"page": 2}
    assert read(jumpit_page(rows(3), 40), 2).next_position == {"page": 3}
    end = read(jumpit_page([], 0), 4)
    assert (end.rows, end.next_position, end.stated_total) == ([], None, None)


def test_the_total_is_covered_before_the_end_sign_comes() -> None:
    """R21: a page that reaches the total may be the last one that a budget allows."""
    first, last = read(jumpit_page(rows(16), "20")), read(jumpit_page(rows(4), 20), 2)
    assert (first.reaches_total, last.reaches_total) == (False, True)
    assert first.stated_total == last.stated_total == 20
    assert last.next_position == {"page": 3}


@pytest.mark.parametrize(
    ("body", "page"),
    [
        (jumpit_page([], 152), 1),
        (jumpit_page([], 152), 10),
        (jumpit_page(rows(16), 0), 1),
        (jumpit_page(rows(17), 152), 1),
        (jumpit_page(rows(1), None), 1),
        (jumpit_page(rows(1), 5, status=500), 1),
        (jumpit_page(rows(1), 5, code="C003"), 1),
        (jumpit_page([], 0, code="C003"), 1),
        (jumpit_page([], 0, code=None), 1),
        (jumpit_page([], 0, result=None), 1),
        ({"message": "x", "status": 200, "code": "P004"}, 1),
        (jumpit_page([jumpit_row(1, id=None)], 5), 1),
        (jumpit_page([jumpit_row(1, title="<span></span>")], 5), 1),
        (b"<html>captcha</html>", 1),
    ],
)
def test_what_is_not_the_documented_list_is_refused(body: object, page: int) -> None:
    """R10: an empty page that still states rows is not the end of the list."""
    with pytest.raises(BadResponse):
        read(body, page)


def test_an_empty_page_behind_its_own_total_is_the_end() -> None:
    """R23: the list shrank while it was read."""
    assert read(jumpit_page([], 30), 3).next_position is None


def test_a_row_fills_its_columns() -> None:
    """Section 3: KST without a zone."""
    row = read(jumpit_page(rows(1, 54361338), 1)).rows[0]
    fields = row.fields
    assert row.source_job_id == "54361338"
    assert (fields.company_name, fields.region) == ("라온결네트웍스", "서울")
    assert (fields.career_from, fields.career_to) == (3, 12)
    assert fields.skills == ("Java", "Spring Boot")
    assert fields.categories == ("서버/백엔드 개발자", "웹 풀스택 개발자")
    assert fields.deadline.at == datetime(2026, 12, 20, 14, 59, 59)
    assert fields.url == "https://jumpit.saramin.co.kr/position/54361338"
    assert row.unparsed == ()


def test_highlighting_changes_neither_text_nor_signature_and_counters_do_not_either() -> None:
    """Section 3: spans stand inside words and leave no space; R22a."""
    plain = read(jumpit_page(rows(1), 1)).rows[0]
    marked = jumpit_row(
        1,
        title="[플랫폼] <span>백엔드</span> 개발자 1",
        jobCategory="서버/<span class='hit'>백엔</span>드 개발자,웹 풀스택 개발자",
        viewCount=9_999,
    )
    del marked["scrapCount"]
    highlighted = read(jumpit_page([marked], 1)).rows[0]
    assert highlighted.fields == plain.fields
    assert highlighted.signature == plain.signature
    changed = read(jumpit_page([jumpit_row(1, closedAt="2026-12-21T23:59:59")], 1)).rows[0]
    assert changed.signature != plain.signature


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"alwaysOpen": True, "closedAt": None}, DeadlineKind.ALWAYS_OPEN),
        ({"alwaysOpen": True, "closedAt": "9999-12-31T23:59:59"}, DeadlineKind.ALWAYS_OPEN),
        ({"alwaysOpen": True, "closedAt": "2026-12-20T23:59:59"}, DeadlineKind.ALWAYS_OPEN),
        ({"alwaysOpen": False, "closedAt": "9999-12-31 23:59:59"}, DeadlineKind.ALWAYS_OPEN),
        ({"alwaysOpen": False, "closedAt": None}, DeadlineKind.UNKNOWN),
        ({"closedAt": "2026-12-20 23:59:59"}, DeadlineKind.DATE),
    ],
)
def test_always_open_has_no_deadline(changes: dict[str, Any], kind: DeadlineKind) -> None:
    """Section 3: null or the year 9999."""
    assert read(jumpit_page([jumpit_row(1, **changes)], 1)).rows[0].fields.deadline.kind is kind


@pytest.mark.parametrize(
    ("changes", "years"),
    [
        ({"newcomer": True, "minCareer": 0, "maxCareer": 0}, (0, 0)),
        ({"newcomer": True, "minCareer": 1, "maxCareer": 3}, (0, 3)),
        ({"newcomer": False, "minCareer": 3, "maxCareer": 0}, (3, None)),
        ({"minCareer": "3", "maxCareer": None}, (3, None)),
    ],
)
def test_newcomers_begin_at_0(
    changes: dict[str, Any], years: tuple[int | None, int | None]
) -> None:
    """Section 3."""
    fields = read(jumpit_page([jumpit_row(1, **changes)], 1)).rows[0].fields
    assert (fields.career_from, fields.career_to) == years


def test_a_detail_adds_texts_times_and_address() -> None:
    """Section 3: the singular path; times with a space."""
    assert JUMPIT.detail_request(CONDITION, "5").path == "/api/position/5"
    found = detail(jumpit_detail(5))
    assert isinstance(found, PostingDetail)
    assert found.changes == {
        "description": "주요업무\n• 결제 API\n• 정산\n\n자격요건\n3년 이상",
        "published_at": datetime(2026, 11, 1, 15, 0),
        "location_raw": "서울 구로구 디지털로 1, 3층",
        "region": "서울",
    }


def test_400_with_c003_is_gone_and_any_other_400_is_a_failure() -> None:
    """Section 3: 400 is also the answer to bad requests."""
    assert JUMPIT.detail_request(CONDITION, "5").accepted_statuses == {200, 400}
    gone = {"message": "Entity Not Found", "status": 400, "code": "C003"}
    assert detail(gone, 400) == GonePosting()
    for other in ({"status": 400, "code": "C002"}, {}, b"<html></html>", b""):
        with pytest.raises(RequestFailed) as failed:
            detail(other, 400)
        assert failed.value.failure.reason is CollectionFailureReason.HTTP_4XX
        assert failed.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        jumpit_detail(6),
        jumpit_detail(5) | {"status": 500},
        jumpit_detail(5) | {"code": "C009"},
        jumpit_detail(5) | {"result": None},
        jumpit_detail(5, responsibility=None, qualifications=None, qualification="singular"),
        b"",
    ],
)
def test_anything_else_is_no_detail(body: object) -> None:
    """R22, section 3: a singular key silently yields nothing."""
    with pytest.raises(BadResponse):
        detail(body)

"""Saramin: pages from 0, its error bodies, its close types, and its key (R10, R20, R29)."""

from datetime import datetime
from typing import Any

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.posting import DeadlineKind
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.saramin import SaraminAdapter
from collection_pipeline.platforms.contract import (
    BadResponse,
    ListPage,
    MissingCredential,
    RequestFailed,
)
from collection_pipeline_tests.kit.platform_bodies import Json, reply, saramin_page, saramin_row

KEY = "planted+key/="
SARAMIN = SaraminAdapter("https://oapi.saramin.co.kr", KEY)
CONDITION: Condition = {"keywords": ["백엔드", "서버"], "loc_cd": ["101000", "102000"]}


def read(body: object, start: int = 0, count: int = 110, status: int = 200) -> ListPage:
    """The page ``start`` from ``body``."""
    return SARAMIN.read_page(CONDITION, {"start": start, "count": count}, reply(body, status))


def rows(count: int, first: int = 1) -> list[Json]:
    """``count`` rows with ids from ``first``."""
    return [saramin_row(first + number) for number in range(count)]


def test_the_request_asks_for_json_newest_first_and_hides_its_key() -> None:
    """Section 2: without Accept the answer may be XML; R29: the key is a secret parameter."""
    request = SARAMIN.list_request(CONDITION, SARAMIN.first_position(CONDITION, 500))
    assert request.params == (
        ("keywords", "백엔드 서버"),
        ("loc_cd", "101000,102000"),
        ("sort", "pd"),
        ("start", "0"),
        ("count", "110"),
    )
    assert request.secret_params == (("access-key", KEY),)
    assert request.headers["Accept"] == "application/json"
    assert request.accepted_statuses == {200, 400, 401}, "error bodies come with any of them"
    assert KEY not in repr(SARAMIN)
    assert KEY not in str(request.params)


def test_without_a_key_nothing_can_be_sent() -> None:
    """R2: reason CONFIG, no HTTP."""
    keyless = SaraminAdapter("https://oapi.saramin.co.kr", None)
    with pytest.raises(MissingCredential, match="COLLECTION_SARAMIN_ACCESS_KEY"):
        keyless.check(CONDITION)
    with pytest.raises(MissingCredential):
        keyless.list_request(CONDITION, {"start": 0, "count": 110})


@pytest.mark.parametrize("total", [220, "220"])
def test_start_counts_pages_and_the_total_says_where_the_end_is(total: object) -> None:
    """Section 2: start * count >= total."""
    first = read(saramin_page(rows(110), total))
    assert first.next_position == {"start": 1, "count": 110}
    assert first.stated_total == 220
    assert SARAMIN.rows_before({"start": 1, "count": 110}) == 110
    assert read(saramin_page(rows(110), total, "1"), start=1).next_position is None


def test_a_short_page_before_the_end_is_not_the_end() -> None:
    """R23."""
    assert read(saramin_page(rows(109), "221")).next_position == {"start": 1, "count": 110}


def test_the_page_size_follows_the_budget_and_stays() -> None:
    """R20."""
    position = SARAMIN.first_position(CONDITION, 40)
    assert position == {"start": 0, "count": 40}
    page = SARAMIN.read_page(CONDITION, position, reply(saramin_page(rows(40), 100)))
    assert page.next_position == {"start": 1, "count": 40}


@pytest.mark.parametrize("job", [[], None, ""])
def test_no_result_is_a_page_without_rows(job: object) -> None:
    """Section 2: job [] or missing."""
    page = read(saramin_page(job, "0"))
    assert (page.rows, page.next_position, page.stated_total) == ([], None, None)
    assert read({"jobs": {"total": 0}}).rows == []


def test_one_result_may_be_an_object() -> None:
    """Section 2."""
    page = read(saramin_page(saramin_row(7), "1"))
    assert [row.source_job_id for row in page.rows] == ["7"]


def test_a_list_that_shrank_meanwhile_ends_with_an_empty_page() -> None:
    """R23."""
    assert read(saramin_page([], "105"), start=1).next_position is None


@pytest.mark.parametrize(
    "body",
    [
        saramin_page([], "4011"),
        {"jobs": {"total": "4011"}},
        saramin_page(rows(3), "2"),
        saramin_page(rows(111), "4011"),
        saramin_page(rows(1), None),
        saramin_page(rows(1), "many"),
        saramin_page(rows(1), True),
        saramin_page(rows(1), -1),
        saramin_page(rows(1), 10**30),
        saramin_page([saramin_row(1, id=None)], 1),
        saramin_page([saramin_row(1, position={"title": ""})], 1),
        saramin_page("text", 1),
        {"jobs": []},
        {"jobs": None},
        {},
        [],
        b"<?xml version='1.0'?><job-search><jobs count='0' total='0'/></job-search>",
        b"<html>captcha</html>",
        b"",
    ],
)
def test_what_is_not_the_documented_list_is_refused(body: object) -> None:
    """R10: an empty page that says rows are left is no end; neither is a lost key."""
    with pytest.raises(BadResponse):
        read(body)


@pytest.mark.parametrize("status", [200, 400, 401])
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (4, CollectionFailureReason.QUOTA),
        ("4", CollectionFailureReason.QUOTA),
        (1, CollectionFailureReason.CONFIG),
        (2, CollectionFailureReason.CONFIG),
        ("3", CollectionFailureReason.CONFIG),
    ],
)
@pytest.mark.parametrize("carrier", ["top", "error", "result", "jobs"])
def test_every_carrier_of_an_error_code_is_understood(
    carrier: str, code: object, reason: CollectionFailureReason, status: int
) -> None:
    """Section 2, errors: four carriers, codes as number or text, status 200 or 4xx."""
    stated: Json = {"code": code, "message": f"key {KEY} refused"}
    carriers: dict[str, Json] = {
        "top": stated,
        "error": {"error": stated},
        "result": {"result": stated},
        "jobs": {"jobs": {"error": stated}},
    }
    with pytest.raises(RequestFailed) as failed:
        read(carriers[carrier], status=status)
    assert failed.value.failure.reason is reason
    assert KEY not in str(failed.value), "R29: the platform's words are not repeated"


@pytest.mark.parametrize("code", [99, "99", "x", None, 10**50])
def test_any_other_error_code_is_a_bad_response(code: object) -> None:
    """Section 2: 99 unknown."""
    with pytest.raises(BadResponse):
        read({"code": code, "message": "unknown"})


def test_a_client_error_without_a_code_stays_one() -> None:
    """Spec section 4: HTTP_4XX."""
    with pytest.raises(RequestFailed) as failed:
        read(b"<html>bad request</html>", status=400)
    assert failed.value.failure.reason is CollectionFailureReason.HTTP_4XX
    assert failed.value.status == 400


def test_a_row_fills_its_columns_without_entities() -> None:
    """Section 2: names carry HTML entities, times are unix seconds, max 0 is no limit."""
    fields = read(saramin_page(rows(1), 1)).rows[0].fields
    assert (fields.title, fields.company_name) == ("서버 개발자 <경력> 1", "다온빛 & 테크")
    assert (fields.location_raw, fields.region) == ("서울 > 강남구", "서울")
    assert (fields.career_from, fields.career_to) == (3, None)
    assert (fields.employment_type, fields.salary) == ("정규직", "4,000~5,000만원")
    assert fields.skills == ("Java", "Spring")
    assert fields.categories == ("IT개발·데이터", "백엔드/서버개발", "프론트엔드")
    assert fields.published_at == datetime(2026, 11, 30, 0, 53, 20)
    assert fields.deadline.at == datetime(2026, 12, 22, 14, 59, 59)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"close-type": {"code": "1"}}, DeadlineKind.DATE),
        ({"close-type": {"code": 1}}, DeadlineKind.DATE),
        ({"close-type": {"code": "2"}}, DeadlineKind.UNTIL_FILLED),
        ({"close-type": {"code": "3"}}, DeadlineKind.ALWAYS_OPEN),
        ({"close-type": {"code": "4"}}, DeadlineKind.ALWAYS_OPEN),
        ({"close-type": None}, DeadlineKind.UNKNOWN),
        ({"close-type": {"code": "9"}}, DeadlineKind.UNKNOWN),
        ({"expiration-timestamp": "253402268399"}, DeadlineKind.ALWAYS_OPEN),
        ({"expiration-timestamp": "1797951599000"}, DeadlineKind.UNKNOWN),
        ({"expiration-timestamp": None}, DeadlineKind.UNKNOWN),
        (
            {"expiration-timestamp": None, "expiration-date": "2026-12-22T23:59:59+0900"},
            DeadlineKind.DATE,
        ),
    ],
)
def test_only_close_type_1_makes_the_timestamp_a_deadline(
    changes: dict[str, Any], kind: DeadlineKind
) -> None:
    """Section 2: 2, 3 and 4 usually still carry one, which must not be used."""
    row = read(saramin_page([saramin_row(1, **changes)], 1)).rows[0]
    assert row.fields.deadline.kind is kind


@pytest.mark.parametrize(
    ("level", "years"),
    [
        ({"code": 0, "min": 0, "max": 0}, (0, None)),
        ({"code": 1, "min": 0, "max": 0}, (0, 0)),
        ({"code": "2", "min": 5, "max": 10}, (5, 10)),
        ({"code": 3, "min": 0, "max": 0}, (0, None)),
        ({"code": 3, "min": 0, "max": 5}, (0, 5)),
        (None, (None, None)),
    ],
)
def test_experience_levels_become_years(
    level: object, years: tuple[int | None, int | None]
) -> None:
    """Section 2: 0 any, 1 newcomers, 2 experienced, 3 both; max 0 is no limit."""
    position = {"title": "x", "experience-level": level}
    fields = read(saramin_page([saramin_row(1, position=position)], 1)).rows[0].fields
    assert (fields.career_from, fields.career_to) == years


def test_read_and_apply_counts_do_not_change_the_signature() -> None:
    """R22a."""

    def signature(**changes: Any) -> str:
        return read(saramin_page([saramin_row(1, **changes)], 1)).rows[0].signature

    counted = {"read-cnt": "99", "apply-cnt": "7", "modification-timestamp": "1796009999"}
    assert signature(**counted) == signature()
    assert signature(keyword="Spring,Java") == signature(), "the order says nothing"
    assert signature(salary={"name": "면접후 결정"}) != signature()
    assert signature(**{"close-type": {"code": "2"}}) != signature()

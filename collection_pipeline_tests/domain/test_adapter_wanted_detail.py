"""Wanted's detail in every nesting of its endpoints, and gone postings (R22)."""

from datetime import datetime
from typing import Any

import pytest

from collection_pipeline.domain.posting import DeadlineKind, GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition
from collection_pipeline.platforms.adapters.wanted import WantedAdapter
from collection_pipeline.platforms.contract import BadResponse
from collection_pipeline_tests.kit.platform_bodies import reply, wanted_job

WANTED = WantedAdapter("https://www.wanted.co.kr")
CHAOS: Condition = {}


def detail(body: object, status: int = 200) -> PostingDetail | GonePosting:
    """The detail of posting 5 from ``body``."""
    return WANTED.read_detail(CHAOS, "5", reply(body, status))


def stored(body: object) -> PostingDetail:
    """The detail of posting 5, which is not gone."""
    found = detail(body)
    assert isinstance(found, PostingDetail)
    return found


def test_each_form_asks_its_own_detail() -> None:
    """Section 1C; 404 is read by the adapter, it means gone."""
    v4 = WANTED.detail_request({"form": ["v4"]}, "5")
    chaos = WANTED.detail_request(CHAOS, "5")
    assert (v4.path, chaos.path) == ("/api/v4/jobs/5", "/api/chaos/jobs/v4/5/details")
    assert v4.accepted_statuses == chaos.accepted_statuses == {200, 404}


def test_an_id_cannot_leave_the_detail_path() -> None:
    """R28: what an id holds stays one path segment."""
    assert WANTED.detail_request(CHAOS, "a/../b?c#d").path == (
        "/api/chaos/jobs/v4/a%2F..%2Fb%3Fc%23d/details"
    )


CHAOS_BODY = {
    "data": {
        "job": {**wanted_job(5, position=None, skill_tags=None), "name": None},
        "skill_tags": [{"tag_type_id": 1, "text": "Java"}, {"tag_type_id": 2, "text": "Kotlin"}],
    }
}


@pytest.mark.parametrize(
    "body",
    [
        {"job": wanted_job(5)},
        CHAOS_BODY,
        {"data": {"job": wanted_job(5)}},
        {"data": wanted_job(5)},
        wanted_job(5),
        {"job": wanted_job(5, id="5")},
    ],
)
def test_every_nesting_gives_the_same_detail(body: object) -> None:
    """Section 1C: job, data.job, or flat; skills labelled title or text, beside job or in it."""
    changes = stored(body).changes
    assert changes["description"] == (
        "회사·서비스 소개\n소개합니다.\n둘째 줄\n\n주요업무\n• API 설계\n\n자격요건\nJava & Kotlin"
    )
    assert changes["skills"] == ("Java", "Kotlin")
    assert changes["deadline"].at == datetime(2026, 12, 24, 14, 59, 59)
    assert changes["published_at"] == datetime(2026, 11, 2, 1, 0)
    assert (changes["region"], changes["employment_type"]) == ("서울", "regular")


def test_the_title_may_stand_in_the_detail() -> None:
    """Section 1C trap: data.job.detail.position."""
    job = wanted_job(5, position=None)
    job["detail"]["position"] = "플랫폼 개발자"
    assert stored({"data": {"job": job}}).changes["title"] == "플랫폼 개발자"


def test_a_flat_body_with_one_long_text_is_a_detail() -> None:
    """Section 1C.4: jd."""
    assert stored({"id": 5, "jd": "긴 글\r\n둘째"}).changes == {"description": "긴 글\n둘째"}


def test_no_due_time_is_known_to_be_none_and_an_absent_one_changes_nothing() -> None:
    """Section 1C: null is "no notice", which the chaos list could not say."""
    null = stored({"job": wanted_job(5, due_time=None)}).changes
    assert null["deadline"].kind is DeadlineKind.UNKNOWN
    job = wanted_job(5)
    del job["due_time"]
    assert "deadline" not in stored({"job": job}).changes


@pytest.mark.parametrize(
    "body",
    [
        {"job": wanted_job(5, status="close")},
        {"job": wanted_job(5, status="closed")},
        {"data": {"job": wanted_job(5, status="draft")}},
        {"job": {"id": 5, "status": "close"}},
    ],
)
def test_a_closed_status_is_gone(body: object) -> None:
    """Section 1C: 200 with status close or draft."""
    assert detail(body) == GonePosting()


def test_404_is_gone_whatever_its_body() -> None:
    """Section 1C."""
    assert detail(b"<html>not found</html>", 404) == GonePosting()


@pytest.mark.parametrize(
    "body",
    [
        b"<html></html>",
        b"",
        [],
        {},
        {"data": None},
        {"message": "x", "status": "error"},
        {"job": {"id": 5}},
        {"job": wanted_job(6)},
        {"job": wanted_job(5, detail={})},
        {"job": wanted_job(5, detail={"unknown": "x"})},
    ],
)
def test_anything_else_is_no_detail(body: Any) -> None:
    """R22: counted as a failed detail, never as an empty one."""
    with pytest.raises(BadResponse):
        detail(body)


def test_a_detail_field_that_does_not_parse_is_left_out_and_named() -> None:
    """R10."""
    found = stored({"job": wanted_job(5, confirm_time="yesterday", skill_tags=[7])})
    assert found.unparsed == ("confirm_time", "skill_tags")
    assert "published_at" not in found.changes

"""Bodies of the five platforms, written by hand after the wire contracts; every value is invented.

Each builder returns plain JSON values, so that a test can bend one key of an otherwise good body.
"""

import json
from typing import Any

from collection_pipeline.platforms.contract import PlatformReply

Json = dict[str, Any]


def reply(body: object, status: int = 200) -> PlatformReply:
    """``body`` as a reply: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return PlatformReply(status, {"content-type": "application/json"}, content)


def wanted_v4_row(number: int, **changes: Any) -> Json:
    """A row of Wanted's older list."""
    row: Json = {
        "id": number,
        "status": "active",
        "hidden": False,
        "position": f"백엔드 개발자 {number}",
        "company": {
            "id": 7,
            "name": "가온누리소프트",
            "industry_name": "IT, 컨텐츠",
            "application_response_stats": {"avg_rate": 12.5, "level": "low"},
        },
        "address": {
            "country": "한국",
            "location": "서울",
            "location_key": "seoul",
            "district": "마포구",
            "full_location": "서울특별시 마포구 월드컵북로 1",
        },
        "annual_from": 3,
        "annual_to": 100,
        "due_time": "2026-12-24",
        "category_tags": [{"parent_id": 518, "id": 872}],
        "reward": {"formatted_total": "100만원"},
        "like_count": 4,
        "matching_score": None,
    }
    return {**row, **changes}


def wanted_chaos_row(number: int, **changes: Any) -> Json:
    """A row of the list that Wanted's site uses now."""
    row: Json = {
        "id": number,
        "position": f"데이터 엔지니어 {number}",
        "company": {"id": 9, "name": "나래솔랩스", "application_response_stats": {"avg_rate": 0.0}},
        "address": {"country": "한국", "location": "경기", "district": "성남시"},
        "category_tag": {"parent_id": 518, "id": 655},
        "annual_from": 0,
        "annual_to": 3,
        "is_newbie": True,
        "employment_type": "regular",
        "skill_tags": [1554, 1459],
        "reward_total": "100만원",
        "additional_apply_type": None,
        "is_bookmark": False,
    }
    return {**row, **changes}


def wanted_page(rows: list[Json], following: object = None, **changes: Any) -> Json:
    """A page of either Wanted list."""
    return {"data": rows, "links": {"prev": None, "next": following}, **changes}


def wanted_job(number: int, **changes: Any) -> Json:
    """The ``job`` object of a v4 detail."""
    job: Json = {
        "id": number,
        "status": "active",
        "position": f"백엔드 개발자 {number}",
        "due_time": "2026-12-24T00:00:00",
        "employment_type": "regular",
        "confirm_time": "2026-11-02T10:00:00",
        "address": {
            "country": "한국",
            "location": "서울",
            "full_location": "서울특별시 중구 세종대로 1",
        },
        "detail": {
            "intro": "소개합니다.\r\n둘째 줄",
            "main_tasks": "• API 설계",
            "requirements": "<p>Java &amp; Kotlin</p>",
            "preferred_points": None,
        },
        "skill_tags": [{"id": 1, "title": "Java"}, {"id": 2, "title": "Kotlin"}],
    }
    return {**job, **changes}


def saramin_row(number: int, **changes: Any) -> Json:
    """One ``job`` of Saramin's JSON."""
    row: Json = {
        "id": str(number),
        "active": 1,
        "url": f"http://www.saramin.co.kr/zf_user/jobs/relay/view?rec_idx={number}",
        "company": {"detail": {"href": "http://www.saramin.co.kr/c", "name": "다온빛 &amp; 테크"}},
        "position": {
            "title": f"서버 개발자 &lt;경력&gt; {number}",
            "location": {"code": "101010", "name": "서울 &gt; 강남구"},
            "job-type": {"code": "1", "name": "정규직"},
            "job-mid-code": {"code": "2", "name": "IT개발·데이터"},
            "job-code": {"code": "84,92", "name": "백엔드/서버개발,프론트엔드"},
            "experience-level": {"code": 2, "min": 3, "max": 0, "name": "경력3년↑"},
        },
        "keyword": "Java,Spring",
        "salary": {"code": "16", "name": "4,000~5,000만원"},
        "posting-timestamp": "1796000000",
        "opening-timestamp": "1796000400",
        "expiration-timestamp": "1797951599",
        "close-type": {"code": "1", "name": "접수마감일"},
        "read-cnt": "12",
    }
    return {**row, **changes}


def saramin_page(rows: object, total: object, start: object = 0) -> Json:
    """Saramin's envelope; ``rows`` may be a list, one object, or nothing."""
    jobs: Json = {"count": 0, "start": start, "total": total, "job": rows}
    return {"jobs": jobs}


def jumpit_row(number: int, **changes: Any) -> Json:
    """One of Jumpit's positions."""
    row: Json = {
        "id": number,
        "title": f"[플랫폼] 백엔드 개발자 {number}",
        "companyName": "라온결네트웍스",
        "jobCategory": "서버/백엔드 개발자,웹 풀스택 개발자",
        "techStacks": ["Java", "Spring Boot"],
        "locations": ["서울 구로구"],
        "minCareer": 3,
        "maxCareer": 12,
        "newcomer": False,
        "alwaysOpen": False,
        "closedAt": "2026-12-20T23:59:59",
        "viewCount": 83,
        "scrapCount": 9,
    }
    return {**row, **changes}


def jumpit_page(rows: list[Json], total: object, page: int = 1, **changes: Any) -> Json:
    """Jumpit's envelope of a list page."""
    result = {"totalCount": total, "page": page, "emptyPosition": False, "positions": rows}
    return {
        "message": "조회되었습니다.",
        "status": 200,
        "code": "P004",
        "result": result,
        **changes,
    }


def jumpit_detail(number: int, **changes: Any) -> Json:
    """Jumpit's envelope of a detail."""
    result: Json = {
        "id": number,
        "title": f"[플랫폼] 백엔드 개발자 {number}",
        "techStacks": [{"stack": "Java", "imagePath": "x"}],
        "responsibility": "• 결제 API\r\n• 정산",
        "qualifications": "3년 이상",
        "publishedAt": "2026-11-02 00:00:00",
        "closedAt": "2026-12-20 23:59:59",
        "location": "서울 구로구 디지털로 1, 3층",
    }
    envelope = {"message": "조회에 성공하셨습니다.", "status": 200, "code": "C001"}
    return {**envelope, "result": {**result, **changes}}


def greenhouse_row(number: int, **changes: Any) -> Json:
    """One job of a Greenhouse board."""
    row: Json = {
        "id": number,
        "internal_job_id": None,
        "title": f"Backend Engineer {number}",
        "company_name": "Maru",
        "absolute_url": f"https://job-boards.greenhouse.io/maru/jobs/{number}",
        "location": {"name": "Seoul, South Korea"},
        "updated_at": "2026-11-20T08:48:22-05:00",
        "first_published": "2026-11-02T05:58:03-05:00",
        "language": "en",
        "application_deadline": None,
        "metadata": None,
        "content": (
            "&lt;p&gt;We build R&amp;amp;D&amp;nbsp;tools.&lt;/p&gt;"
            "&lt;ul&gt;&lt;li&gt;Go&lt;/li&gt;&lt;/ul&gt;"
        ),
        "departments": [{"id": 1, "name": "Engineering", "child_ids": []}],
        "offices": [{"id": 1, "name": "Seoul", "location": None}],
    }
    return {**row, **changes}


def greenhouse_board(rows: list[Json], total: object = None) -> Json:
    """A whole board."""
    return {"jobs": rows, "meta": {"total": len(rows) if total is None else total}}


def lever_row(number: int, **changes: Any) -> Json:
    """One posting of a Lever site."""
    row: Json = {
        "id": f"0f0e0d0c-0000-4000-8000-{number:012d}",
        "text": f"Server Engineer {number}",
        "categories": {
            "commitment": "Full-time",
            "department": "Engineering",
            "team": "Payments",
            "location": "Seoul",
            "allLocations": ["Seoul", "Busan"],
        },
        "country": "KR",
        "workplaceType": "hybrid",
        "createdAt": 1793600000123,
        "hostedUrl": f"https://jobs.lever.co/gaon/{number}",
        "descriptionPlain": "We run payments.",
        "lists": [{"text": "What you do", "content": "<li>APIs</li><li>Go &amp; SQL</li>"}],
        "additionalPlain": "Equal opportunity.",
        "salaryRange": {"currency": "KRW", "interval": "per-year-salary", "min": 60, "max": 90},
    }
    return {**row, **changes}

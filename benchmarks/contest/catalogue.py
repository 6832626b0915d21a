"""The bodies that the page server hands out: Saramin's JSON, with every field of its shape.

Invariant: a posting follows from its source and number alone, so each load and each contestant gets
the same bytes. About 1.8 KB a posting: links with their tracking, and the long lists of job codes
that real answers carry. The words are the simulator's; no real company is named.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from collection_pipeline.simulator.vocabulary import (
    COMPANY_STEMS,
    COMPANY_TAILS,
    DISTRICTS,
    INDUSTRIES,
    ROLES,
    SALARIES,
    SKILLS,
    TEAMS,
    TITLE_NOTES,
)

PAGE_ROWS = 110
"""The most that Saramin gives; every contestant asks for full pages."""
SOURCES = 5
FIRST_ID = 48_000_000
SITE = "http://www.saramin.co.kr/zf_user"
TRACKING = "utm_source=job-search-api&utm_medium=api&utm_campaign=saramin-job-search-api"
OPENED = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
SEOUL = ZoneInfo("Asia/Seoul")
JOB_CODES = 23
KEYWORDS = 16
EDUCATION = (("0", "학력무관"), ("7", "대학졸업(2,3년)이상"), ("8", "대학교졸업(4년)이상"))


def keyword(source: int, rows: int) -> str:
    """The search that stands for source ``source`` of a catalogue of ``rows`` postings each."""
    return f"contest{source}-{rows}"


def pages_of(rows: int) -> int:
    """How many full pages ``rows`` postings need."""
    return -(-rows // PAGE_ROWS)


def page_body(source: int, rows: int, page: int) -> bytes:
    """The whole answer for page ``page`` (from 0)."""
    first = page * PAGE_ROWS
    jobs = [posting(source, number) for number in range(first, min(rows, first + PAGE_ROWS))]
    answer = {"jobs": {"count": len(jobs), "start": page, "total": str(rows), "job": jobs}}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def posting_id(source: int, number: int) -> str:
    """Ids of one length, so that their order as text is their order."""
    return str(FIRST_ID + source * 1_000_000 + number)


def posting(source: int, number: int) -> dict[str, Any]:
    """One ``job`` of the answer; ids, codes and times are texts, as the platform sends them."""
    # Neighbours must differ in every word: a multiplier that shares no factor with the lists.
    dice = (source * 7_919 + number) * 104_729
    job_id = posting_id(source, number)
    opened = OPENED + timedelta(minutes=dice % 30_000)
    expires = opened + timedelta(days=20 + dice % 40)
    salary = SALARIES[dice % len(SALARIES)]
    return {
        "url": f"{SITE}/jobs/relay/view?rec_idx={job_id}&{TRACKING}",
        "active": 1,
        "company": {"detail": _company(dice)},
        "position": _position(dice),
        "keyword": ",".join(_skills(dice, KEYWORDS)),
        "salary": {"code": salary[0], "name": salary[1]},
        "id": job_id,
        "posting-timestamp": _unix(opened),
        "posting-date": _seoul(opened),
        "modification-timestamp": _unix(opened + timedelta(hours=3)),
        "opening-timestamp": _unix(opened),
        "expiration-timestamp": _unix(expires),
        "expiration-date": _seoul(expires),
        "close-type": {"code": "1", "name": "접수마감일"},
        "read-cnt": str(dice % 900),
        "apply-cnt": str(dice % 40),
    }


def _company(dice: int) -> dict[str, str]:
    number = dice % (len(COMPANY_STEMS) * len(COMPANY_TAILS))
    name = COMPANY_STEMS[number % len(COMPANY_STEMS)] + COMPANY_TAILS[number // len(COMPANY_STEMS)]
    page = f"{SITE}/company-info/view?csn={1_048_100_000 + number}&{TRACKING}"
    return {"href": page, "name": f"(주){name}"}


def _position(dice: int) -> dict[str, Any]:
    role = ROLES[dice % len(ROLES)]
    team = TEAMS[dice // 7 % len(TEAMS)].replace("&", "&amp;")
    district = DISTRICTS[dice % len(DISTRICTS)]
    industry = INDUSTRIES[dice % len(INDUSTRIES)]
    education = EDUCATION[dice % len(EDUCATION)]
    low, high = 1 + dice % 5, 7 + dice % 6
    skills = _skills(dice + 3, JOB_CODES)
    codes = ",".join(str(200 + (dice + step) % 90) for step in range(JOB_CODES))
    return {
        "title": f"[{team}] {role[0]} {TITLE_NOTES[dice // 3 % len(TITLE_NOTES)]} "
        f"- {skills[0]}/{skills[1]} 기반 서비스 개발 및 운영 ({low}~{high}년)",
        "industry": {"code": industry[0], "name": industry[1]},
        "location": {
            "code": f"{district.saramin_code},117000",
            "name": f"{district.city} &gt; {district.name},전국 &gt; 전국전체",
        },
        "job-type": {"code": "1,2", "name": "정규직,계약직 (정규직 전환가능)"},
        "job-mid-code": {"code": "2,3", "name": "IT개발·데이터,기획·전략"},
        "job-code": {"code": f"{role[5]},{codes}", "name": ",".join((role[6], *skills))},
        "experience-level": {
            "code": 2,
            "min": low,
            "max": high,
            "name": f"경력 {low}~{high}년",
        },
        "required-education-level": {"code": education[0], "name": education[1]},
    }


def _skills(dice: int, count: int) -> list[str]:
    return [SKILLS[(dice + 5 * step) % len(SKILLS)] for step in range(count)]


def _unix(moment: datetime) -> str:
    return str(int(moment.timestamp()))


def _seoul(moment: datetime) -> str:
    return moment.astimezone(SEOUL).strftime("%Y-%m-%dT%H:%M:%S%z")

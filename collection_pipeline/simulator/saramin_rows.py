"""One `job` of the Saramin Open API as JSON.

Facts of the form: ids, totals, timestamps and most codes are strings; names carry HTML entities;
close types 2, 3 and 4 come with and without an expiration timestamp; the company link, the salary,
the keyword and the job code are missing in some rows.
"""

from datetime import date, timedelta
from html import escape
from typing import Any

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.posting_facts import (
    ALWAYS_OPEN,
    DATED,
    ROLLING,
    UNTIL_FILLED,
    PostingFacts,
)
from collection_pipeline.simulator.run_days import (
    compact_offset,
    end_of_day,
    kst_moment,
    unix_text,
)

SITE = "http://www.saramin.co.kr/zf_user"
TRACKING = "utm_source=job-search-api&utm_medium=api&utm_campaign=saramin-job-search-api"
CLOSE_TYPES = {
    DATED: ("1", "접수마감일"),
    UNTIL_FILLED: ("2", "채용시"),
    ALWAYS_OPEN: ("3", "상시"),
    ROLLING: ("4", "수시"),
}
JOB_TYPES = {
    "regular": ("1", "정규직"),
    "contract": ("2", "계약직"),
    "intern": ("4,11", "인턴직,인턴직 (정규직 전환가능)"),
}
EDUCATION = (("0", "학력무관"), ("7", "대학졸업(2,3년)이상"), ("8", "대학교졸업(4년)이상"))


def saramin_row(facts: PostingFacts, first: date, fields: frozenset[str]) -> Row:
    """The JSON `job`; `fields` are the extra ones that the request asked for."""
    posted = kst_moment(first, facts.posted_minutes)
    deadline = end_of_day(first + timedelta(days=facts.deadline_day))
    close_code, close_name = CLOSE_TYPES[facts.deadline_kind]
    row: dict[str, Any] = {
        "url": f"{SITE}/jobs/relay/view?rec_idx={facts.posting_id}&{TRACKING}",
        "active": 1,
        "company": {"detail": _company(facts)},
        "position": _position(facts),
        "keyword": ",".join(facts.skills[:3]),
        "salary": {"code": facts.salary[0], "name": facts.salary[1]},
        "id": facts.posting_id,
        "posting-timestamp": unix_text(posted),
        "modification-timestamp": unix_text(posted + timedelta(hours=facts.version)),
        "opening-timestamp": unix_text(posted.replace(minute=0, second=0)),
        "expiration-timestamp": unix_text(deadline),
        "close-type": {"code": close_code, "name": close_name},
    }
    if facts.deadline_kind != DATED and facts.one_in(2, 1):
        del row["expiration-timestamp"]
    if facts.one_in(7, 2):
        del row["salary"]
    if facts.one_in(11, 3):
        del row["keyword"]
    if "posting-date" in fields:
        row["posting-date"] = compact_offset(posted)
    if "expiration-date" in fields and "expiration-timestamp" in row:
        row["expiration-date"] = compact_offset(deadline)
    if "count" in fields:
        row["read-cnt"] = str(facts.dice % 900)
        row["apply-cnt"] = str(facts.dice % 40)
    return row


def _company(facts: PostingFacts) -> Row:
    name = facts.company.spelled
    if facts.one_in(12, 4):
        name += f" {escape('R&D')}"
    if facts.one_in(10, 5):
        return {"name": name}
    page = f"{SITE}/company-info/view?csn={facts.company.number * 97_003}&{TRACKING}"
    return {"href": page, "name": name}


def _position(facts: PostingFacts) -> Row:
    job_code, job_name = JOB_TYPES[facts.employment]
    education = EDUCATION[facts.dice % len(EDUCATION)]
    position: dict[str, Any] = {
        "title": escape(facts.title, quote=False),
        "industry": {"code": facts.company.industry[0], "name": facts.company.industry[1]},
        "location": {
            "code": facts.district.saramin_code,
            "name": f"{facts.district.city} &gt; {facts.district.name}",
        },
        "job-type": {"code": job_code, "name": job_name},
        "job-mid-code": {"code": "2", "name": "IT개발·데이터"},
        "job-code": {"code": facts.role[5], "name": ",".join((facts.role[6], *facts.skills[:2]))},
        "experience-level": experience(facts),
        "required-education-level": {"code": education[0], "name": education[1]},
    }
    if facts.one_in(13, 6):
        del position["job-code"]
    if facts.one_in(15, 7):
        del position["industry"]
    return position


def experience(facts: PostingFacts) -> Row:
    """Code 0 any, 1 newcomer, 2 experienced, 3 both; `max` 0 is no upper limit."""
    if facts.one_in(8, 8):
        return {"code": 0, "min": 0, "max": 0, "name": "경력무관"}
    if facts.career_from == 0:
        return {"code": 1, "min": 0, "max": 0, "name": "신입"}
    low = facts.career_from
    if facts.one_in(3, 9):
        return {"code": 2, "min": low, "max": 0, "name": f"경력{low}년↑"}
    high = facts.career_to
    if facts.one_in(9, 10):
        return {"code": 3, "min": low, "max": high, "name": f"신입/경력 {low}~{high}년"}
    return {"code": 2, "min": low, "max": high, "name": f"경력 {low}~{high}년"}

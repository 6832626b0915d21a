"""Jumpit's list row and detail, which spell the same facts differently.

List: `closedAt` with a `T`, stacks as strings, one comma-joined `jobCategory`. Detail: a blank in
`closedAt`, stacks as objects, `jobCategories`, texts that mix both line ends. `scrapCount` is
missing in some rows; "always open" comes with a null and with a year 9999 deadline.
"""

from base64 import b64encode
from datetime import date, timedelta
from typing import Any

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.posting_facts import DATED, PostingFacts
from collection_pipeline.simulator.posting_prose import bullets, intro
from collection_pipeline.simulator.run_days import end_of_day, kst_moment
from collection_pipeline.simulator.vocabulary import (
    BENEFITS,
    PREFERRED,
    REQUIREMENTS,
    ROLES,
    TASKS,
)

IMAGES = "https://cdn.example.net/images"
FAR_FUTURE = "9999-12-31T23:59:59"


def jumpit_row(facts: PostingFacts, first: date, keyword: str) -> Row:
    """One member of `result.positions`; a keyword puts spans inside title and category."""
    second = ROLES[facts.dice % len(ROLES)][3]
    categories = ",".join(dict.fromkeys((facts.role[3], second)))
    row: dict[str, Any] = {
        "id": facts.number,
        "jobCategory": highlighted(categories, keyword),
        "logo": f"{IMAGES}/company/{facts.company.number}/logo.png",
        "imagePath": f"{IMAGES}/company/{facts.company.number}/cover_276_136.png",
        "title": highlighted(facts.title, keyword),
        "companyName": facts.company.spelled,
        "techStacks": list(facts.skills),
        "scrapCount": facts.dice % 12,
        "viewCount": facts.dice % 500,
        "newcomer": facts.career_from == 0,
        "minCareer": facts.career_from,
        "maxCareer": facts.career_to,
        "locations": [f"{facts.district.city} {facts.district.name}"],
        "alwaysOpen": facts.deadline_kind != DATED,
        "closedAt": closed_at(facts, first),
        "serialNumber": _serial_number(facts),
        "encodedSerialNumber": b64encode(_serial_number(facts).encode()).decode(),
        "celebration": 50,
        "scraped": False,
        "applied": False,
    }
    if facts.one_in(3, 1):
        del row["scrapCount"]
    return row


def jumpit_detail(facts: PostingFacts, first: date) -> Row:
    """The `result` of one position."""
    closed = closed_at(facts, first)
    place = f"{facts.district.city} {facts.district.name} {facts.district.road}"
    address = f"{place} {facts.dice % 300 + 1}"
    return {
        "id": facts.number,
        "title": facts.title,
        "companyName": facts.company.spelled,
        "logo": f"{IMAGES}/company/{facts.company.number}/logo.png",
        "cacheCompanyImages": [
            {"imagePath": f"{IMAGES}/{facts.company.number}/profile.jpg", "sortNumber": 1}
        ],
        "techStacks": [
            {"stack": skill, "imagePath": f"{IMAGES}/stacks/{position}.png"}
            for position, skill in enumerate(facts.skills)
        ],
        "serviceInfo": intro(facts).replace("\n", "\r\n"),
        "responsibility": bullets(TASKS, facts.dice, "•", "\r\n"),
        "qualifications": bullets(REQUIREMENTS, facts.dice, "•"),
        "preferredRequirements": bullets(PREFERRED, facts.dice, "•") + "\n",
        "welfares": bullets(BENEFITS, facts.dice, "-", "\r\n"),
        "recruitProcess": "서류전형 > 코딩테스트 > 면접\r\n- 세부 일정은 개별 안내합니다.",
        "newcomer": facts.career_from == 0,
        "minCareer": facts.career_from,
        "maxCareer": facts.career_to,
        "developerInterviews": [],
        "developerInterviewsCount": 0,
        "itCompanyStory": [],
        "publishedAt": kst_moment(first, facts.posted_minutes).strftime("%Y-%m-%d 00:00:00"),
        "closedAt": closed.replace("T", " ") if closed else None,
        "location": address,
        "tags": [
            {"id": "287", "name": "점심지원", "emoticon": "welfare"},
            {"id": f"com_{facts.dice % 200}", "name": "자율복장", "emoticon": "scale"},
        ],
        "serialNumber": _serial_number(facts),
        "encodedSerialNumber": b64encode(_serial_number(facts).encode()).decode(),
        "companyUrl": f"https://www.example.net/{facts.company.number}",
        "alwaysOpen": facts.deadline_kind != DATED,
        "celebration": 50,
        "establishPeriod": facts.company.number % 30 + 1,
        "establishDate": f"{2025 - facts.company.number % 30}년 6월 설립",
        "education": 8,
        "educationName": "대학교졸업(4년) 이상",
        "graduate": False,
        "workingPlaces": [{"address": address, "domestic": False}],
        "jobCategories": [{"id": facts.role[2], "name": facts.role[3]}],
        "saraminCompanyTags": [],
        "manDbMcomIdx": facts.company.number,
        "invisible": False,
        "status": 0,
        "scrap": False,
        "applied": False,
        "positionStatus": "CHECKED",
        "follow": False,
        "hiddenPosition": False,
    }


def closed_at(facts: PostingFacts, first: date) -> str | None:
    """The list's deadline text (KST without zone)."""
    if facts.deadline_kind == DATED:
        day = end_of_day(first + timedelta(days=facts.deadline_day))
        return day.strftime("%Y-%m-%dT%H:%M:%S")
    return FAR_FUTURE if facts.one_in(2, 2) else None


def highlighted(text: str, keyword: str) -> str:
    """The hit in a span; without one, a part of the first word (spans do fall inside words)."""
    if not keyword:
        return text
    place = text.lower().find(keyword.lower())
    if place < 0:
        place, size = 1, min(2, len(text) - 1)
    else:
        size = len(keyword)
    return f"{text[:place]}<span>{text[place : place + size]}</span>{text[place + size :]}"


def _serial_number(facts: PostingFacts) -> str:
    return str(1_010_000_000 + facts.company.number * 7)

"""Wanted's list rows and details: the v4 form and the chaos form differ in almost every name.

Facts of the form: v4 has `due_time`, `status` and a list `category_tags`; chaos has none of them
and one object `category_tag`. Years are career years (100 is no upper limit), never pay.
"""

from datetime import date, timedelta
from typing import Any

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.posting_facts import DATED, PostingFacts
from collection_pipeline.simulator.posting_prose import bullets, intro
from collection_pipeline.simulator.run_days import kst_moment
from collection_pipeline.simulator.vocabulary import (
    BENEFITS,
    PREFERRED,
    REQUIREMENTS,
    SKILLS,
    TASKS,
)

DEVELOPMENT = 518
IMAGES = "https://static.example.net/images/company"


def v4_row(facts: PostingFacts, first: date, closed: bool) -> Row:
    """One member of `data` of `/api/v4/jobs`."""
    return {
        "id": facts.number,
        "status": "close" if closed else "active",
        "hidden": False,
        "is_like": False,
        "score": None,
        "is_bookmark": False,
        "company": {
            "id": facts.company.number,
            "industry_name": "IT, 컨텐츠",
            "application_response_stats": _response_stats(facts)
            | {"delayed_count": 0, "avg_day": None, "remained_count": 0, "type": "applied"},
            "name": facts.company.plain,
        },
        "annual_to": _annual_to(facts),
        "annual_from": facts.career_from,
        "title_img": _image(facts, "title"),
        "logo_img": _image(facts, "logo"),
        "compare_country": True,
        "due_time": due_day(facts, first),
        "like_count": facts.dice % 60,
        "address": {
            "country": "한국",
            "location": facts.district.city,
            "location_key": facts.district.wanted_key.partition(".")[0],
            "district": facts.district.name,
            "district_key": facts.district.wanted_key,
            "full_location": full_location(facts),
        },
        "matching_score": None,
        "position": facts.title,
        "is_recommended": False,
        "reward": _reward_texts(),
        "category_tags": [{"parent_id": DEVELOPMENT, "id": facts.role[4]}],
    }


def chaos_row(facts: PostingFacts) -> Row:
    """One member of `data` of the navigation results."""
    skills = [1500 + SKILLS.index(skill) for skill in facts.skills]
    return {
        "id": facts.number,
        "position": facts.title,
        "company": {
            "id": facts.company.number,
            "name": facts.company.plain,
            "application_response_stats": _response_stats(facts),
        },
        "address": {
            "country": "한국",
            "location": facts.district.city,
            "district": facts.district.name,
        },
        "category_tag": {"parent_id": DEVELOPMENT, "id": facts.role[4]},
        "annual_from": facts.career_from,
        "annual_to": _annual_to(facts),
        "is_newbie": facts.career_from == 0,
        "employment_type": facts.employment,
        "skill_tags": skills if not facts.one_in(4) else [],
        "attraction_tags": [10402] if facts.one_in(3) else [],
        "user_oriented_tags": [],
        "reward_total": "100만원",
        "reward": {
            "id": None,
            "wd_id": None,
            "country": "kr",
            "user_country": "KR",
            "reward_recommender": 500000,
            "reward_recommendee": 500000,
            "reward_recommender_unit": "KRW",
            "reward_recommendee_unit": "KRW",
        }
        | _reward_texts(),
        "additional_apply_type": ["alternative_military"] if facts.one_in(9) else None,
        "preferred_languages": None,
        "visa_information": {"preferred_visas": None, "supported_visas": None},
        "title_img": _image(facts, "title") | {"video": None},
        "is_bookmark": False,
        "is_outlink": facts.one_in(20, 3),
    }


def v4_detail(facts: PostingFacts, first: date, status: str) -> Row:
    """The body of `/api/v4/jobs/{id}`."""
    job = _common_detail(facts, first, status)
    job["position"] = facts.title
    job["detail"] = _detail_texts(facts)
    job["skill_tags"] = [
        {"id": 1500 + SKILLS.index(skill), "title": skill} for skill in facts.skills
    ]
    job["category_tags"] = [{"parent_id": DEVELOPMENT, "id": facts.role[4]}]
    return {"job": job}


def chaos_detail(facts: PostingFacts, first: date, status: str) -> Row:
    """The body of `/api/chaos/jobs/v4/{id}/details`: the title lies in `detail.position`."""
    job = _common_detail(facts, first, status)
    job["name"] = None
    job["detail"] = {"position": facts.title} | _detail_texts(facts)
    job["category_tag"] = {
        "parent_tag": {"id": DEVELOPMENT, "text": "개발"},
        "child_tags": [{"id": facts.role[4], "text": facts.role[0]}],
    }
    skills = [{"tag_type_id": 1500 + SKILLS.index(skill), "text": skill} for skill in facts.skills]
    return {"data": {"job": job, "skill_tags": skills, "application": None}}


def due_day(facts: PostingFacts, first: date) -> str | None:
    """The last day (KST) as the v4 list spells it; about one posting in seven has one."""
    if facts.deadline_kind != DATED or not facts.one_in(4, 1):
        return None
    return (first + timedelta(days=facts.deadline_day)).isoformat()


def full_location(facts: PostingFacts) -> str:
    """A street address of the posting's district."""
    place = facts.district
    return f"{place.full_city} {place.name} {place.road} {facts.dice % 400 + 1}"


def _common_detail(facts: PostingFacts, first: date, status: str) -> dict[str, Any]:
    due = due_day(facts, first)
    return {
        "id": facts.number,
        "status": status,
        "due_time": f"{due}T00:00:00" if due else None,
        "annual_from": facts.career_from,
        "annual_to": _annual_to(facts),
        "employment_type": facts.employment,
        "confirm_time": kst_moment(first, facts.posted_minutes).strftime("%Y-%m-%dT%H:%M:%S"),
        "company": {
            "id": facts.company.number,
            "name": facts.company.plain,
            "industry_name": "IT, 컨텐츠",
        },
        "address": {
            "country": "한국",
            "location": facts.district.city,
            "district": facts.district.name,
            "full_location": full_location(facts),
            "geo_location": {},
        },
        "reward": {"formatted_total": "100만원"},
    }


def _detail_texts(facts: PostingFacts) -> dict[str, str | None]:
    return {
        "intro": intro(facts),
        "main_tasks": bullets(TASKS, facts.dice, "•"),
        "requirements": bullets(REQUIREMENTS, facts.dice, "ㆍ"),
        "preferred_points": None if facts.one_in(5) else bullets(PREFERRED, facts.dice, "•"),
        "benefits": bullets(BENEFITS, facts.dice, "•"),
        "hire_rounds": None if facts.one_in(3) else "서류 전형 → 기술 면접 → 최종 합격",
    }


def _annual_to(facts: PostingFacts) -> int:
    return 100 if facts.career_from and facts.one_in(6) else facts.career_to


def _response_stats(facts: PostingFacts) -> dict[str, Any]:
    rate = float(facts.dice % 100)
    return {"avg_rate": rate, "level": "normal" if rate > 50 else "very_low"}


def _image(facts: PostingFacts, what: str) -> dict[str, Any]:
    place = f"{IMAGES}/{facts.company.number}/{what}"
    return {"origin": f"{place}__1080_790.jpg", "thumb": f"{place}__400_400.jpg"}


def _reward_texts() -> dict[str, str]:
    return {
        "formatted_total": "100만원",
        "formatted_recommender": "50만원",
        "formatted_recommendee": "50만원",
    }

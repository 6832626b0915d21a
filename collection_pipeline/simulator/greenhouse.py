"""Greenhouse's board: everything in one answer, content as HTML with its entities escaped once.

Ids do not fit 32 bits; dates carry the US-East offset; `meta.total` is the number of jobs; an
unknown board is a 404.
"""

from datetime import date, timedelta
from html import escape
from typing import Any

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.messages import Reply, Request, json_reply
from collection_pipeline.simulator.posting_facts import PostingFacts
from collection_pipeline.simulator.posting_prose import html_intro, html_list
from collection_pipeline.simulator.questions import Page, Question
from collection_pipeline.simulator.run_days import kst_moment, us_east
from collection_pipeline.simulator.scenario import MAX_COUNT
from collection_pipeline.simulator.vocabulary import REQUIREMENTS, TASKS

PREFIX = "/v1/boards/"
ID_TAIL = 4_000_000_000
METADATA_VALUES: tuple[Any, ...] = ("정규직", None, ["서울", "판교"], True, "n/a")


class Greenhouse:
    """The wire form of Greenhouse's public job board."""

    platform = "greenhouse"
    id_name = "id"
    title_path: tuple[str, ...] = ("title",)
    envelope_name = "jobs"

    def ask(self, request: Request) -> Question | None:
        parts = request.path.removeprefix(PREFIX).split("/")
        if not request.path.startswith(PREFIX) or len(parts) < 2 or parts[1] != "jobs":
            return None
        content = dict(request.pairs).get("content") == "true"
        form = f"{'content' if content else 'plain'}:{parts[0]}"
        if len(parts) == 2:
            return Question("greenhouse", "list", form, request, (parts[0],), limit=MAX_COUNT)
        if len(parts) == 3 and parts[2].isdigit():
            form = f"content:{parts[0]}"
            return Question("greenhouse", "detail", form, request, (parts[0],), item_id=parts[2])
        return None

    def row(self, form: str, facts: PostingFacts, first: date) -> Row:
        detail, _, board = form.partition(":")
        row = _job(facts, first, board)
        if detail == "content":
            row |= _content(facts)
        return row

    def envelope(self, page: Page) -> object:
        return {"jobs": page.rows, "meta": {"total": page.total}}

    def detail(self, question: Question, facts: PostingFacts, first: date) -> object:
        return self.row(question.form, facts, first)

    def gone(self, _question: Question, _facts: PostingFacts | None, _first: date) -> Reply:
        return json_reply({"status": 404, "error": "Job not found"}, 404)

    def unknown_key(self, _question: Question) -> Reply | None:
        return json_reply({"status": 404, "error": "Board not found"}, 404)


def _job(facts: PostingFacts, first: date, board: str) -> Row:
    published = kst_moment(first, facts.posted_minutes)
    city = "Seoul" if facts.district.city == "서울" else facts.district.wanted_key.split(".")[0]
    hybrid = facts.one_in(6, 1)
    metadata = {
        "id": ID_TAIL + 17,
        "name": "고용 형태",
        "value": METADATA_VALUES[facts.dice % len(METADATA_VALUES)],
        "value_type": "single_select",
    }
    return {
        "absolute_url": f"https://job-boards.greenhouse.io/{board}/jobs/{facts.number}",
        "data_compliance": [
            {
                "type": "gdpr",
                "requires_consent": False,
                "requires_processing_consent": False,
                "requires_retention_consent": False,
                "retention_period": None,
                "demographic_data_consent_applies": False,
            }
        ],
        "internal_job_id": None if facts.one_in(14, 2) else facts.number - 2_000_000,
        "location": {"name": "Hybrid" if hybrid else f"{city}, South Korea"},
        "metadata": None if facts.one_in(5, 3) else [metadata],
        "id": facts.number,
        "updated_at": us_east(published + timedelta(hours=5 + facts.version)),
        "requisition_id": f"R-{facts.serial + 100}",
        "title": facts.english_title if facts.one_in(2, 4) else facts.title,
        "company_name": board,
        "first_published": us_east(published),
        "language": "ko",
        "application_deadline": None,
    }


def _content(facts: PostingFacts) -> Row:
    office = {
        "id": ID_TAIL + int(facts.district.saramin_code),
        "name": facts.district.name,
        "location": None if facts.one_in(4, 5) else facts.district.full_city,
        "child_ids": [],
        "parent_id": None,
    }
    body = f'<div class="content-intro">{html_intro(facts)}</div>'
    body += f"<h3>주요업무</h3>{html_list(TASKS, facts.dice)}"
    body += f"<h3>자격요건</h3>{html_list(REQUIREMENTS, facts.dice)}"
    return {
        "content": escape(body),
        "departments": [
            {
                "id": ID_TAIL + facts.role[4],
                "name": facts.role[1],
                "child_ids": [],
                "parent_id": None,
            }
        ],
        "offices": [office],
        "ai_disclaimer": None,
        "include_ai_disclaimer": None,
        "ai_opt_out_request_url": None,
    }

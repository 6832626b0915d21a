"""Lever's postings: a bare array, skip/limit, no total, no deadline, milliseconds since 1970.

A site lives in one region: an EU site answers on the EU listener only and is a 404 elsewhere, and
the other way round. Without `mode=json` and a JSON Accept the answer is a page for people.
"""

from datetime import date
from html import escape

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.messages import HTML_TYPE, Reply, Request, json_reply
from collection_pipeline.simulator.posting_facts import PostingFacts
from collection_pipeline.simulator.posting_prose import html_list, intro, plain_list
from collection_pipeline.simulator.questions import Page, Question, whole_number
from collection_pipeline.simulator.run_days import kst_moment, unix_ms
from collection_pipeline.simulator.vocabulary import BENEFITS, REQUIREMENTS, TASKS

PREFIX = "/v0/postings/"
DEFAULT_LIMIT = MAX_LIMIT = 100
EU_LISTENER = "lever_eu"
NOT_FOUND = {"ok": False, "error": "Document not found"}
COMMITMENTS = {"regular": "Permanent", "contract": "Contract", "intern": "Intern"}


class Lever:
    """The wire form of Lever's public postings."""

    platform = "lever"
    id_name = "id"
    title_path: tuple[str, ...] = ("text",)
    envelope_name = "postings"

    def ask(self, request: Request) -> Question | None:
        site, _, item = request.path.removeprefix(PREFIX).partition("/")
        if not request.path.startswith(PREFIX) or not site or "/" in item:
            return None
        given = dict(request.pairs)
        skip = whole_number(given.get("skip"), 0)
        limit = whole_number(given.get("limit"), DEFAULT_LIMIT)
        size = min(limit or DEFAULT_LIMIT, MAX_LIMIT)
        refusal = None
        if given.get("mode") != "json" and "json" not in request.header("accept"):
            refusal = Reply(200, b"<!DOCTYPE html><title>Jobs</title>", HTML_TYPE)
        elif skip is None or limit is None:
            refusal = json_reply({"ok": False, "error": {}}, 400)
        return Question(
            platform="lever",
            kind="detail" if item else "list",
            form=f"json:{site}",
            request=request,
            keys=(site,),
            offset=skip or 0,
            limit=size,
            page_index=(skip or 0) // size,
            item_id=item or None,
            refusal=refusal,
        )

    def row(self, form: str, facts: PostingFacts, first: date) -> Row:
        return lever_posting(facts, first, form.partition(":")[2])

    def envelope(self, page: Page) -> object:
        return page.rows

    def detail(self, question: Question, facts: PostingFacts, first: date) -> object:
        return self.row(question.form, facts, first)

    def gone(self, _question: Question, _facts: PostingFacts | None, _first: date) -> Reply:
        return json_reply(NOT_FOUND, 404)

    def unknown_key(self, _question: Question) -> Reply | None:
        return json_reply(NOT_FOUND, 404)


def lever_posting(facts: PostingFacts, first: date, site: str) -> Row:
    """One posting; any category but the location may be absent."""
    city = f"{facts.district.name}, {facts.district.city}"
    categories: dict[str, object] = {
        "commitment": COMMITMENTS[facts.employment],
        "department": "Engineering",
        "location": city,
        "team": facts.role[1],
        "allLocations": [city, "Remote"] if facts.remote else [city],
    }
    for position, name in enumerate(("commitment", "department", "team")):
        if facts.one_in(9, position):
            del categories[name]
    words = intro(facts)
    markup = "".join(f"<div>{escape(line)}</div>" for line in words.split("\n"))
    page = f"https://jobs.lever.co/{site}/{facts.posting_id}"
    posting: Row = {
        "additionalPlain": plain_list(BENEFITS, facts.dice),
        "additional": f"<div>{html_list(BENEFITS, facts.dice)}</div>",
        "categories": categories,
        "createdAt": unix_ms(kst_moment(first, facts.posted_minutes)),
        "descriptionPlain": words,
        "description": markup,
        "id": facts.posting_id,
        "lists": [
            {"text": "주요업무", "content": html_list(TASKS, facts.dice)},
            {"text": "자격요건", "content": html_list(REQUIREMENTS, facts.dice)},
        ],
        "text": facts.title if facts.one_in(2, 4) else facts.english_title,
        "country": None if facts.one_in(8, 5) else "KR",
        "workplaceType": "remote" if facts.remote else ("hybrid", "onsite")[facts.dice % 2],
        "opening": "",
        "openingPlain": "",
        "descriptionBody": markup,
        "descriptionBodyPlain": words,
        "hostedUrl": page,
        "applyUrl": f"{page}/apply",
    }
    if facts.one_in(4, 6):
        span = {"currency": "KRW", "interval": "per-year-salary"}
        posting["salaryRange"] = span | {"min": 50_000_000, "max": 80_000_000}
    return posting

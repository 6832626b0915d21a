"""Wanted's paths: v4 and chaos lists (offset/limit, relative next link) and both details.

There is no total; the end is `links.next` null. Past the end the chaos list answers an empty page
with a null link. `limit` is 20 by default and 100 at most.
"""

from datetime import date
from urllib.parse import urlencode

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.messages import Reply, Request, json_reply
from collection_pipeline.simulator.posting_facts import PostingFacts
from collection_pipeline.simulator.questions import Page, Question, whole_number
from collection_pipeline.simulator.scenario import WHOLE_BOARD
from collection_pipeline.simulator.wanted_rows import chaos_detail, chaos_row, v4_detail, v4_row

V4_LIST = "/api/v4/jobs"
CHAOS_LIST = "/api/chaos/navigation/v1/results"
CHAOS_DETAIL = "/api/chaos/jobs/v4/"
DEFAULT_LIMIT = 20
MAX_LIMIT = 100
NO_GROUP = "-1"
KEPT_PARAMETERS = (
    "country",
    "tag_type_ids",
    "tag_type_id",
    "job_group_id",
    "job_ids",
    "job_sort",
    "years",
    "locations",
    "employment_types",
    "query",
    "keyword",
)


class Wanted:
    """The wire form of Wanted."""

    platform = "wanted"
    id_name = "id"
    title_path: tuple[str, ...] = ("position",)
    envelope_name = "data"

    def __init__(self, over_limit: str) -> None:
        self._over_limit = over_limit

    def ask(self, request: Request) -> Question | None:
        path = request.path
        if path == V4_LIST:
            return self._list(request, "v4", ("tag_type_ids", "tag_type_id"))
        if path == CHAOS_LIST:
            return self._list(request, "chaos", ("job_ids", "job_group_id"))
        if path.startswith(V4_LIST + "/"):
            return _detail(request, "v4", path.removeprefix(V4_LIST + "/"))
        if path.startswith(CHAOS_DETAIL) and path.endswith("/details"):
            item = path.removeprefix(CHAOS_DETAIL).removesuffix("/details")
            return _detail(request, "chaos", item)
        return None

    def row(self, form: str, facts: PostingFacts, first: date) -> Row:
        return v4_row(facts, first, closed=False) if form == "v4" else chaos_row(facts)

    def envelope(self, page: Page) -> object:
        question = page.question
        ahead = page.next_link
        if ahead is None and page.has_next:
            ahead = link(question, question.offset + question.limit)
        before = None
        if question.offset > 0:
            before = link(question, max(0, question.offset - question.limit))
        links = {"prev": before, "next": ahead}
        if question.form == "chaos":
            return {"data": page.rows, "links": links if page.rows or ahead else {"next": None}}
        return {
            "model_status": None,
            "is_callable_external_job": True,
            "data_model": None,
            "is_score": True,
            "links": links,
            "data": page.rows,
        }

    def detail(self, question: Question, facts: PostingFacts, first: date) -> object:
        shape = v4_detail if question.form == "v4" else chaos_detail
        return shape(facts, first, "active")

    def gone(self, question: Question, facts: PostingFacts | None, first: date) -> Reply:
        """404, or for some postings 200 with a status that is not active."""
        if facts is None or facts.one_in(2):
            return json_reply({"error_code": 404, "message": "Not Found"}, 404)
        return ended(question, facts, first, "draft" if facts.one_in(6, 2) else "close")

    def unknown_key(self, _question: Question) -> Reply | None:
        return None

    def _list(self, request: Request, form: str, names: tuple[str, str]) -> Question:
        pairs = request.pairs
        given = dict(pairs)
        limit = whole_number(given.get("limit"), DEFAULT_LIMIT)
        offset = whole_number(given.get("offset"), 0)
        comma = "," in given.get("job_ids", "")
        keys = [
            key
            for name in names
            if (key := ",".join(value for place, value in pairs if place == name))
        ]
        question_keys = tuple(key for key in keys if key != NO_GROUP) or (WHOLE_BOARD,)
        refused = limit is None or limit == 0 or offset is None or comma
        refused = refused or ((limit or 0) > MAX_LIMIT and self._over_limit == "reject")
        refusal = None
        if refused:
            refusal = json_reply({"error_code": 400, "message": "Invalid parameter"}, 400)
        size = min(limit or DEFAULT_LIMIT, MAX_LIMIT)
        start = offset or 0
        return Question(
            "wanted", "list", form, request, question_keys, start, size, start // size,
            refusal=refusal,
        )  # fmt: skip


def link(question: Question, offset: int) -> str:
    """The relative link to the page at `offset`, the search condition kept."""
    kept = [pair for pair in question.request.pairs if pair[0] in KEPT_PARAMETERS]
    kept += [("limit", str(question.limit)), ("offset", str(offset))]
    return f"{question.request.path}?{urlencode(kept)}"


def ended(question: Question, facts: PostingFacts, first: date, status: str) -> Reply:
    """A detail with 200 whose status says that the posting is over."""
    shape = v4_detail if question.form == "v4" else chaos_detail
    return json_reply(shape(facts, first, status))


def _detail(request: Request, form: str, item: str) -> Question | None:
    if not item.isdigit():
        return None
    return Question("wanted", "detail", form, request, item_id=item)

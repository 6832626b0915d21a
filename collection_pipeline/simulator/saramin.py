"""Saramin's one path: the keyed job search, as JSON or XML.

`start` is a page number from 0 and `count` at most 110; `total` is a string; one row comes as an
object instead of a list. A missing or wrong key is an error body with HTTP 200.
"""

from datetime import date

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.messages import XML_TYPE, Reply, Request, json_reply
from collection_pipeline.simulator.posting_facts import PostingFacts
from collection_pipeline.simulator.questions import Page, Question, whole_number
from collection_pipeline.simulator.saramin_rows import saramin_row
from collection_pipeline.simulator.saramin_xml import error_xml, jobs_xml
from collection_pipeline.simulator.scenario import WHOLE_BOARD

SEARCH = "/job-search"
DEFAULT_COUNT = 10
MAX_COUNT = 110
NO_KEY, WRONG_KEY, BAD_PARAMETER, DAILY_LIMIT = 1, 2, 3, 4
MESSAGES = {
    NO_KEY: "access-key 가 존재하지 않습니다.",
    WRONG_KEY: "유효하지 않은 access-key 입니다.",
    BAD_PARAMETER: "유효하지 않은 요청 변수입니다.",
    DAILY_LIMIT: "일일 요청 한도를 초과했습니다.",
    99: "알 수 없는 오류입니다.",
}
KEY_PARAMETERS = ("keywords", "job_cd", "job_mid_cd", "ind_cd", "loc_cd", "loc_mcd", "loc_bcd")


class Saramin:
    """The wire form of the Saramin Open API."""

    platform = "saramin"
    id_name = "id"
    title_path: tuple[str, ...] = ("position", "title")
    envelope_name = "jobs"

    def __init__(self, access_key: str) -> None:
        self._access_key = access_key

    def ask(self, request: Request) -> Question | None:
        if request.path != SEARCH:
            return None
        given = dict(request.pairs)
        start = whole_number(given.get("start"), 0)
        count = whole_number(given.get("count"), DEFAULT_COUNT)
        size = min(count or DEFAULT_COUNT, MAX_COUNT)
        form = "json" if "json" in request.header("accept").lower() else "xml"
        keys = tuple(given[name] for name in KEY_PARAMETERS if given.get(name))
        item = given.get("id") or None
        return Question(
            platform="saramin",
            kind="detail" if item else "list",
            form=f"{form}:{given.get('fields', '')}",
            request=request,
            keys=keys or (WHOLE_BOARD,),
            offset=(start or 0) * size,
            limit=size,
            page_index=start or 0,
            item_id=item,
            refusal=self._refusal(form, given, start is None or count is None),
            key_ok=given.get("access-key") == self._access_key,
        )

    def row(self, form: str, facts: PostingFacts, first: date) -> Row:
        fields = frozenset(form.partition(":")[2].split(","))
        return saramin_row(facts, first, fields)

    def envelope(self, page: Page) -> object:
        start = page.question.page_index
        if page.question.form.startswith("xml"):
            return jobs_xml(page.rows, start, page.total)
        job: object = page.rows[0] if len(page.rows) == 1 else page.rows
        jobs = {"count": len(page.rows), "start": start, "total": str(page.total), "job": job}
        return {"jobs": jobs}

    def detail(self, question: Question, facts: PostingFacts, first: date) -> object:
        """The same search with `id=`: one row, no job description exists."""
        row = self.row(question.form, facts, first)
        return self.envelope(Page(question, [row], [facts.posting_id], 1, False))

    def gone(self, question: Question, _facts: PostingFacts | None, _first: date) -> Reply:
        body = self.envelope(Page(question, [], [], 0, False))
        return Reply(200, body, XML_TYPE) if isinstance(body, bytes) else json_reply(body)

    def unknown_key(self, _question: Question) -> Reply | None:
        return None

    def _refusal(self, form: str, given: dict[str, str], bad_number: bool) -> Reply | None:
        if not given.get("access-key"):
            return error_reply(form, NO_KEY)
        if given["access-key"] != self._access_key:
            return error_reply(form, WRONG_KEY)
        return error_reply(form, BAD_PARAMETER) if bad_number else None


def error_reply(form: str, code: int, status: int = 200) -> Reply:
    """Saramin's flat error body in the form that was asked for."""
    message = MESSAGES.get(code, MESSAGES[99])
    if form == "xml":
        return Reply(status, error_xml(code, message), XML_TYPE)
    return json_reply({"code": code, "message": message}, status)

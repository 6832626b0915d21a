"""Jumpit's paths: 16 positions a page, page 1-based, and the singular detail path.

Past the end the answer is an empty page with a total of 0. A missing position is HTTP 400 with
code C003. A keyword with a blank in it is dropped without a word.
"""

from datetime import date

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.jumpit_rows import jumpit_detail, jumpit_row
from collection_pipeline.simulator.messages import Reply, Request, json_reply
from collection_pipeline.simulator.posting_facts import PostingFacts
from collection_pipeline.simulator.questions import Page, Question, whole_number
from collection_pipeline.simulator.scenario import WHOLE_BOARD

LIST = "/api/positions"
DETAIL = "/api/position/"
PAGE_SIZE = 16


class Jumpit:
    """The wire form of Jumpit."""

    platform = "jumpit"
    id_name = "id"
    title_path: tuple[str, ...] = ("title",)
    envelope_name = "result"

    def ask(self, request: Request) -> Question | None:
        if request.path == LIST:
            return _list(request)
        item = request.path.removeprefix(DETAIL)
        if request.path.startswith(DETAIL) and item:
            return Question("jumpit", "detail", "json", request, item_id=item)
        return None

    def row(self, form: str, facts: PostingFacts, first: date) -> Row:
        return jumpit_row(facts, first, form.partition(":")[2])

    def envelope(self, page: Page) -> object:
        keyword = page.question.form.partition(":")[2]
        return {
            "message": "포지션 리스트가 조회되었습니다.",
            "status": 200,
            "code": "P004",
            "result": {
                "totalCount": page.total if page.rows or page.has_next else 0,
                "page": page.question.page_index + 1,
                "keyword": keyword,
                "keywordType": "etc",
                "emptyPosition": False,
                "positions": page.rows,
            },
        }

    def detail(self, _question: Question, facts: PostingFacts, first: date) -> object:
        return {
            "message": "조회에 성공하셨습니다.",
            "status": 200,
            "code": "C001",
            "result": jumpit_detail(facts, first),
        }

    def gone(self, _question: Question, _facts: PostingFacts | None, _first: date) -> Reply:
        body = {"message": "Entity Not Found", "status": 400, "code": "C003", "errors": []}
        return json_reply(body, 400)

    def unknown_key(self, _question: Question) -> Reply | None:
        return None


def _list(request: Request) -> Question:
    pairs = request.pairs
    given = dict(pairs)
    keyword = given.get("keyword", "").strip()
    if " " in keyword:
        keyword = ""
    categories = ",".join(value for name, value in pairs if name == "jobCategory")
    page = whole_number(given.get("page"), 1)
    refusal = None
    if page is None:
        body = {"message": "Invalid Type Value", "status": 400, "code": "C005", "errors": []}
        refusal = json_reply(body, 400)
    index = max(0, (page or 1) - 1)
    return Question(
        platform="jumpit",
        kind="list",
        form=f"json:{keyword}",
        request=request,
        keys=tuple(key for key in (keyword, categories) if key) or (WHOLE_BOARD,),
        offset=index * PAGE_SIZE,
        limit=PAGE_SIZE,
        page_index=index,
        refusal=refusal,
    )

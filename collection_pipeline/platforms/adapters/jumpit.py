"""Jumpit: pages of 16 counted from 1, and an empty page as the end.

The end is the documented sign, an empty page that states a total of 0; a page may be short before
it. An empty page that still states rows beyond it is not the platform's answer. A missing posting
is HTTP 400 with code C003. Facts: platforms.md section 3.
"""

from urllib.parse import quote

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.conditions import MOST_VALUES, KeyRule, check_condition
from collection_pipeline.platforms.adapters.jumpit_rows import read_jumpit_detail, read_jumpit_row
from collection_pipeline.platforms.adapters.parsing import (
    JsonObject,
    as_object,
    as_rows,
    at_most,
    position_number,
    read_object,
    required_count,
    whole_number,
)
from collection_pipeline.platforms.contract import (
    BadResponse,
    ListPage,
    PlatformReply,
    PlatformRequest,
    Position,
    RequestFailed,
    RequestPolicy,
)

PAGE_ROWS = 16
LIST_PATH = "/api/positions"
LIST_CODE = "P004"
DETAIL_CODE = "C001"
GONE_CODE = "C003"
RULES = {
    "jobCategory": KeyRule(r"[0-9]{1,4}", "jobCategory=1", MOST_VALUES),
    "keyword": KeyRule(
        r"\S+",
        "one word, such as keyword=백엔드, or one source for each word",
        because="has a space, for which the platform drops the filter",
    ),
    "career": KeyRule(r"[0-9]{1,2}", "career=3 (0 for newcomers)"),
}
HINTS = {
    "size": "size is ignored, pages always have 16 rows; leave it out",
    "sort": "sort is always newest first; leave it out",
}


class JumpitAdapter:
    """``PlatformAdapter`` of Jumpit. Its page size cannot be chosen."""

    platform = Platform.JUMPIT
    policy = RequestPolicy(path_pattern=r"/api/positions|/api/position/[^/?#]+")
    has_details = True
    whole_board = False
    total_tolerance = 0.10

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def check(self, condition: Condition) -> None:
        """Known keys; a keyword with a space is refused, the platform drops it (R23b)."""
        check_condition(Platform.JUMPIT, condition, RULES, HINTS)

    def base_url(self, condition: Condition) -> str:  # noqa: ARG002 - the contract's signature
        """One host."""
        return self._base_url

    def first_position(self, condition: Condition, page_rows: int) -> Position:  # noqa: ARG002
        """Page 1."""
        return {"page": 1}

    def page_rows(self, position: Position) -> int:  # noqa: ARG002 - the same for every page
        """Always 16."""
        return PAGE_ROWS

    def rows_before(self, position: Position) -> int | None:
        """Full pages before this one; short ones make it an upper bound."""
        return (max(1, position_number(position, "page")) - 1) * PAGE_ROWS

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """One page, newest first."""
        return PlatformRequest(
            self._base_url,
            LIST_PATH,
            params=(
                ("sort", "reg_dt"),
                *((key, value) for key in RULES for value in condition.get(key, [])),
                ("page", str(position_number(position, "page"))),
            ),
            headers={"Accept": "application/json"},
        )

    def read_page(
        self,
        condition: Condition,  # noqa: ARG002 - the position says everything
        position: Position,
        reply: PlatformReply,
    ) -> ListPage:
        """The page's rows and the next page, until a page is empty."""
        result = _result_of(read_object(reply), LIST_CODE)
        rows = as_rows(result.get("positions"), "result.positions")
        at_most(rows, PAGE_ROWS)
        total = required_count(result, "totalCount")
        before = self.rows_before(position) or 0
        if not rows and before < total:
            raise BadResponse("the page is empty, although its total says that rows are left")
        if len(rows) > total:
            raise BadResponse("the page brings more rows than its own total")
        if not rows:
            return ListPage([], None)
        return ListPage(
            [read_jumpit_row(row) for row in rows],
            {"page": position_number(position, "page") + 1},
            stated_total=total,
            reaches_total=before + PAGE_ROWS >= total,
        )

    def detail_request(
        self,
        condition: Condition,  # noqa: ARG002 - the contract's signature
        source_job_id: str,
    ) -> PlatformRequest:
        """The singular path; 400 is read here, it may mean gone."""
        return PlatformRequest(
            self._base_url,
            f"/api/position/{quote(source_job_id, safe='')}",
            headers={"Accept": "application/json"},
            accepted_statuses=frozenset({200, 400}),
        )

    def read_detail(
        self,
        condition: Condition,  # noqa: ARG002 - the contract's signature
        source_job_id: str,
        reply: PlatformReply,
    ) -> PostingDetail | GonePosting:
        """Texts and times, or gone: code C003."""
        if reply.status == 400:
            return _gone_or_refused(reply)
        body = read_object(reply)
        if body.get("code") == GONE_CODE:
            return GonePosting()
        return read_jumpit_detail(source_job_id, body, _result_of(body, DETAIL_CODE))


def _result_of(body: JsonObject, code: str) -> JsonObject:
    """``result`` of an envelope that says success; HTTP 200 alone does not."""
    if whole_number(body.get("status")) != 200 or body.get("code") != code:
        raise BadResponse(f"the envelope does not say success (status 200, code {code})")
    return as_object(body.get("result"), "result")


def _gone_or_refused(reply: PlatformReply) -> GonePosting:
    """400 is also the answer to bad requests, so the code decides."""
    try:
        code = read_object(reply).get("code")
    except BadResponse:
        code = None
    if code == GONE_CODE:
        return GonePosting()
    raise RequestFailed(CollectionFailureReason.HTTP_4XX, "HTTP 400", status=400)

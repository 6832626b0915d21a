"""Saramin's open API: pages counted from 0, up to 110 rows, and a total that says where the end is.

Invariants: the access key travels only as a secret parameter, and no text of an error body is
passed on, since it may repeat the key (R29); an error body with HTTP 200 is never an empty list
(R10). Facts: platforms.md section 2.
"""

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.conditions import MOST_VALUES, KeyRule, check_condition
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
from collection_pipeline.platforms.adapters.saramin_rows import read_saramin_row
from collection_pipeline.platforms.contract import (
    BadResponse,
    InvalidCondition,
    ListPage,
    MissingCredential,
    PlatformReply,
    PlatformRequest,
    Position,
    RequestFailed,
    RequestPolicy,
)

PAGE_ROWS = 110
PATH = "/job-search"
_CODES = r"[0-9]{1,9}(,[0-9]{1,9})*"
RULES = {
    "keywords": KeyRule(r"\S(.*\S)?", "keywords='백엔드 파이썬'", MOST_VALUES),
    "loc_cd": KeyRule(_CODES, "loc_cd=101000", MOST_VALUES),
    "job_mid_cd": KeyRule(_CODES, "job_mid_cd=2", MOST_VALUES),
    "job_cd": KeyRule(_CODES, "job_cd=84", MOST_VALUES),
}
_MEANINGS = {
    1: (CollectionFailureReason.CONFIG, "no access key arrived"),
    2: (CollectionFailureReason.CONFIG, "the access key is not valid"),
    3: (CollectionFailureReason.CONFIG, "a parameter is not valid"),
    4: (CollectionFailureReason.QUOTA, "the day's calls of this key are used up"),
}


class SaraminAdapter:
    """``PlatformAdapter`` of Saramin. Its list carries everything that the API tells."""

    platform = Platform.SARAMIN
    policy = RequestPolicy(path_pattern=r"/job-search", page_size_params={"count": PAGE_ROWS})
    has_details = False
    whole_board = False
    total_tolerance = 0.01

    def __init__(self, base_url: str, access_key: str | None) -> None:
        self._base_url = base_url
        self._access_key = access_key

    def check(self, condition: Condition) -> None:
        """At least one known filter, and the key configured."""
        check_condition(Platform.SARAMIN, condition, RULES)
        if not condition:
            raise InvalidCondition(
                "saramin: a condition needs a filter; write one of: " + ", ".join(sorted(RULES))
            )
        if not self._access_key:
            raise MissingCredential("saramin needs COLLECTION_SARAMIN_ACCESS_KEY (or ..._FILE)")

    def base_url(self, condition: Condition) -> str:  # noqa: ARG002 - the contract's signature
        """One host."""
        return self._base_url

    def first_position(self, condition: Condition, page_rows: int) -> Position:  # noqa: ARG002
        """Page 0; the size stays as it is for the whole cycle, or pages would not meet."""
        return {"start": 0, "count": max(1, min(PAGE_ROWS, page_rows))}

    def page_rows(self, position: Position) -> int:
        """The page's count."""
        return position_number(position, "count")

    def rows_before(self, position: Position) -> int | None:
        """``start`` counts pages, not rows."""
        return position_number(position, "start") * position_number(position, "count")

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """One page, newest first; without Accept the answer may be XML."""
        if not self._access_key:
            raise MissingCredential("saramin needs COLLECTION_SARAMIN_ACCESS_KEY (or ..._FILE)")
        filters = [
            (key, (" " if key == "keywords" else ",").join(condition[key]))
            for key in RULES
            if key in condition
        ]
        return PlatformRequest(
            self._base_url,
            PATH,
            params=(
                *filters,
                ("sort", "pd"),
                ("start", str(position_number(position, "start"))),
                ("count", str(position_number(position, "count"))),
            ),
            secret_params=(("access-key", self._access_key),),
            headers={"Accept": "application/json"},
            # Error bodies come with 200 in most reports, with 400 or 401 in some.
            accepted_statuses=frozenset({200, 400, 401}),
        )

    def read_page(
        self,
        condition: Condition,  # noqa: ARG002 - the position says everything
        position: Position,
        reply: PlatformReply,
    ) -> ListPage:
        """The page's rows; the end is where ``start`` times ``count`` reaches the total."""
        if reply.status != 200:
            raise _refusal_of(reply)
        body = read_object(reply)
        _raise_stated_error(body)
        jobs = as_object(body.get("jobs"), "jobs")
        total = required_count(jobs, "total")
        rows = _rows_in(jobs)
        before, size = self.rows_before(position) or 0, self.page_rows(position)
        at_most(rows, size)
        if rows and before + len(rows) > total:
            raise BadResponse("the page brings more rows than its own total")
        if not rows and before < total:
            raise BadResponse("the page is empty, although its total says that rows are left")
        following: Position = {"start": position_number(position, "start") + 1, "count": size}
        return ListPage(
            [read_saramin_row(row) for row in rows],
            following if rows and before + size < total else None,
            stated_total=total if rows else None,
        )

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """There is no detail with a text in this API."""
        raise NotImplementedError("saramin has no details")

    def read_detail(
        self, condition: Condition, source_job_id: str, reply: PlatformReply
    ) -> PostingDetail | GonePosting:
        """There is no detail with a text in this API."""
        raise NotImplementedError("saramin has no details")


def _rows_in(jobs: JsonObject) -> list[JsonObject]:
    """``job`` is a list, one object when there is one result, and may be missing for none."""
    job = jobs.get("job")
    if job is None or job == "":
        return []
    return [job] if isinstance(job, dict) else as_rows(job, "jobs.job")


def _refusal_of(reply: PlatformReply) -> RequestFailed:
    try:
        _raise_stated_error(read_object(reply))
    except BadResponse:
        pass
    except RequestFailed as stated:
        return stated
    return RequestFailed(
        CollectionFailureReason.HTTP_4XX, f"HTTP {reply.status}", status=reply.status
    )


def _raise_stated_error(body: JsonObject) -> None:
    """Raise what the body states in any of the carriers that clients have met."""
    jobs = body.get("jobs")
    carriers = [body.get("error"), body.get("result")]
    carriers.append(jobs.get("error") if isinstance(jobs, dict) else body)
    stated = [carrier for carrier in carriers if isinstance(carrier, dict) and "code" in carrier]
    if not stated:
        return
    code = whole_number(stated[0]["code"])
    if code in _MEANINGS:
        reason, meaning = _MEANINGS[code]
        raise RequestFailed(reason, f"saramin code {code}: {meaning}")
    raise BadResponse(
        "saramin answers with an error body"
        + ("" if code is None or abs(code) > 9_999 else f", code {code}")
    )

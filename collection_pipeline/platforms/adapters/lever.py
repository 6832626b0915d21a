"""Lever: a bare array of postings with their texts, by skip and limit; a short page is the end.

An object where the array should be is Lever's error body (``{"ok": false}``), whatever the HTTP
status says. Tenants in Europe answer on a host of their own. Facts: platforms.md section 4.2.
"""

from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.conditions import KeyRule, check_condition
from collection_pipeline.platforms.adapters.lever_rows import read_lever_row
from collection_pipeline.platforms.adapters.parsing import (
    as_rows,
    at_most,
    position_number,
    read_json,
)
from collection_pipeline.platforms.contract import (
    BadResponse,
    InvalidCondition,
    ListPage,
    PlatformReply,
    PlatformRequest,
    Position,
    RequestPolicy,
)

PAGE_ROWS = 100
RULES = {
    "site": KeyRule(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", "site=spotify (as in its address)"),
    "region": KeyRule(r"eu", "region=eu, or leave it out"),
}


class LeverAdapter:
    """``PlatformAdapter`` of Lever's postings API."""

    platform = Platform.LEVER
    policy = RequestPolicy(
        path_pattern=r"/v0/postings/[A-Za-z0-9_-][A-Za-z0-9._-]*",
        page_size_params={"limit": PAGE_ROWS},
    )
    has_details = False
    whole_board = False
    total_tolerance = 0.01

    def __init__(self, base_url: str, eu_base_url: str) -> None:
        self._base_url = base_url
        self._eu_base_url = eu_base_url

    def check(self, condition: Condition) -> None:
        """Exactly one site, and perhaps its region."""
        check_condition(Platform.LEVER, condition, RULES)
        if "site" not in condition:
            raise InvalidCondition(f"lever: no site; write {RULES['site'].example}")

    def base_url(self, condition: Condition) -> str:
        """The European host answers 404 for others, and the other way round."""
        return self._eu_base_url if condition.get("region") == ["eu"] else self._base_url

    def first_position(self, condition: Condition, page_rows: int) -> Position:  # noqa: ARG002
        """From the first posting; the size stays as it is for the whole cycle."""
        return {"skip": 0, "limit": max(1, min(PAGE_ROWS, page_rows))}

    def page_rows(self, position: Position) -> int:
        """The page's limit."""
        return position_number(position, "limit")

    def rows_before(self, position: Position) -> int | None:
        """The page's skip."""
        return position_number(position, "skip")

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """One page; without ``mode=json`` the answer is HTML."""
        return PlatformRequest(
            self.base_url(condition),
            f"/v0/postings/{condition['site'][0]}",
            params=(
                ("mode", "json"),
                ("skip", str(position_number(position, "skip"))),
                ("limit", str(position_number(position, "limit"))),
            ),
            headers={"Accept": "application/json"},
        )

    def read_page(
        self,
        condition: Condition,  # noqa: ARG002 - the position says everything
        position: Position,
        reply: PlatformReply,
    ) -> ListPage:
        """The page's rows; a full page has another behind it."""
        body = read_json(reply)
        if isinstance(body, dict):
            raise BadResponse("lever answers with an object instead of its postings")
        rows = as_rows(body, "the body")
        limit = self.page_rows(position)
        at_most(rows, limit)
        following: Position = {"skip": position_number(position, "skip") + limit, "limit": limit}
        return ListPage(
            [read_lever_row(row) for row in rows], following if len(rows) == limit else None
        )

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """The list carries the texts already."""
        raise NotImplementedError("lever needs no details")

    def read_detail(
        self, condition: Condition, source_job_id: str, reply: PlatformReply
    ) -> PostingDetail | GonePosting:
        """The list carries the texts already."""
        raise NotImplementedError("lever needs no details")

"""Wanted's two lists, read newest first by offset along the platform's own next link.

Invariant (R23, R28): a position holds the whole query of its page, the link's keys laid over ours,
so a link that drops a filter cannot widen the search, and its size never exceeds the first page's.
Facts: platforms.md section 1.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from collection_pipeline.domain.cursor import Cursor, CursorTooLong
from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.links import (
    Query,
    RefusedLink,
    merged_query,
    query_of_link,
)
from collection_pipeline.platforms.adapters.parsing import (
    JsonObject,
    as_object,
    as_rows,
    at_most,
    read_object,
)
from collection_pipeline.platforms.adapters.wanted_conditions import (
    WantedForm,
    check_wanted,
    form_of,
)
from collection_pipeline.platforms.adapters.wanted_detail import read_wanted_detail
from collection_pipeline.platforms.adapters.wanted_rows import is_closed, read_wanted_row
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
HIGHEST_OFFSET = 999_999_999
HEADERS: Mapping[str, str] = {
    "Accept": "application/json",
    # Without these some fields come back in English (platforms.md section 1E).
    "wanted-user-country": "KR",
    "wanted-user-language": "ko",
}
_NUMBER = re.compile(r"[0-9]{1,9}")


class WantedAdapter:
    """``PlatformAdapter`` of Wanted; ``form`` of the condition says which list is read."""

    platform = Platform.WANTED
    policy = RequestPolicy(
        path_pattern=(
            r"/api/v4/jobs(/[^/?#]+)?"
            r"|/api/chaos/navigation/v1/results"
            r"|/api/chaos/jobs/v4/[^/?#]+/details"
        ),
        page_size_params={"limit": PAGE_ROWS},
    )
    has_details = True
    whole_board = False
    total_tolerance = 0.01

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def check(self, condition: Condition) -> None:
        """Raise ``InvalidCondition`` unless the form knows every key and a cursor can hold them."""
        check_wanted(condition)
        farthest = self._position(condition, form_of(condition), PAGE_ROWS, HIGHEST_OFFSET)
        try:
            Cursor(farthest).encoded()
        except CursorTooLong:
            raise InvalidCondition(
                "wanted: the condition is too long for a cursor; write fewer values, or split it "
                "over several sources"
            ) from None

    def base_url(self, condition: Condition) -> str:  # noqa: ARG002 - the contract's signature
        """One host for both forms."""
        return self._base_url

    def first_position(self, condition: Condition, page_rows: int) -> Position:
        """Offset 0 with pages of at most ``page_rows`` and 100 rows."""
        size = max(1, min(PAGE_ROWS, page_rows))
        return self._position(condition, form_of(condition), size, 0)

    def page_rows(self, position: Position) -> int:
        """The page's limit."""
        return _number_in(_query_of(position), "limit")

    def rows_before(self, position: Position) -> int | None:
        """The page's offset."""
        return _number_in(_query_of(position), "offset")

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """The page of ``position``; a position of the other form is a changed condition."""
        form = form_of(condition)
        if position.get("form") != form.name:
            raise InvalidCondition(
                f"wanted: the stored position is not one of form {form.name}; the condition was "
                "changed within the cycle, the next run date starts again at the first page"
            )
        return PlatformRequest(
            self._base_url, form.list_path, params=_query_of(position), headers=HEADERS
        )

    def read_page(self, condition: Condition, position: Position, reply: PlatformReply) -> ListPage:
        """Rows that are open, and where the next link leads; an empty page may have one."""
        body = read_object(reply)
        rows = as_rows(body.get("data"), "data")
        at_most(rows, self.page_rows(position))
        listed = [read_wanted_row(row) for row in rows if not is_closed(row)]
        link = _next_link(body, is_full=len(rows) >= self.page_rows(position))
        if link is None:
            return ListPage(listed, None)
        following = self._follow(form_of(condition), position, link)
        if isinstance(following, RefusedLink):
            return ListPage(listed, None, refused_link=following.reason)
        return ListPage(listed, following)

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """The detail that belongs to the form; 404 is read here, it means gone."""
        path = form_of(condition).detail_path.format(id=quote(source_job_id, safe=""))
        return PlatformRequest(
            self._base_url, path, headers=HEADERS, accepted_statuses=frozenset({200, 404})
        )

    def read_detail(
        self,
        condition: Condition,  # noqa: ARG002 - every nesting is accepted from either form
        source_job_id: str,
        reply: PlatformReply,
    ) -> PostingDetail | GonePosting:
        """Texts, skills and deadline, or gone: 404, or a status that says closed."""
        if reply.status == 404:
            return GonePosting()
        return read_wanted_detail(source_job_id, read_object(reply))

    def _position(self, condition: Condition, form: WantedForm, size: int, offset: int) -> Position:
        params = [
            ("country", "kr"),
            *((key, value) for key in form.filters for value in condition.get(key, [])),
            *(("years", value) for value in condition.get("years", ["-1"])),
            *(("locations", value) for value in condition.get("locations", ["all"])),
            ("job_sort", "job.latest_order"),
            ("limit", str(size)),
            ("offset", str(offset)),
        ]
        return {"form": form.name, "query": urlencode(params)}

    def _follow(self, form: WantedForm, position: Position, link: str) -> Position | RefusedLink:
        target = query_of_link(link, self._base_url, form.list_path)
        if isinstance(target, RefusedLink):
            return target
        own = _query_of(position)
        merged = merged_query(own, target)
        sizes = [value for key, value in merged if key == "limit"]
        offsets = [value for key, value in merged if key == "offset"]
        if not all(len(found) == 1 and _NUMBER.fullmatch(found[0]) for found in (sizes, offsets)):
            return RefusedLink("the next link has no single limit and offset")
        if not 1 <= int(sizes[0]) <= _number_in(own, "limit"):
            return RefusedLink("the next link asks for pages of another size than allowed")
        if int(offsets[0]) > _number_in(own, "offset") + _number_in(own, "limit"):
            return RefusedLink("the next link skips rows")
        if any(_values(own, key) not in ([], _values(merged, key)) for key in form.filters):
            return RefusedLink("the next link changes the search condition")
        following: Position = {"form": form.name, "query": urlencode(merged)}
        try:
            Cursor(following).encoded()
        except CursorTooLong:
            return RefusedLink("the next link is too long for a cursor")
        return following


def _next_link(body: JsonObject, *, is_full: bool) -> str | None:
    """``links.next``; null is the end. Left out, it is the end only behind a page that is not full.

    A full page without the key is more likely a lost key than a list that ends there, and taking
    it for the end would close postings.
    """
    links = as_object(body.get("links"), "links")
    if "next" not in links and is_full:
        raise BadResponse("changed envelope: links.next is missing behind a full page")
    link = links.get("next")
    if link is not None and (not isinstance(link, str) or not link.strip()):
        raise BadResponse("changed envelope: links.next is neither a link nor null")
    return link


def _values(query: Query, key: str) -> list[str]:
    return sorted(value for name, value in query if name == key)


def _query_of(position: Position) -> Query:
    return tuple(parse_qsl(str(position.get("query", "")), keep_blank_values=True))


def _number_in(query: Query, key: str) -> int:
    value = next((value for name, value in query if name == key), "")
    if not _NUMBER.fullmatch(value):
        raise InvalidCondition(
            f"wanted: the stored position has no {key}; the next run date starts again at the "
            "first page"
        )
    return int(value)

"""Greenhouse: a whole board in one response, texts included; ``meta.total`` says how many.

A board without ``meta`` could be cut without notice, so it is a changed envelope. An unknown board
is HTTP 404 and stays the executor's failure. Facts: platforms.md section 4.1.
"""

import re

from collection_pipeline.domain.posting import (
    GonePosting,
    ListedPosting,
    PostingDetail,
    PostingFields,
)
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.conditions import KeyRule, check_condition
from collection_pipeline.platforms.adapters.parsing import (
    JsonObject,
    as_object,
    as_rows,
    at_most,
    read_object,
    required_count,
    source_job_id,
)
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import RowReader, WirePaths, listed_posting
from collection_pipeline.platforms.adapters.text import (
    COMPANY_CHARS,
    DESCRIPTION_CHARS,
    LANGUAGE_CHARS,
    LOCATION_CHARS,
    cut,
    plain_text,
    unescaped,
)
from collection_pipeline.platforms.adapters.workplace import workplace_in, workplace_named
from collection_pipeline.platforms.contract import (
    BadResponse,
    InvalidCondition,
    ListPage,
    PlatformReply,
    PlatformRequest,
    Position,
    RequestPolicy,
)

SIGNATURE_VERSION = 2
SIGNED_PATHS = WirePaths(
    "title",
    "company_name",
    "absolute_url",
    "language",
    "content",
    "first_published",
    "application_deadline",
)
RULES = {"board": KeyRule(r"[A-Za-z0-9_-]{1,100}", "board=daangn (the last part of its address)")}
LEAST_ROWS = 1
MOST_ROWS = 50_000
"""Of a board, which has no pages: some ten times the largest that is known."""
_WORKPLACE_LABEL = re.compile(r"(location|workplace|work(ing)?) (type|model|mode)", re.IGNORECASE)


class GreenhouseAdapter:
    """``PlatformAdapter`` of Greenhouse's job board API."""

    platform = Platform.GREENHOUSE
    policy = RequestPolicy(path_pattern=r"/v1/boards/[A-Za-z0-9_-]+/jobs")
    has_details = False
    whole_board = True
    total_tolerance = 0.01

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def check(self, condition: Condition) -> None:
        """Exactly one board."""
        check_condition(Platform.GREENHOUSE, condition, RULES)
        if "board" not in condition:
            raise InvalidCondition(f"greenhouse: no board; write {RULES['board'].example}")

    def base_url(self, condition: Condition) -> str:  # noqa: ARG002 - the contract's signature
        """One host for every board."""
        return self._base_url

    def first_position(self, condition: Condition, page_rows: int) -> Position:  # noqa: ARG002
        """The only page."""
        return {"page": 1}

    def page_rows(self, position: Position) -> int:  # noqa: ARG002 - there is one page
        """Unknown before the answer: as long as one row fits, the board may be asked for (R20)."""
        return LEAST_ROWS

    def rows_before(self, position: Position) -> int | None:  # noqa: ARG002 - there is one page
        """None: the board begins here."""
        return 0

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:  # noqa: ARG002
        """The board with its texts."""
        return PlatformRequest(
            self._base_url,
            f"/v1/boards/{condition['board'][0]}/jobs",
            params=(("content", "true"),),
            headers={"Accept": "application/json"},
        )

    def read_page(
        self,
        condition: Condition,  # noqa: ARG002 - the contract's signature
        position: Position,  # noqa: ARG002 - the contract's signature
        reply: PlatformReply,
    ) -> ListPage:
        """The whole board; somewhat fewer rows than ``meta.total`` are judged by R23a."""
        body = read_object(reply)
        total = required_count(as_object(body.get("meta"), "meta"), "total")
        jobs = as_rows(body.get("jobs"), "jobs")
        at_most(jobs, MOST_ROWS)
        rows = [read_greenhouse_row(row) for row in jobs]
        if len(rows) > total or (total and not rows):
            raise BadResponse("changed envelope: meta.total contradicts the number of jobs")
        return ListPage(rows, None, stated_total=total)

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """The board carries the texts already."""
        raise NotImplementedError("greenhouse needs no details")

    def read_detail(
        self, condition: Condition, source_job_id: str, reply: PlatformReply
    ) -> PostingDetail | GonePosting:
        """The board carries the texts already."""
        raise NotImplementedError("greenhouse needs no details")


def read_greenhouse_row(row: JsonObject) -> ListedPosting:
    """One of ``jobs``; ``BadResponse`` without id or title."""
    reader = RowReader(row)
    job_id = source_job_id(row)
    reader.title("title")
    signed = {
        **SIGNED_PATHS.of(row),
        "departments": sorted(reader.texts("departments", ("name",))),
        "location": _location(reader),
        "workplace": _workplace(reader),
    }
    return listed_posting(row, job_id, SIGNATURE_VERSION, signed, _fields)


def _fields(reader: RowReader) -> PostingFields:
    location = _location(reader)
    return PostingFields(
        title=reader.title("title"),
        company_name=reader.text("company_name", COMPANY_CHARS),
        location_raw=location,
        region=region_of(location),
        remote=_workplace(reader) or workplace_in(location),
        categories=reader.texts("departments", ("name",)),
        url=reader.link("absolute_url"),
        language=reader.text("language", LANGUAGE_CHARS),
        description=reader.text("content", DESCRIPTION_CHARS, _content_text),
        published_at=reader.instant("first_published"),
        deadline=reader.deadline("application_deadline"),
    )


def _content_text(content: str) -> str:
    """The content is HTML with escaped entities: unescaped once it is HTML, then text."""
    return plain_text(unescaped(content))


def _location(reader: RowReader) -> str | None:
    """The location's name; one that only says how people work gets the offices' names added."""
    name = reader.text("location.name", LOCATION_CHARS)
    if name is not None and workplace_named(name) is None:
        return name
    offices = reader.texts("offices", ("name",))
    return cut(", ".join(part for part in (name, *offices) if part), LOCATION_CHARS) or None


def _workplace(reader: RowReader) -> str | None:
    """What the board's own field for it says; other values of its metadata may be anything."""
    metadata = reader.value("metadata")
    if metadata is not None and not isinstance(metadata, list):
        reader.refuse("metadata")
        return None
    for entry in metadata or []:
        label = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(label, str) and _WORKPLACE_LABEL.fullmatch(label.strip()):
            value = entry.get("value")
            return workplace_named(value) if isinstance(value, str) else None
    return None

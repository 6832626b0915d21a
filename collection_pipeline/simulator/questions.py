"""What a request asks for, in words that all platforms share, and the page that answers it."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

from collection_pipeline.simulator.catalogue import Row
from collection_pipeline.simulator.messages import Reply, Request
from collection_pipeline.simulator.posting_facts import PostingFacts

Kind = Literal["list", "detail"]


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed request.

    `keys` are the search keys it could mean, the most specific first; `offset` and `limit` count
    rows, `page_index` counts from 0 on every platform; `form` tells twins of one platform apart
    (v4/chaos, json/xml). `refusal` is the platform's own answer to a bad request.
    """

    platform: str
    kind: Kind
    form: str
    request: Request
    keys: tuple[str, ...] = ()
    offset: int = 0
    limit: int = 0
    page_index: int = 0
    item_id: str | None = None
    refusal: Reply | None = None
    key_ok: bool | None = None


@dataclass(slots=True)
class Page:
    """The rows of one list answer.

    `next_link` is the absolute or relative link that a fault put in place of the platform's own.
    """

    question: Question
    rows: list[Row]
    ids: list[str]
    total: int
    has_next: bool
    next_link: str | None = None


class Site(Protocol):
    """One platform's wire form."""

    platform: str
    id_name: str
    title_path: tuple[str, ...]
    envelope_name: str

    def ask(self, request: Request, /) -> Question | None:
        """The question behind a request; None when the path is not this platform's."""

    def row(self, form: str, facts: PostingFacts, first: date, /) -> Row:
        """One row of the list in the question's form."""

    def envelope(self, page: Page, /) -> object:
        """The list body around its rows."""

    def detail(self, question: Question, facts: PostingFacts, first: date, /) -> object:
        """The detail body of a living posting."""

    def gone(self, question: Question, facts: PostingFacts | None, first: date, /) -> Reply:
        """The answer to a detail that is no longer (or was never) there."""

    def unknown_key(self, question: Question, /) -> Reply | None:
        """The answer for a key that no catalogue has; None serves an empty list."""


def whole_number(value: str | None, default: int) -> int | None:
    """A parameter as a number of at least 0; None when it is not one."""
    if value is None or value == "":
        return default
    return int(value) if value.isascii() and value.isdigit() else None

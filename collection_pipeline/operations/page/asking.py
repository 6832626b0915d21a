"""What a request asks the page for; a value that cannot be used is told to the reader (400).

Only what is known is read: a parameter that no page hands out is ignored. Nothing that is refused
is repeated in the answer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from collection_pipeline.store.views.posting_search import (
    BadPlace,
    PostingPlace,
    PostingQuestion,
    PostingState,
    place_of_text,
)
from collection_pipeline.store.views.source_rank import SourceState
from collection_pipeline.store.views.today import TodayFilter, TodayKey

ATTENTION = "ATTENTION"
MOST_QUERY_CHARS = 100
MOST_QUERY_WORDS = 8
E = TypeVar("E", bound=StrEnum)


class Language(StrEnum):
    """Korean unless the address says otherwise."""

    KOREAN = "ko"
    ENGLISH = "en"


class PageProblem(Exception):
    """The request cannot be answered; ``key`` names the text that says why."""

    def __init__(self, status: int, key: str) -> None:
        super().__init__(key)
        self.status = status
        self.key = key


@dataclass(frozen=True)
class TodayQuestion:
    """Which sources, from where on."""

    chosen: TodayFilter
    after: TodayKey | None

    @property
    def state_text(self) -> str | None:
        """The value of the parameter ``state``."""
        if self.chosen.attention_only:
            return ATTENTION
        return None if self.chosen.state is None else self.chosen.state.value


@dataclass(frozen=True)
class SearchQuestion:
    """Which postings, from where on; ``text`` is what the reader typed."""

    text: str
    asked: PostingQuestion
    after: PostingPlace | None


def language_of(query: Mapping[str, str]) -> Language:
    """The page's language."""
    given = query.get("lang", "")
    return _member(Language, given, "bad_lang") or Language.KOREAN


def today_question(query: Mapping[str, str]) -> TodayQuestion:
    """``state``, ``platform`` and ``after`` of the page of today."""
    state = query.get("state", "")
    attention_only = state == ATTENTION
    chosen = TodayFilter(
        None if attention_only else _member(SourceState, state, "bad_state"),
        _platform(query.get("platform", "")),
        attention_only,
    )
    return TodayQuestion(chosen, _today_key(query.get("after", "")))


def search_question(query: Mapping[str, str]) -> SearchQuestion:
    """``q``, ``source``, ``state`` and ``after`` of the search."""
    text = _typed(query.get("q", ""))
    source = query.get("source", "").strip()
    asked = PostingQuestion(
        words=tuple(text.split()),
        source_id=number_of(source, "bad_source") if source else None,
        state=_member(PostingState, query.get("state", ""), "bad_state"),
    )
    after = query.get("after", "")
    if not after:
        return SearchQuestion(text, asked, None)
    try:
        place = place_of_text(after)
    except BadPlace:
        raise PageProblem(400, "bad_after") from None
    if asked.source_id is None:
        # A place within a source says more than is needed, and its id holds everywhere.
        place = replace(place, status=None, last_seen=None)
    elif place.status is None:
        raise PageProblem(400, "bad_after")
    return SearchQuestion(text, asked, place)


def number_of(text: str, key: str) -> int:
    """A positive id as the database has them."""
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise PageProblem(400, key)
    return int(text)


def _member(kind: type[E], text: str, key: str) -> E | None:
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        raise PageProblem(400, key) from None


def _platform(text: str) -> str | None:
    if text and not re.fullmatch(r"[a-z0-9_-]{1,20}", text, re.ASCII):
        raise PageProblem(400, "bad_platform")
    return text or None


def _today_key(text: str) -> TodayKey | None:
    if not text:
        return None
    found = re.fullmatch(r"([0-9]{1,2})-([0-9]{1,18})", text, re.ASCII)
    if found is None:
        raise PageProblem(400, "bad_after")
    return TodayKey(int(found[1]), int(found[2]))


def _typed(text: str) -> str:
    """One line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(line) > MOST_QUERY_CHARS or len(line.split()) > MOST_QUERY_WORDS:
        raise PageProblem(400, "bad_query")
    return line

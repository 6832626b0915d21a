"""The posting search and one posting's page: what was confirmed when, as plain text (R32a)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.posting import DeadlineKind, PostingStatus
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.page.asking import PageProblem, SearchQuestion
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.marks import Badge, LongText, long_text
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import Moment, moment, number, safe_link
from collection_pipeline.settings import Settings
from collection_pipeline.store.views.posting_facts import (
    FoundPosting,
    PostingCard,
    posting_card,
    unconfirmed_until,
)
from collection_pipeline.store.views.posting_search import (
    PostingAnswer,
    PostingState,
    find_postings,
)
from collection_pipeline.store.views.source_days import SourceCard, source_card

POSTINGS_PER_PAGE = 50
STATUS_ICONS = {"OPEN": "check", "MISSED": "half", "CLOSED": "slash"}


@dataclass(frozen=True)
class PostingRow:
    """A posting; ``link`` is its page on the platform where a browser may be sent there."""

    title: LongText
    href: str
    link: str | None
    company: LongText | None
    source: LongText
    source_href: str
    badge: Badge
    marks: list[Badge]
    first_seen: date
    last_seen: date
    confirmed: str
    deadline: Moment | None
    deadline_words: str | None


@dataclass(frozen=True)
class Search:
    """What one read brought; ``source`` is the one that was asked for, if it exists."""

    now: datetime
    today: date
    answer: PostingAnswer
    source: SourceCard | None


@dataclass(frozen=True)
class OnePosting:
    """A posting with the moment of reading."""

    now: datetime
    today: date
    card: PostingCard


def read_search(context: OperationsContext, question: SearchQuestion) -> Search:
    """The page of postings that was asked for; raises ``DatabaseUnavailable``."""
    after_days = context.settings["UNCONFIRMED_AFTER_DAYS"]

    def reading(connection: Connection) -> Search:
        now = context.clock.now(connection)
        today = run_date_of(now)
        source_id = question.asked.source_id
        return Search(
            now,
            today,
            find_postings(
                connection,
                question.asked,
                question.after,
                POSTINGS_PER_PAGE,
                unconfirmed_until(today, after_days),
                now,
            ),
            None if source_id is None else source_card(connection, source_id),
        )

    return context.database.read(reading)


def read_posting(context: OperationsContext, posting_id: int) -> OnePosting:
    """One posting; ``PageProblem`` 404 where there is none, or ``DatabaseUnavailable``."""

    def reading(connection: Connection) -> OnePosting:
        now = context.clock.now(connection)
        card = posting_card(connection, posting_id)
        if card is None:
            raise PageProblem(404, "no_posting")
        return OnePosting(now, run_date_of(now), card)

    return context.database.read(reading)


def search_words(
    search: Search, question: SearchQuestion, settings: Settings, texts: Texts, links: Links
) -> Mapping[str, Any]:
    """What the template ``postings.html`` shows."""
    asked, after = question.asked, search.answer.next_after
    query = {
        "q": question.text,
        "source": asked.source_id,
        "state": asked.state.value if asked.state else None,
    }
    stopped = search.answer.stopped_after
    return {
        "question": query,
        "states": [(state.value, texts(f"posting_{state.value}")) for state in PostingState],
        "source_label": long_text(search.source.facts.label) if search.source else None,
        "rows": [
            _row(found, search.now, search.today, settings, texts, links)
            for found in search.answer.rows
        ],
        "is_asked": any(query.values()),
        "order": texts("order_in_source" if asked.source_id else "order_newest"),
        "stopped": texts("stopped_after", count=number(stopped)) if stopped else None,
        "form_action": links.plain("/postings"),
        "clear_href": links.to("/postings"),
        "first_href": links.to("/postings", **query) if question.after else None,
        "next_href": links.to("/postings", **query, after=after.text()) if after else None,
        "unconfirmed_rule": texts("unconfirmed_rule", count=settings["UNCONFIRMED_AFTER_DAYS"]),
    }


def posting_words(
    one: OnePosting, settings: Settings, texts: Texts, links: Links
) -> Mapping[str, Any]:
    """What the template ``posting.html`` shows."""
    card = one.card
    fields = [
        (texts(f"field_{name}"), str(value))
        for name, value in card.more.items()
        if value not in (None, "") and f"field_{name}" in texts
    ]
    return {
        "row": _row(card.found, one.now, one.today, settings, texts, links),
        "source_job_id": card.found.source_job_id,
        "fields": fields,
        "published": moment(card.more["published_at"], one.today),
        "description": card.description,
        "description_is_cut": card.description_is_cut,
        "search_href": links.to("/postings"),
    }


def _row(
    found: FoundPosting,
    now: datetime,
    today: date,
    settings: Settings,
    texts: Texts,
    links: Links,
) -> PostingRow:
    days_ago = (today - found.last_seen).days
    return PostingRow(
        title=long_text(found.title) or LongText(found.source_job_id, None),
        href=links.to(f"/postings/{found.id}"),
        link=safe_link(found.url),
        company=long_text(found.company),
        source=long_text(found.source_label) or LongText(f"#{found.source_id}", None),
        source_href=links.to(f"/sources/{found.source_id}"),
        badge=Badge(
            f"posting-{found.status.lower()}",
            STATUS_ICONS[found.status],
            texts(f"posting_{found.status}"),
        ),
        marks=_marks(found, now, today, settings, texts),
        first_seen=found.first_seen,
        last_seen=found.last_seen,
        confirmed=texts("confirmed_today")
        if days_ago <= 0
        else texts("confirmed_days_ago", count=number(days_ago)),
        deadline=moment(found.deadline_at, today),
        deadline_words=None
        if found.deadline_kind in (DeadlineKind.DATE, DeadlineKind.UNKNOWN)
        else texts(f"deadline_{found.deadline_kind}"),
    )


def _marks(
    found: FoundPosting, now: datetime, today: date, settings: Settings, texts: Texts
) -> list[Badge]:
    """Derived for open postings; neither closes one (R32a)."""
    if found.status is not PostingStatus.OPEN:
        return []
    marks = []
    if found.last_seen <= unconfirmed_until(today, settings["UNCONFIRMED_AFTER_DAYS"]):
        marks.append(Badge("mark-warn", "warning", texts("posting_UNCONFIRMED")))
    if found.deadline_at is not None and found.deadline_at < now:
        marks.append(Badge("mark-guard", "clock", texts("posting_DEADLINE_PASSED")))
    return marks

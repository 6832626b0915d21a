"""A search over postings whose work is bounded: what it did not look at, it says (R32a, R43).

Without a source the newest ``MOST_LOOKED_AT`` rows by id are looked at, whether they match or not.
With a source its postings are read in the order of an index: open ones first, last sighted first.
Either way an answer ends in a place from which the next request goes on.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, collate, or_, select

from collection_pipeline.domain.posting import PostingStatus
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.views.posting_facts import (
    ROW_COLUMNS,
    FoundPosting,
    found_posting,
)

MOST_LOOKED_AT = 5_000
CASELESS = "utf8mb4_unicode_ci"


class PostingState(StrEnum):
    """What a search can ask for; the last two are open postings and derived (R32a)."""

    OPEN = "OPEN"
    MISSED = "MISSED"
    CLOSED = "CLOSED"
    UNCONFIRMED = "UNCONFIRMED"
    DEADLINE_PASSED = "DEADLINE_PASSED"

    @property
    def is_derived(self) -> bool:
        """An open posting, judged as it is read."""
        return self in {PostingState.UNCONFIRMED, PostingState.DEADLINE_PASSED}


class BadPlace(ValueError):
    """A place in the search that no page has handed out."""


@dataclass(frozen=True)
class PostingPlace:
    """Where a page ended: an id, and within one source the index order before it."""

    id: int
    status: PostingStatus | None = None
    last_seen: date | None = None

    def text(self) -> str:
        """``id``, or ``STATUS.YYYY-MM-DD.id`` within one source."""
        if self.status is None or self.last_seen is None:
            return str(self.id)
        return f"{self.status}.{self.last_seen.isoformat()}.{self.id}"


@dataclass(frozen=True)
class PostingQuestion:
    """``words``: all of them occur in title or company, whatever their case."""

    words: tuple[str, ...] = ()
    source_id: int | None = None
    state: PostingState | None = None

    @property
    def may_leave_out(self) -> bool:
        """Whether a row that is looked at may be no answer; a source's index knows its status."""
        is_known = self.state is None or (self.source_id is not None and not self.state.is_derived)
        return bool(self.words) or not is_known


@dataclass(frozen=True)
class PostingAnswer:
    """``next_after`` is where to go on, ``None`` at the end.

    ``stopped_after``: so many rows were looked at and the rest was not; ``None`` where the page is
    full or nothing is left.
    """

    rows: list[FoundPosting]
    next_after: PostingPlace | None = None
    stopped_after: int | None = None


def place_of_text(text: str) -> PostingPlace:
    """The place that ``PostingPlace.text`` wrote; raises ``BadPlace``."""
    found = re.fullmatch(
        r"(?:(OPEN|MISSED|CLOSED)\.([0-9]{4}-[0-9]{2}-[0-9]{2})\.)?([0-9]{1,18})", text, re.ASCII
    )
    if found is None:
        raise BadPlace(text)
    status, day, number = found.groups()
    if status is None:
        return PostingPlace(int(number))
    try:
        return PostingPlace(int(number), PostingStatus(status), date.fromisoformat(day))
    except ValueError:
        raise BadPlace(text) from None


def find_postings(
    connection: Connection,
    question: PostingQuestion,
    after: PostingPlace | None,
    limit: int,
    unconfirmed: date,
    now: datetime,
    most_looked_at: int = MOST_LOOKED_AT,
) -> PostingAnswer:
    """At most ``limit`` postings behind ``after``.

    ``unconfirmed`` is the day of ``unconfirmed_until``; ``now`` (naive UTC) decides whose deadline
    has passed.
    """
    within_source = question.source_id is not None
    # Nothing is left out, so no more rows are looked at than shown, and one to see if more follow.
    window = most_looked_at if question.may_leave_out else limit + 1
    ordered = _in_source(question, after) if within_source else _by_id(after)
    looked_at = ordered.limit(window).subquery("looked_at")
    column = looked_at.c
    order = [column.id.desc()]
    if within_source:
        order = [column.status.desc(), column.last_seen_run_date.desc(), column.id.desc()]
    statement = (
        select(looked_at, job_sources.c.label)
        .outerjoin(job_sources, job_sources.c.id == column.job_source_id)
        .where(*_conditions(column, question, unconfirmed, now))
        .order_by(*order)
        .limit(limit + 1)
    )
    rows = list(connection.execute(statement))
    shown = [found_posting(row) for row in rows[:limit]]
    if len(rows) > limit:
        return PostingAnswer(shown, _place(rows[limit - 1], within_source))
    if not question.may_leave_out:
        return PostingAnswer(shown)
    last = _end_of_window(connection, looked_at, order, window)
    if last is None:
        return PostingAnswer(shown)
    return PostingAnswer(shown, _place(last, within_source), stopped_after=window)


def _by_id(after: PostingPlace | None) -> Select[Any]:
    table = job_postings.c
    statement = select(*(table[name] for name in ROW_COLUMNS)).order_by(table.id.desc())
    return statement if after is None else statement.where(table.id < after.id)


def _in_source(question: PostingQuestion, after: PostingPlace | None) -> Select[Any]:
    """In the order of ``ix_job_postings_sighting``, backwards: OPEN, MISSED, CLOSED."""
    table = job_postings.c
    statement = (
        select(*(table[name] for name in ROW_COLUMNS))
        # Forced: walking all postings by id for a few of one source has no bound.
        .with_hint(job_postings, "FORCE INDEX (ix_job_postings_sighting)")
        .where(table.job_source_id == question.source_id)
        .order_by(
            table.job_source_id.desc(),
            table.status.desc(),
            table.last_seen_run_date.desc(),
            table.id.desc(),
        )
    )
    status = _stored_status(question.state)
    if status is not None:
        statement = statement.where(table.status == status.value)
    if after is not None:
        statement = statement.where(_behind(after))
    return statement


def _behind(after: PostingPlace) -> ColumnElement[bool]:
    """Spelled out: neither server uses an index for a comparison of rows."""
    if after.status is None or after.last_seen is None:
        raise BadPlace(after.text())
    table = job_postings.c
    same_status = table.status == after.status.value
    return or_(
        table.status < after.status.value,
        and_(same_status, table.last_seen_run_date < after.last_seen),
        and_(same_status, table.last_seen_run_date == after.last_seen, table.id < after.id),
    )


def _stored_status(state: PostingState | None) -> PostingStatus | None:
    if state is None:
        return None
    return PostingStatus.OPEN if state.is_derived else PostingStatus(state.value)


def _conditions(
    column: Any, question: PostingQuestion, unconfirmed: date, now: datetime
) -> Iterable[ColumnElement[bool]]:
    for word in question.words:
        title, company = collate(column.title, CASELESS), collate(column.company_name, CASELESS)
        yield or_(title.contains(word, autoescape=True), company.contains(word, autoescape=True))
    status = _stored_status(question.state)
    if status is not None:
        yield column.status == status.value
    if question.state is PostingState.UNCONFIRMED:
        yield column.last_seen_run_date <= unconfirmed
    if question.state is PostingState.DEADLINE_PASSED:
        yield column.deadline_at < now


def _end_of_window(
    connection: Connection, looked_at: Any, order: list[Any], window: int
) -> Row[Any] | None:
    """The last row that was looked at, if there were as many as the window holds."""
    columns = (looked_at.c.id, looked_at.c.status, looked_at.c.last_seen_run_date)
    statement = select(*columns).order_by(*order).limit(1).offset(window - 1)
    return connection.execute(statement).one_or_none()


def _place(row: Row[Any], within_source: bool) -> PostingPlace:
    if not within_source:
        return PostingPlace(row.id)
    return PostingPlace(row.id, PostingStatus(row.status), row.last_seen_run_date)

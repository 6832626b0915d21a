"""What a person is shown of a posting: confirmed when, unconfirmed, deadline passed (R32a).

Both judgements are derived as the posting is read, and close nothing.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from collection_pipeline.domain.posting import PostingStatus
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline.store.schema.sources import job_sources

MOST_DESCRIPTION_CHARS = 20_000

ROW_COLUMNS = (
    "id",
    "job_source_id",
    "source_job_id",
    "title",
    "company_name",
    "url",
    "status",
    "missed_count",
    "first_seen_run_date",
    "last_seen_run_date",
    "deadline_at",
    "deadline_kind",
    "closed_at",
)
"""The columns that ``found_posting`` reads."""
_MORE_COLUMNS = (
    "location_raw",
    "employment_type",
    "remote",
    "salary",
    "career_from",
    "career_to",
    "language",
    "status_reason",
    "detail_state",
    "published_at",
)


def unconfirmed_until(today: date, after_days: int) -> date:
    """An open posting last sighted on this day or earlier is unconfirmed (R32a)."""
    return today - timedelta(days=after_days)


@dataclass(frozen=True)
class FoundPosting:
    """A posting as listed; instants are naive UTC, days are run dates."""

    id: int
    source_id: int
    source_label: str | None
    source_job_id: str
    title: str
    company: str | None
    url: str | None
    status: PostingStatus
    missed_count: int
    first_seen: date
    last_seen: date
    deadline_at: datetime | None
    deadline_kind: str
    closed_at: datetime | None


@dataclass(frozen=True)
class PostingCard:
    """One posting with what its page shows besides; ``description`` may be cut."""

    found: FoundPosting
    description: str | None
    description_is_cut: bool
    more: dict[str, Any]


def posting_card(connection: Connection, posting_id: int) -> PostingCard | None:
    """One posting, or ``None``; its description is cut to ``MOST_DESCRIPTION_CHARS``."""
    table = job_postings.c
    columns: list[ColumnElement[Any]] = [
        *(table[name] for name in (*ROW_COLUMNS, *_MORE_COLUMNS)),
        job_sources.c.label,
        func.left(table.description, MOST_DESCRIPTION_CHARS).label("description"),
        func.char_length(table.description).label("description_chars"),
    ]
    statement = (
        select(*columns)
        .select_from(job_postings.outerjoin(job_sources, job_sources.c.id == table.job_source_id))
        .where(table.id == posting_id)
    )
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return PostingCard(
        found_posting(row),
        row.description,
        (row.description_chars or 0) > MOST_DESCRIPTION_CHARS,
        {name: row._mapping[name] for name in _MORE_COLUMNS},
    )


def found_posting(row: Row[Any]) -> FoundPosting:
    """The posting in a row that holds ``ROW_COLUMNS`` and the source's label."""
    return FoundPosting(
        row.id,
        row.job_source_id,
        row.label,
        row.source_job_id,
        row.title,
        row.company_name,
        row.url,
        PostingStatus(row.status),
        row.missed_count,
        row.first_seen_run_date,
        row.last_seen_run_date,
        row.deadline_at,
        row.deadline_kind,
        row.closed_at,
    )

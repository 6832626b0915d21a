"""Postings: rewritten only when they changed, sighted by one set statement (R32, R34a).

``VALUES()`` is the form that MySQL and MariaDB both know for what would have been inserted.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.posting import (
    Deadline,
    DetailState,
    GonePosting,
    ListedPosting,
    PostingDetail,
    SignatureChange,
    signature_change,
)
from collection_pipeline.domain.slices import SightedPosting, TriedDetail
from collection_pipeline.store.bulk import (
    Literal,
    Row,
    filled_columns,
    in_statements,
    insert_of,
    placeholders,
)
from collection_pipeline.store.schema.postings import job_postings

ROW_COLUMNS = (
    "source_job_id",
    "company_id",
    "title",
    "company_name",
    "location_raw",
    "region",
    "career_from",
    "career_to",
    "employment_type",
    "remote",
    "salary",
    "skills",
    "categories",
    "url",
    "language",
    "description",
    "published_at",
    "opened_at",
    "deadline_at",
    "deadline_kind",
    "list_signature",
    "detail_state",
    "raw_list",
    "unparsed_fields",
)
"""What a list row fills, in the order of ``posting_row``."""
_KEY = "source_job_id"
_OF_THE_LIST = frozenset({"title", "list_signature", "detail_state", "raw_list", "unparsed_fields"})
"""Columns that a detail never fills."""
UNPARSED_CHARS = 1_000


@dataclass(frozen=True)
class StoredPostings:
    """What storing a slice's rows did: ids that were not stored before, and rows rewritten."""

    new: frozenset[str]
    updated: int


@dataclass(frozen=True)
class _StoredRow:
    signature: str | None
    detail_state: str | None
    body_trimmed: bool


_STORED = (
    "SELECT source_job_id, list_signature, detail_state, body_trimmed_at FROM job_postings "
    "WHERE job_source_id = %s AND source_job_id IN"
)
_SETTLE = (
    "UPDATE job_postings SET last_seen_run_date = %s, status = 'OPEN', status_reason = NULL, "
    "missed_count = 0, closed_at = NULL "
    "WHERE job_source_id = %s AND last_seen_run_date <= %s "
    "AND (last_seen_run_date < %s OR status <> 'OPEN' OR missed_count <> 0) "
    "AND source_job_id IN"
)
_UNKNOWN = _StoredRow(None, None, body_trimmed=False)


def posting_upserts(
    shared: Mapping[str, Literal], rows: Sequence[Row], *, keeps_detail: bool
) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Statements and their parameters that insert or rewrite ``rows`` of ``posting_row``.

    ``shared`` are source, days and time. Where a detail adds columns (``keeps_detail``), a list row
    does not wipe them.
    """
    for part in in_statements(rows):
        places = filled_columns(ROW_COLUMNS, part)
        filled = [ROW_COLUMNS[place] for place in places]
        pick = itemgetter(*places)
        insert, parameters = insert_of("job_postings", shared, filled, [pick(row) for row in part])
        yield (
            f"{insert} ON DUPLICATE KEY UPDATE {_assignments(frozenset(filled), keeps_detail)}",
            tuple(parameters),
        )


@cache
def _assignments(filled: frozenset[str], keeps_detail: bool) -> str:
    written = [_assignment(column, column in filled, keeps_detail) for column in ROW_COLUMNS]
    kept = [assignment for assignment in written if assignment is not None]
    return ", ".join([*kept, "updated_at = VALUES(updated_at)", "body_trimmed_at = NULL"])


def _assignment(column: str, is_filled: bool, keeps_detail: bool) -> str | None:
    if column == _KEY:
        return None
    value = f"VALUES({column})" if is_filled else "NULL"
    if column in _OF_THE_LIST or not keeps_detail:
        return f"{column} = {value}"
    if column == "deadline_kind":
        return f"{column} = IF({value} = 'UNKNOWN', {column}, {value})"
    if column == "deadline_at":
        return f"{column} = IF(VALUES(deadline_kind) = 'UNKNOWN', {column}, {value})"
    return f"{column} = COALESCE({value}, {column})" if is_filled else None


class JobPostings:
    """Writes ``job_postings`` on the connection of the transaction that ends a slice."""

    def store_listed(
        self,
        connection: Connection,
        cycle: JobPostingCollectionCycle,
        sighted: Sequence[SightedPosting],
        company_ids: Mapping[str, int],
        company_id: int | None,
        waiting_state: DetailState,
        now: datetime,
    ) -> StoredPostings:
        """Insert new rows and rewrite changed ones, sorted by key; count both under the lock.

        ``waiting_state`` is the detail state of a row that is new or changed.
        """
        changed = [posting for posting in sighted if not posting.is_unchanged]
        stored = self._stored(connection, cycle.job_source_id, changed)
        rows: list[Row] = []
        new: set[str] = set()
        updated = 0
        for posting in sorted(changed, key=lambda one: one.listed.source_job_id):
            listed = posting.listed
            known = stored.get(listed.source_job_id, _UNKNOWN)
            change = signature_change(
                known.signature, listed.signature, body_trimmed=known.body_trimmed
            )
            if change is SignatureChange.SAME:
                continue
            if change is SignatureChange.NEW:
                new.add(listed.source_job_id)
            updated += change is SignatureChange.CHANGED
            kept = known.detail_state if change is SignatureChange.REVERSIONED else None
            owner = company_id or company_ids.get(listed.fields.company_name or "")
            rows.append(posting_row(listed, owner, kept or waiting_state.value))
        shared = shared_columns(cycle, now)
        keeps_detail = waiting_state is DetailState.PENDING
        for statement, parameters in posting_upserts(shared, rows, keeps_detail=keeps_detail):
            connection.exec_driver_sql(statement, parameters)
        return StoredPostings(frozenset(new), updated)

    def settle_sightings(
        self, connection: Connection, cycle: JobPostingCollectionCycle, ids: Collection[str]
    ) -> None:
        """A sighting opens a posting again and forgets what it was missed (R32); one statement."""
        if not ids:
            return
        connection.exec_driver_sql(
            f"{_SETTLE} ({placeholders(len(ids))})",
            (cycle.run_date, cycle.job_source_id, cycle.run_date, cycle.run_date, *sorted(ids)),
        )

    def store_details(
        self,
        connection: Connection,
        job_source_id: int,
        details: Iterable[TriedDetail],
        now: datetime,
    ) -> None:
        """Write what details added, by key; a failed one leaves its posting waiting (R22)."""
        for tried in sorted(details, key=lambda one: one.source_job_id):
            if tried.result is None:
                continue
            connection.execute(
                job_postings.update()
                .where(
                    job_postings.c.job_source_id == job_source_id,
                    job_postings.c.source_job_id == tried.source_job_id,
                )
                .values(updated_at=now, **_detail_values(tried.result))
            )

    def _stored(
        self, connection: Connection, job_source_id: int, sighted: Sequence[SightedPosting]
    ) -> dict[str, _StoredRow]:
        ids = sorted(posting.listed.source_job_id for posting in sighted)
        if not ids:
            return {}
        rows = connection.exec_driver_sql(
            f"{_STORED} ({placeholders(len(ids))})", (job_source_id, *ids)
        )
        return {
            job_id: _StoredRow(signature, detail_state, trimmed_at is not None)
            for job_id, signature, detail_state, trimmed_at in rows
        }


def shared_columns(cycle: JobPostingCollectionCycle, now: datetime) -> dict[str, Literal]:
    """The columns in which all rows of one slice are alike."""
    return {
        "job_source_id": cycle.job_source_id,
        "first_seen_run_date": cycle.run_date,
        "last_seen_run_date": cycle.run_date,
        "updated_at": now,
    }


def posting_row(
    listed: ListedPosting, company_id: int | None, detail_state: str
) -> tuple[object, ...]:
    """``ROW_COLUMNS`` of one list row."""
    fields = listed.fields
    return (
        listed.source_job_id,
        company_id,
        fields.title,
        fields.company_name,
        fields.location_raw,
        fields.region,
        fields.career_from,
        fields.career_to,
        fields.employment_type,
        fields.remote,
        fields.salary,
        _words(fields.skills),
        _words(fields.categories),
        fields.url,
        fields.language,
        fields.description,
        _moment(fields.published_at),
        _moment(fields.opened_at),
        _moment(fields.deadline.at),
        fields.deadline.kind.value,
        listed.signature,
        detail_state,
        listed.raw,
        " ".join(listed.unparsed)[:UNPARSED_CHARS] or None,
    )


def _moment(moment: datetime | None) -> str | None:
    """As text, which drivers write much faster than a datetime."""
    return None if moment is None else moment.isoformat(sep=" ")


def _words(words: Sequence[str]) -> str | None:
    if not words:
        return None
    plain = '", "'.join(words)
    if plain.isprintable() and "\\" not in plain and plain.count('"') == 2 * (len(words) - 1):
        return f'["{plain}"]'
    return json.dumps(list(words), ensure_ascii=False)


def _detail_values(result: PostingDetail | GonePosting) -> dict[str, Any]:
    if isinstance(result, GonePosting):
        return {"detail_state": DetailState.GONE.value}
    values: dict[str, Any] = {"detail_state": DetailState.DONE.value, "raw_detail": result.raw}
    for name, value in result.changes.items():
        if isinstance(value, Deadline):
            values["deadline_at"] = value.at
            values["deadline_kind"] = value.kind.value
        else:
            values[name] = _words(value) if isinstance(value, tuple) else value
    return values

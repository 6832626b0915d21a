"""Postings: rewritten only when they changed, sighted by one set statement (R32, R34a).

``VALUES()`` is the form that PyMySQL and mysqlclient both send as one statement a page.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, or_, select

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.posting import (
    Deadline,
    DetailState,
    GonePosting,
    ListedPosting,
    PostingDetail,
    PostingStatus,
    SignatureChange,
    signature_change,
)
from collection_pipeline.domain.slices import SightedPosting, TriedDetail
from collection_pipeline.store.schema.postings import job_postings

LISTED_COLUMNS = (
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
    "updated_at",
)
KEY_COLUMNS = ("job_source_id", "source_job_id", "first_seen_run_date", "last_seen_run_date")
_ALWAYS_REPLACED = frozenset({"title", "list_signature", "detail_state", "raw_list", "updated_at"})


@dataclass(frozen=True)
class StoredPostings:
    """What storing a slice's rows did."""

    new: int
    updated: int


@dataclass(frozen=True)
class _StoredRow:
    signature: str | None
    detail_state: str | None
    body_trimmed: bool


_UNKNOWN = _StoredRow(None, None, body_trimmed=False)


def _upsert(*, keeps_detail: bool) -> str:
    """One multi-row statement. Where a detail adds columns, a list row does not wipe them."""
    columns = (*KEY_COLUMNS, *LISTED_COLUMNS)
    placeholders = ", ".join(["%s"] * len(columns))
    assignments = ", ".join(_assignment(column, keeps_detail) for column in LISTED_COLUMNS)
    return (
        f"INSERT INTO job_postings ({', '.join(columns)}) VALUES ({placeholders}) "  # noqa: S608 - constant column names
        f"ON DUPLICATE KEY UPDATE {assignments}, body_trimmed_at = NULL"
    )


def _assignment(column: str, keeps_detail: bool) -> str:
    value = f"VALUES({column})"
    if column in _ALWAYS_REPLACED or not keeps_detail:
        return f"{column} = {value}"
    if column == "deadline_kind":
        return f"{column} = IF({value} = 'UNKNOWN', {column}, {value})"
    if column == "deadline_at":
        return f"{column} = IF(VALUES(deadline_kind) = 'UNKNOWN', {column}, {value})"
    return f"{column} = COALESCE({value}, {column})"


UPSERT_WHOLE = _upsert(keeps_detail=False)
_UPSERT_BESIDE_DETAIL = _upsert(keeps_detail=True)


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
        stored = self._stored(connection, cycle.job_source_id, sighted)
        rows: list[tuple[object, ...]] = []
        new = updated = 0
        for posting in sorted(sighted, key=lambda one: one.listed.source_job_id):
            known = stored.get(posting.listed.source_job_id, _UNKNOWN)
            change = signature_change(
                known.signature, posting.listed.signature, body_trimmed=known.body_trimmed
            )
            if change is SignatureChange.SAME:
                continue
            new += change is SignatureChange.NEW
            updated += change is SignatureChange.CHANGED
            kept = known.detail_state if change is SignatureChange.REVERSIONED else None
            owner = company_id or company_ids.get(posting.listed.fields.company_name or "")
            rows.append(posting_row(cycle, posting.listed, owner, kept or waiting_state.value, now))
        if rows:
            keeps_detail = waiting_state is DetailState.PENDING
            connection.exec_driver_sql(
                _UPSERT_BESIDE_DETAIL if keeps_detail else UPSERT_WHOLE, rows
            )
        return StoredPostings(new, updated)

    def settle_sightings(
        self, connection: Connection, cycle: JobPostingCollectionCycle, ids: Collection[str]
    ) -> None:
        """A sighting opens a posting again and forgets what it was missed (R32); one statement."""
        if not ids:
            return
        table = job_postings.c
        connection.execute(
            job_postings.update()
            .where(
                table.job_source_id == cycle.job_source_id,
                table.source_job_id.in_(sorted(ids)),
                table.last_seen_run_date <= cycle.run_date,
                or_(
                    table.last_seen_run_date < cycle.run_date,
                    table.status != PostingStatus.OPEN.value,
                    table.missed_count != 0,
                ),
            )
            .values(
                last_seen_run_date=cycle.run_date,
                status=PostingStatus.OPEN.value,
                status_reason=None,
                missed_count=0,
                closed_at=None,
            )
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
        rows = connection.execute(
            select(
                job_postings.c.source_job_id,
                job_postings.c.list_signature,
                job_postings.c.detail_state,
                job_postings.c.body_trimmed_at,
            ).where(
                job_postings.c.job_source_id == job_source_id,
                job_postings.c.source_job_id.in_(ids),
            )
        )
        return {
            row.source_job_id: _StoredRow(
                row.list_signature, row.detail_state, row.body_trimmed_at is not None
            )
            for row in rows
        }


def posting_row(
    cycle: JobPostingCollectionCycle,
    listed: ListedPosting,
    company_id: int | None,
    detail_state: str,
    now: datetime,
) -> tuple[object, ...]:
    """One row of ``UPSERT_WHOLE``."""
    fields = listed.fields
    return (
        cycle.job_source_id,
        listed.source_job_id,
        cycle.run_date,
        cycle.run_date,
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
        fields.published_at,
        fields.opened_at,
        fields.deadline.at,
        fields.deadline.kind.value,
        listed.signature,
        detail_state,
        listed.raw,
        now,
    )


def _words(words: Sequence[str]) -> str | None:
    return json.dumps(list(words), ensure_ascii=False) if words else None


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

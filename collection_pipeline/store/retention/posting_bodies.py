"""What a platform sent of a posting is dropped some time after the posting closed.

Invariant: only the raw bodies of CLOSED postings go; no row, no other column, so that nothing of a
posting's judgement changes (R32, I4) and its signature still tells whether it changed. That the row
is trimmed makes its next sighting store it, and ask for its detail, again (R34a).
"""

from datetime import date, datetime

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select, text

from collection_pipeline.domain.posting import PostingStatus
from collection_pipeline.store.retention.chunks import NOTHING_FOUND, Chunk
from collection_pipeline.store.schema.postings import job_postings

_TRIM = text(
    "UPDATE job_postings FORCE INDEX (PRIMARY) "
    "SET raw_list = NULL, raw_detail = NULL, body_trimmed_at = :now WHERE id IN :ids"
).bindparams(bindparam("ids", expanding=True))


def trim_bodies(
    connection: Connection,
    closed_before: datetime,
    since: date | None,
    rows: int,
    now: datetime,
) -> Chunk:
    """Trim at most ``rows`` postings that closed before that moment, of ``since`` and later.

    A row that a slice holds is left to a later night: nobody waits for the other.
    """
    due = _due(closed_before)
    oldest = (
        select(job_postings.c.closed_at, job_postings.c.id)
        .with_hint(job_postings, "FORCE INDEX (ix_job_postings_untrimmed)")
        .where(due)
        .order_by(job_postings.c.closed_at)
        .limit(rows)
    )
    if since is not None:
        oldest = oldest.where(job_postings.c.closed_at >= since)
    found = connection.execute(oldest).all()
    if not found:
        return NOTHING_FOUND
    # Asked again under the locks: a posting may have been sighted since.
    held = connection.execute(
        select(job_postings.c.id)
        .with_hint(job_postings, "FORCE INDEX (PRIMARY)")
        .where(job_postings.c.id.in_(sorted(row.id for row in found)), due)
        .with_for_update(skip_locked=True)
    )
    ids = list(held.scalars())
    if ids:
        connection.execute(_TRIM, {"ids": ids, "now": now})
    return Chunk(len(found), len(ids), found[-1].closed_at)


def _due(closed_before: datetime) -> ColumnElement[bool]:
    return and_(
        job_postings.c.status == PostingStatus.CLOSED.value,
        job_postings.c.body_trimmed_at.is_(None),
        job_postings.c.closed_at < closed_before,
    )

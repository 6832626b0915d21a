"""Messages told long ago are deleted, but for those that keep a morning from being told again.

Invariant: a row is the only mark that its day was told. A MISSED morning is told whenever it has no
such row, however old it is (R40), so its row stays as long as its snapshot, which is for ever. A
message that waits is never deleted.
"""

from datetime import date

from sqlalchemy import Connection, and_, not_, select

from collection_pipeline.domain.notification import MORNING_KINDS
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.outbox import OutboxState
from collection_pipeline.store.retention.chunks import NOTHING_FOUND, Chunk, delete_by_key
from collection_pipeline.store.schema.operations import notification_outbox as outbox
from collection_pipeline.store.schema.operations import sla_snapshots

ENDED = [OutboxState.DELIVERED.value, OutboxState.LOGGED.value, OutboxState.EXPIRED.value]


def delete_told(connection: Connection, before: date, since: date | None, rows: int) -> Chunk:
    """At most ``rows`` ended messages of days before ``before``, of ``since`` and later."""
    missed = select(sla_snapshots.c.snapshot_date).where(
        sla_snapshots.c.snapshot_date < before,
        sla_snapshots.c.capture_status == CaptureStatus.MISSED.value,
    )
    is_mark = and_(outbox.c.kind.in_(MORNING_KINDS), outbox.c.notification_date.in_(missed))
    oldest = (
        select(outbox.c.notification_date, outbox.c.id)
        .with_hint(outbox, "FORCE INDEX (uq_outbox_date_kind)")
        .where(outbox.c.notification_date < before, outbox.c.state.in_(ENDED), not_(is_mark))
        .order_by(outbox.c.notification_date)
        .limit(rows)
    )
    if since is not None:
        oldest = oldest.where(outbox.c.notification_date >= since)
    found = connection.execute(oldest).all()
    if not found:
        return NOTHING_FOUND
    deleted = delete_by_key(connection, outbox, [(row.id,) for row in found])
    return Chunk(len(found), deleted, found[-1].notification_date)

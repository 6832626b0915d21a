"""What Dagster leaves behind of runs that are deleted: evaluations of checks, and stray events.

Invariant: only rows whose run is gone, or that never had one, and that are past their age. Of each
check the newest row and the newest that is not merely planned stay: the UI shows them.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import dagster as dg
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from sqlalchemy import Column, Connection, Row, Select, func, select

from collection_pipeline.orchestration.dagster_storage import PatientEventLogStorage, patiently

BATCH_ROWS = 1_000
PLANNED = "PLANNED"

_checks = AssetCheckExecutionsTable.c
_events = SqlEventLogStorageTable.c
TimeIsLeft = Callable[[], bool]


def prune_check_history(
    instance: dg.DagsterInstance, before: datetime, time_is_left: TimeIsLeft
) -> int:
    """Delete evaluations from before that moment (with a zone) of runs that are gone.

    Returns how many; 0 where Dagster keeps its events elsewhere than in MySQL.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, PatientEventLogStorage):
        return 0
    with storage.index_connection() as connection:
        shown = _shown_rows(connection)
    moment = _checks.evaluation_event_timestamp
    return _prune(instance, storage, moment, before, time_is_left, _delete_checks, shown)


def prune_stray_events(
    instance: dg.DagsterInstance, before: datetime, time_is_left: TimeIsLeft
) -> int:
    """Delete events from before that moment that no run owns; returns how many.

    A deletion that was killed halfway leaves them, and so does "Report materialization" in the UI.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, PatientEventLogStorage):
        return 0
    return _prune(instance, storage, _events.timestamp, before, time_is_left, _delete_events)


def _prune(
    instance: dg.DagsterInstance,
    storage: PatientEventLogStorage,
    moment: "Column[Any]",
    before: datetime,
    time_is_left: TimeIsLeft,
    delete: Callable[[Connection, Sequence[int]], int],
    kept: Collection[int] = (),
) -> int:
    """Walk the table of ``moment`` by id; each batch is read, then deleted from by itself."""
    deleted = after = 0
    while time_is_left():
        with storage.index_connection() as connection:
            batch = _batch(connection, moment, after, before)
        gone = _without_run(instance, batch)
        ids = [row.id for row in batch if (row.run_id or "") in gone and row.id not in kept]
        if ids:
            deleted += patiently(partial(_deleting, storage, delete, ids))
        if len(batch) < BATCH_ROWS:
            break
        after = batch[-1].id
    return deleted


def _deleting(
    storage: PatientEventLogStorage,
    delete: Callable[[Connection, Sequence[int]], int],
    ids: Sequence[int],
) -> int:
    with storage.index_connection() as connection:
        return delete(connection, ids)


def _batch(
    connection: Connection, moment: "Column[Any]", after: int, before: datetime
) -> list[Row[Any]]:
    """The next rows by id up to the first that is too young; a row without a moment is old."""
    table = moment.table.c
    statement: Select[Any] = select(table.id, table.run_id, moment.label("moment"))
    rows = connection.execute(
        statement.where(table.id > after).order_by(table.id).limit(BATCH_ROWS)
    ).all()
    edge = before.astimezone(UTC).replace(tzinfo=None)
    young = next(
        (place for place, row in enumerate(rows) if row.moment and row.moment >= edge), None
    )
    return list(rows[:young])


def _without_run(instance: dg.DagsterInstance, rows: Sequence[Row[Any]]) -> set[str]:
    """The run ids among ``rows`` for which there is no run; the empty one never has any."""
    ids = {row.run_id or "" for row in rows}
    asked = sorted(ids - {""})
    found = instance.run_storage.get_run_ids(dg.RunsFilter(run_ids=asked)) if asked else []
    return ids - set(found)


def _shown_rows(connection: Connection) -> set[int]:
    newest = select(func.max(_checks.id)).group_by(_checks.asset_key, _checks.check_name)
    ended = newest.where(_checks.execution_status != PLANNED)
    return {row[0] for wanted in (newest, ended) for row in connection.execute(wanted)}


def _delete_checks(connection: Connection, ids: Sequence[int]) -> int:
    return connection.execute(
        AssetCheckExecutionsTable.delete().where(_checks.id.in_(ids))
    ).rowcount


def _delete_events(connection: Connection, ids: Sequence[int]) -> int:
    connection.execute(AssetEventTagsTable.delete().where(AssetEventTagsTable.c.event_id.in_(ids)))
    return connection.execute(SqlEventLogStorageTable.delete().where(_events.id.in_(ids))).rowcount

"""The library register: upserted by key, rewritten only where it changed, never deleted (R32, R49).

Rows come in chunks sorted by key, each stored in a transaction of the lock's own session:

    new        inserted                            changed    rewritten, one history row per field
    returning  active again                        the same   not touched at all

Every row of a chunk gets its sighting in a narrow table of its own; the stale step switches off the
active rows without a sighting of this run, all in one transaction. ``VALUES()`` is the form that
PyMySQL and mysqlclient both send as one statement a chunk.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, func, select

from collection_pipeline.domain.library import (
    KEY_COLUMNS,
    LIBRARY_FIELDS,
    Library,
    library_of,
    value_text,
)
from collection_pipeline.store.schema.libraries import public_libraries

HISTORY_CHARS = 10_000
"""Of an old or new text; its column holds 65,535 bytes."""
_DATA_COLUMNS = tuple(field.name for field in LIBRARY_FIELDS if field.name not in KEY_COLUMNS)
_WRITTEN = (*_DATA_COLUMNS, "row_hash", "raw_row", "unparsed_fields", "updated_at")
_COLUMNS = (*KEY_COLUMNS, *_WRITTEN, "first_seen_at")
_UPSERT = (
    f"INSERT INTO public_libraries ({', '.join(_COLUMNS)}) "  # noqa: S608 - constant column names
    f"VALUES ({', '.join(['%s'] * len(_COLUMNS))}) ON DUPLICATE KEY UPDATE "
    + ", ".join(f"{name} = VALUES({name})" for name in _WRITTEN)
)
_HISTORY = (
    "INSERT INTO public_library_changes "
    "(library_id, ingest_run_id, field, old_value, new_value, changed_at) "
    "VALUES (%s, %s, %s, %s, %s, %s)"
)
_SIGHT = (
    "INSERT INTO public_library_sightings (library_id, ingest_run_id, last_seen_at) "
    "SELECT id, %s, %s FROM public_libraries WHERE {keys} ORDER BY id "
    "ON DUPLICATE KEY UPDATE ingest_run_id = VALUES(ingest_run_id), "
    "last_seen_at = VALUES(last_seen_at)"
)
_FIND = "SELECT id, provider_code, library_name, row_hash, active FROM public_libraries WHERE "
_UNSIGHTED = (
    "SELECT l.id FROM public_libraries AS l LEFT JOIN public_library_sightings AS s "
    "ON s.library_id = l.id AND s.ingest_run_id = %s "
    "WHERE l.active = 1 AND s.library_id IS NULL AND l.id > %s ORDER BY l.id LIMIT %s"
)
_STALE_CHUNK_ROWS = 1_000


@dataclass(frozen=True)
class SnapshotRow:
    """One keyed row of a snapshot; ``raw`` is the row as sent, as JSON."""

    provider_code: str
    library_name: str
    row_hash: str
    raw: str

    @property
    def key(self) -> tuple[str, str]:
        """What the register is keyed by."""
        return (self.provider_code, self.library_name)


@dataclass(frozen=True)
class StoredChunk:
    """What storing a chunk did, in rows; ``confirmed`` are all of them."""

    confirmed: int
    added: int
    changed: int
    reactivated: int


class PublicLibraries:
    """Reads and writes the register on the lock's own connection, inside its transaction."""

    def active_count(self, connection: Connection) -> int:
        """How many rows are active."""
        asked = select(func.count()).where(public_libraries.c.active == 1)
        return int(connection.execute(asked).scalar_one())

    def store(
        self, connection: Connection, run_id: int, rows: Sequence[SnapshotRow], now: datetime
    ) -> StoredChunk:
        """Store a chunk whose keys are distinct and sorted; the same again changes nothing."""
        if not rows:
            return StoredChunk(0, 0, 0, 0)
        keys, values = _key_condition(rows)
        found = connection.exec_driver_sql(_FIND + keys, values).all()
        known = {(row.provider_code, row.library_name): row for row in found}
        added = [row for row in rows if row.key not in known]
        changed = [
            row for row in rows if row.key in known and known[row.key].row_hash != row.row_hash
        ]
        if changed:
            ids = {row.key: int(known[row.key].id) for row in changed}
            self._keep_history(connection, run_id, changed, ids, now)
        if added or changed:
            writing = sorted([*added, *changed], key=lambda row: row.key)
            connection.exec_driver_sql(_UPSERT, [_row_values(row, now) for row in writing])
        returning = sorted(int(row.id) for row in found if not row.active)
        self._switch(connection, returning, active=1, deactivated_at=None, updated_at=now)
        connection.exec_driver_sql(_SIGHT.format(keys=keys), (run_id, now, *values))
        return StoredChunk(len(rows), len(added), len(changed), len(returning))

    def deactivate_unsighted(self, connection: Connection, run_id: int, now: datetime) -> int:
        """The stale step: soft-deactivate what this run has not seen; returns how many.

        Found by plain reads and written by id: one statement for both would lock the register.
        """
        switched_off = last = 0
        while True:
            found = connection.exec_driver_sql(_UNSIGHTED, (run_id, last, _STALE_CHUNK_ROWS))
            ids = [int(row.id) for row in found]
            if not ids:
                return switched_off
            self._switch(connection, ids, active=0, deactivated_at=now, updated_at=now)
            switched_off += len(ids)
            last = ids[-1]

    def _switch(self, connection: Connection, ids: Sequence[int], **values: object) -> None:
        if ids:
            chosen = public_libraries.c.id.in_(ids)
            connection.execute(public_libraries.update().where(chosen).values(**values))

    def _keep_history(
        self,
        connection: Connection,
        run_id: int,
        changed: Sequence[SnapshotRow],
        ids: Mapping[tuple[str, str], int],
        now: datetime,
    ) -> None:
        stored = select(public_libraries.c.id, public_libraries.c.raw_row).where(
            public_libraries.c.id.in_(sorted(ids.values()))
        )
        old = {row.id: row.raw_row for row in connection.execute(stored)}
        history = [
            (ids[row.key], run_id, name, before, after, now)
            for row in changed
            for name, before, after in _differences(old[ids[row.key]], row.raw)
        ]
        if history:
            connection.exec_driver_sql(_HISTORY, history)


def _key_condition(rows: Sequence[SnapshotRow]) -> tuple[str, tuple[str, ...]]:
    """The rows' keys as a condition that both servers read as ranges of the unique index.

    MariaDB scans the whole table for ``(a, b) IN (...)``.
    """
    conditions: list[str] = []
    values: list[str] = []
    for code, group in groupby(rows, key=lambda row: row.provider_code):
        names = [row.library_name for row in group]
        conditions.append(
            f"(provider_code = %s AND library_name IN ({', '.join(['%s'] * len(names))}))"
        )
        values += [code, *names]
    return f"({' OR '.join(conditions)})", tuple(values)


def _row_values(row: SnapshotRow, now: datetime) -> tuple[Any, ...]:
    library = library_of(json.loads(row.raw))
    assert isinstance(library, Library), "the spool keeps keyed rows only"
    return (
        row.provider_code,
        row.library_name,
        *(library.values[name] for name in _DATA_COLUMNS),
        row.row_hash,
        row.raw,
        json.dumps(library.unparsed) if library.unparsed else None,
        now,
        now,
    )


def _differences(before: str | None, after: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Per changed column its name, old text and new text."""
    old, new = _texts(before), _texts(after)
    for name in _DATA_COLUMNS:
        if old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)


def _texts(raw: str | None) -> dict[str, str | None]:
    """By column; one that did not parse is as sent. Empty for a row that this release cannot key:
    another release may have stored it."""
    library = library_of(json.loads(raw)) if raw else None
    if not isinstance(library, Library):
        return {}
    texts = {name: value_text(library.values[name]) for name in _DATA_COLUMNS}
    texts |= {name: library.sent_text(name) for name in library.unparsed}
    return {name: _storable(text) for name, text in texts.items()}


def _storable(text: str | None) -> str | None:
    if text is None:
        return None
    return text[:HISTORY_CHARS].encode(errors="backslashreplace").decode()

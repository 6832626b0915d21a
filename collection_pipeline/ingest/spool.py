"""A snapshot on disk while it is judged: constant memory, no trace left (R49).

All pages are read and judged before anything is written, so the rows wait in a private SQLite
file: SQLite removes its name when it opens it, and the space goes with the handle, also when the
process is killed. Rows are keyed as the register is: the last row of a key wins, and they come back
sorted by key. Rows hold what the source sent, never a secret.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from collection_pipeline.domain.library import LibraryPage, Unkeyable, library_of
from collection_pipeline.store.libraries import SnapshotRow

MOST_RAW_BYTES = 1_000_000
"""Of one row; a larger one is no library and counts as unkeyable."""
CHUNK_ROWS = 500
CHUNK_BYTES = 2_000_000
CACHE_KIBIBYTES = 4_096
_SCHEMA = """
CREATE TABLE snapshot_rows (
    provider_code TEXT NOT NULL, library_name TEXT NOT NULL, row_hash TEXT NOT NULL,
    raw TEXT NOT NULL, unparsed INTEGER NOT NULL, page INTEGER NOT NULL,
    UNIQUE (provider_code, library_name)
);
CREATE TABLE repeated (
    provider_code TEXT NOT NULL, library_name TEXT NOT NULL,
    PRIMARY KEY (provider_code, library_name)
) WITHOUT ROWID;
"""
_PUT = (
    "INSERT INTO snapshot_rows VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET row_hash = excluded.row_hash, raw = excluded.raw, "
    "unparsed = excluded.unparsed, page = excluded.page"
)
_ON_EARLIER_PAGE = (
    "SELECT 1 FROM snapshot_rows WHERE provider_code = ? AND library_name = ? AND page < ?"
)
_REPEATED = "SELECT provider_code, library_name FROM repeated ORDER BY 1, 2"
_SORTED = "SELECT provider_code, library_name, row_hash, raw FROM snapshot_rows ORDER BY 1, 2"


class LibrarySpool:
    """The rows of one reading; ``empty`` before the next."""

    def __init__(self) -> None:
        # An empty name is a private file on disk; no journal, since it is never read again.
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.executescript(_SCHEMA)
        self.fetched = 0
        self.unkeyable = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def empty(self) -> None:
        """Forget every row."""
        self._file.execute("DELETE FROM snapshot_rows")
        self._file.execute("DELETE FROM repeated")
        self.fetched = self.unkeyable = 0

    def add(self, page: LibraryPage) -> None:
        """Keep a page's rows; those that cannot be keyed are counted."""
        self._file.execute("BEGIN")
        for row in page.rows:
            self._add(row, page.number)
        self._file.execute("COMMIT")

    def _add(self, row: Mapping[str, str], page: int) -> None:
        self.fetched += 1
        library = library_of(row)
        raw = _as_json(row)
        if isinstance(library, Unkeyable) or len(raw.encode()) > MOST_RAW_BYTES:
            self.unkeyable += 1
            return
        key = (library.provider_code, library.library_name)
        if self._file.execute(_ON_EARLIER_PAGE, (*key, page)).fetchone():
            self._file.execute("INSERT OR IGNORE INTO repeated VALUES (?, ?)", key)
        self._file.execute(_PUT, (*key, library.row_hash, raw, len(library.unparsed), page))

    @property
    def distinct(self) -> int:
        """Rows with different keys."""
        return self._number("SELECT COUNT(*) FROM snapshot_rows")

    @property
    def duplicates(self) -> int:
        """Rows whose key came again."""
        return self.fetched - self.unkeyable - self.distinct

    @property
    def unparsed(self) -> int:
        """Cells kept raw, of the rows that won."""
        return self._number("SELECT COALESCE(SUM(unparsed), 0) FROM snapshot_rows")

    def repeated_keys(self) -> str | None:
        """A digest of the keys that came on more than one page; ``None`` where none did."""
        digest = hashlib.sha256()
        found = False
        for key in self._file.execute(_REPEATED):
            found = True
            digest.update(json.dumps(key).encode())
        return digest.hexdigest() if found else None

    def chunks(self) -> Iterator[list[SnapshotRow]]:
        """Rows sorted by key, in chunks bounded by rows and bytes."""
        chunk: list[SnapshotRow] = []
        size = 0
        for columns in self._file.execute(_SORTED):
            row = SnapshotRow(*columns)
            if chunk and (len(chunk) == CHUNK_ROWS or size + len(row.raw) > CHUNK_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(row)
            size += len(row.raw)
        if chunk:
            yield chunk

    def _number(self, asked: str) -> int:
        return int(self._file.execute(asked).fetchone()[0])


def _as_json(row: Mapping[str, str]) -> str:
    readable = json.dumps(dict(row), ensure_ascii=False)
    try:
        readable.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair: no text, but JSON can say it.
        return json.dumps(dict(row))
    return readable

"""A library of the public register, keyed and typed, and where its rows come from (section 11).

Invariant: ``library_of`` never raises for what a row says. A row becomes a ``Library`` with a typed
value, an empty one or an unparsed one in each column, or it is ``Unkeyable``; nothing is dropped,
since ``raw`` keeps the texts as they were sent.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from collection_pipeline.domain.library_fields import (
    COLUMN_OF_SPELLING,
    LIBRARY_FIELDS,
    LibraryField,
    LibraryFieldKind,
    LibraryValue,
    value_text,
)

__all__ = [
    "COLUMN_OF_SPELLING",
    "KEY_COLUMNS",
    "LIBRARY_FIELDS",
    "Library",
    "LibraryFailure",
    "LibraryField",
    "LibraryFieldKind",
    "LibraryPage",
    "LibraryReadFailed",
    "LibrarySnapshot",
    "LibraryValue",
    "SnapshotMoved",
    "Unkeyable",
    "library_of",
    "value_text",
]

KEY_COLUMNS = ("provider_code", "library_name")
"""The natural key; unique in three real snapshots (platforms.md section 5.5)."""
HASH_VERSION = "library-row-1"
"""Part of every hash: a new way to read rows must look like a change of all of them."""


@dataclass(frozen=True)
class Library:
    """One keyed row.

    ``values`` holds the other 26 columns by name, ``None`` where empty or unparsed; ``unparsed``
    names the columns whose text did not fit; ``raw`` is the row as sent, by the sender's names.
    ``row_hash`` (64 hex digits) covers every column's value, or its text where it is unparsed.
    """

    provider_code: str
    library_name: str
    values: Mapping[str, LibraryValue | None]
    raw: Mapping[str, str]
    unparsed: tuple[str, ...]
    row_hash: str

    def sent_text(self, column: str) -> str | None:
        """The trimmed text of a column as sent, whether or not it parsed."""
        return _texts_by_column(self.raw).get(column)


@dataclass(frozen=True)
class Unkeyable:
    """A row without a usable key; ``reason`` is a sentence for the report."""

    reason: str
    raw: Mapping[str, str]


def library_of(raw: Mapping[str, str | None]) -> Library | Unkeyable:
    """The library in a row of texts by any of the senders' column names.

    Texts are trimmed before keying (35 cells of a real snapshot need it). Columns of unknown names
    stay in ``raw`` only; of two names for one column the first non-empty text counts.
    """
    sent = {name: text for name, text in raw.items() if text is not None}
    texts = _texts_by_column(sent)
    for column in KEY_COLUMNS:
        if not texts.get(column):
            return Unkeyable(f"{column} is empty", sent)
    values: dict[str, LibraryValue | None] = {}
    unparsed = []
    for field in LIBRARY_FIELDS:
        text = texts.get(field.name, "")
        values[field.name] = field.parse(text) if text else None
        if text and values[field.name] is None:
            unparsed.append(field.name)
    for column in KEY_COLUMNS:
        if column in unparsed:
            return Unkeyable(f"{column} does not fit its column", sent)
    row_hash = _row_hash(values, {column: texts[column] for column in unparsed})
    code, name = (str(values.pop(column)) for column in KEY_COLUMNS)
    return Library(code, name, values, sent, tuple(unparsed), row_hash)


def _texts_by_column(sent: Mapping[str, str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, text in sent.items():
        column = COLUMN_OF_SPELLING.get(name.strip())
        if column is not None and not texts.get(column):
            texts[column] = text.strip()
    return texts


def _row_hash(values: Mapping[str, LibraryValue | None], unparsed: Mapping[str, str]) -> str:
    row: list[object] = [HASH_VERSION]
    for column, value in values.items():
        row.append({"unparsed": unparsed[column]} if column in unparsed else value_text(value))
    return hashlib.sha256(json.dumps(row, ensure_ascii=True).encode()).hexdigest()


class LibraryFailure(StrEnum):
    """Why a snapshot could not be read, by what helps (platforms.md section 5.3)."""

    RETRY_LATER = "RETRY_LATER"
    CONFIGURATION = "CONFIGURATION"
    KEY = "KEY"
    QUOTA = "QUOTA"
    BAD_ANSWER = "BAD_ANSWER"


class LibraryReadFailed(Exception):
    """The snapshot was not read to its end; ``detail`` is a redacted sentence (R29)."""

    def __init__(self, kind: LibraryFailure, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class SnapshotMoved(LibraryReadFailed):
    """The register changed while its pages were read; reading again from page 1 may help (R49)."""

    def __init__(self, detail: str) -> None:
        super().__init__(LibraryFailure.RETRY_LATER, detail)


@dataclass(frozen=True)
class LibraryPage:
    """Rows as sent, by the sender's column names; ``number`` counts from 1.

    ``stated_total`` is the source's own count of all rows, where it states one; ``problems`` are
    sentences about lines that could not be read as rows, ``notes`` about what cost no row.
    """

    rows: Sequence[Mapping[str, str]]
    stated_total: int | None
    number: int
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class LibrarySnapshot(Protocol):
    """Where a whole register can be read from, page by page."""

    source: str
    """"library" or "csv"."""

    def read(self, between_pages: Callable[[], None]) -> Iterator[LibraryPage]:
        """All pages in order; raises ``LibraryReadFailed``. ``between_pages`` may raise to stop."""

"""Reading a whole snapshot into the spool, once more where it moved meanwhile (R49).

A register that changes while its pages are read can hide rows between two pages. It shows in two
ways: its total changes, or a row comes twice, on different pages, because another was put before
it. Both make the whole reading start again from page 1, once. Keys that the second reading repeats
just as the first did are the source's own, and the last one wins; any other second failure ends the
run. Two readings that break off in the same way do not move: the portal's numbers are wrong, and no
later start the same day mends them. A CSV is one text: its chunks are no pages, and what it repeats
is its own.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from collection_pipeline import checkpoints
from collection_pipeline.domain.library import (
    LibraryFailure,
    LibraryPage,
    LibraryReadFailed,
    LibrarySnapshot,
    SnapshotMoved,
)
from collection_pipeline.ingest.report import PROBLEMS_SHOWN, Ending, IngestRefused
from collection_pipeline.ingest.spool import LibrarySpool


@dataclass(frozen=True)
class Reading:
    """The last reading: the source's own total, and lines that are no rows (the first shown)."""

    stated_total: int | None
    left_out: int
    problems: tuple[str, ...]


class _SameTwice(Exception):
    """Both readings broke off at the same page with the same numbers."""


def read_settled(
    snapshot: LibrarySnapshot, spool: LibrarySpool, between_pages: Callable[[], None]
) -> Reading:
    """Fill the spool with one reading that did not move; raises ``IngestRefused``.

    ``between_pages`` is called before each page and after the last, and may raise to stop.
    """
    try:
        return _read_at_most_twice(snapshot, spool, between_pages)
    except _SameTwice as same:
        raise IngestRefused(
            Ending.INCOMPLETE,
            f"{same}, in both readings; nothing was written",
            LibraryFailure.BAD_ANSWER,
        ) from same
    except SnapshotMoved as moved:
        raise IngestRefused(
            Ending.MOVED, f"{moved.detail}; read twice, nothing was written", moved.kind
        ) from moved
    except LibraryReadFailed as failed:
        raise IngestRefused(Ending.UNREADABLE, failed.detail, failed.kind) from failed


def _read_at_most_twice(
    snapshot: LibrarySnapshot, spool: LibrarySpool, between_pages: Callable[[], None]
) -> Reading:
    repeated_before: str | None = None
    broke_off: str | None = None
    try:
        reading = _read_once(snapshot, spool, between_pages)
        repeated_before = _suspicious_keys(reading, spool)
        if repeated_before is None:
            return reading
    except SnapshotMoved as moved:
        broke_off = moved.detail
    try:
        reading = _read_once(snapshot, spool, between_pages)
    except SnapshotMoved as moved:
        if moved.detail == broke_off:
            raise _SameTwice(broke_off) from moved
        raise
    repeated = _suspicious_keys(reading, spool)
    if repeated not in (None, repeated_before):
        raise SnapshotMoved("rows moved from one page to another while they were read")
    return reading


def _suspicious_keys(reading: Reading, spool: LibrarySpool) -> str | None:
    return None if reading.stated_total is None else spool.repeated_keys()


def _read_once(
    snapshot: LibrarySnapshot, spool: LibrarySpool, between_pages: Callable[[], None]
) -> Reading:
    spool.empty()
    stated: int | None = None
    left_out = 0
    problems: list[str] = []
    with _ended(snapshot.read(between_pages)) as pages:
        for page in pages:
            if page.number > 1 and page.stated_total != stated:
                raise SnapshotMoved(f"the total changed from {stated} to {page.stated_total}")
            stated = page.stated_total
            spool.add(page)
            left_out += len(page.problems)
            problems += (*page.notes, *page.problems)[: PROBLEMS_SHOWN - len(problems)]
            checkpoints.reach(checkpoints.AFTER_LIBRARY_PAGE)
            between_pages()
    return Reading(stated, left_out, tuple(problems))


@contextmanager
def _ended(pages: Iterator[LibraryPage]) -> Iterator[Iterator[LibraryPage]]:
    """Let the source give back its connection or file at once, also where reading stops early."""
    try:
        yield pages
    finally:
        if isinstance(pages, Generator):
            pages.close()

"""What a cycle remembers across slices so that every slice makes progress (R23).

A looping ``links.next`` shows as a cursor visited before; an ignored offset as a page whose set of
ids was read before. One such page is forgiven, since pages shift while they are read; the second
is not. Both memories are bounded; a loop longer than the bound is stopped by the page budget.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

REMEMBERED_PAGES = 1_000
_DIGEST_CHARS = 12


class NoProgress(Exception):
    """The platform repeats itself: the same position, or the same page for the second time."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]


def _id_set_digest(ids: Iterable[str]) -> str:
    return _digest(json.dumps(sorted(set(ids)), ensure_ascii=False))


@dataclass(frozen=True)
class CollectionProgress:
    """Digests of visited cursors and of pages' id sets, rows read so far, and the details' end.

    ``has_gap``: an empty page lay before a page with rows. Reading went on, but what the empty page
    should have held is not known, so such a cycle proves nothing about what it did not see.
    """

    visited_cursors: tuple[str, ...] = ()
    page_sets: tuple[str, ...] = ()
    repeated_pages: int = 0
    rows_read: int = 0
    details_stopped: bool = False
    ends_empty: bool = False
    has_gap: bool = False

    def visiting(self, cursor: str) -> Self:
        """Remember that the page at ``cursor`` is about to be read.

        Raises ``NoProgress`` when it was read before in this cycle.
        """
        digest = _digest(cursor)
        if digest in self.visited_cursors:
            raise NoProgress("the next position was already visited in this cycle")
        return replace(self, visited_cursors=(*self.visited_cursors, digest)[-REMEMBERED_PAGES:])

    def has_visited(self, cursor: str) -> bool:
        """Whether the page at ``cursor`` was read before in this cycle."""
        return _digest(cursor) in self.visited_cursors

    def after_page(self, ids: list[str]) -> Self:
        """Remember a page's rows; the caller asks ``is_stuck`` once the rows are kept."""
        advanced = replace(
            self,
            rows_read=self.rows_read + len(ids),
            ends_empty=not ids,
            has_gap=self.has_gap or (bool(ids) and self.ends_empty),
        )
        if not ids:
            return advanced
        digest = _id_set_digest(ids)
        if digest in self.page_sets:
            return replace(advanced, repeated_pages=self.repeated_pages + 1)
        return replace(advanced, page_sets=(*self.page_sets, digest)[-REMEMBERED_PAGES:])

    @property
    def is_stuck(self) -> bool:
        """True from the second page on that repeats an earlier page's set of ids."""
        return self.repeated_pages >= 2

    def stopping_details(self) -> Self:
        """No further detail in this cycle: the host refused one (R22)."""
        return replace(self, details_stopped=True)

    def encoded(self) -> str:
        """The JSON text stored on the cycle."""
        return json.dumps(
            {
                "cursors": self.visited_cursors,
                "pages": self.page_sets,
                "repeats": self.repeated_pages,
                "rows": self.rows_read,
                "details_stopped": self.details_stopped,
                "ends_empty": self.ends_empty,
                "gap": self.has_gap,
            },
            separators=(",", ":"),
        )

    @classmethod
    def decoded(cls, text: str | None) -> Self:
        """The progress stored as ``text``; nothing stored means a fresh cycle."""
        if not text:
            return cls()
        body = json.loads(text)
        return cls(
            tuple(body["cursors"]),
            tuple(body["pages"]),
            body["repeats"],
            body["rows"],
            body["details_stopped"],
            body["ends_empty"],
            body["gap"],
        )

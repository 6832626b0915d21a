"""Do the pages make up one register? (R49; section 5.5: pages may shift during the read)

Invariant: when ``is_complete`` is True, the rows handed on are exactly as many as every page
stated. What another reading may mend is ``SnapshotMoved``; what it would meet again is a bad
answer. Only the page before is remembered, however many there are.
"""

from collections.abc import Mapping

from collection_pipeline.domain.library import LibraryPage, SnapshotMoved
from collection_pipeline.platforms.library.envelope import LibraryAnswer
from collection_pipeline.platforms.library.errors import bad_answer

MOST_PAGES = 1_000
"""A day's quota of calls; a total beyond it could never be read."""


class PageSequence:
    """Checks the answers to pages 1, 2, 3 ... of ``page_rows`` rows each."""

    def __init__(self, page_rows: int) -> None:
        self._page_rows = page_rows
        self._total = 0
        self._rows_seen = 0
        self._before: tuple[Mapping[str, str], ...] = ()
        self.number = 1

    @property
    def is_complete(self) -> bool:
        """Whether the pages accepted so far hold every row."""
        return self.number > 1 and self._rows_seen == self._total

    def accept(self, answer: LibraryAnswer) -> LibraryPage:
        """The next page, or ``SnapshotMoved`` or a bad answer."""
        if self.number == 1:
            self._begin(answer)
        self._check_place(answer)
        self._check_size(answer)
        if self._before and answer.rows and answer.rows[0] in self._before:
            raise SnapshotMoved(f"page {self.number} begins with a row of the page before")
        page = LibraryPage(answer.rows, self._total, self.number)
        self._rows_seen += len(answer.rows)
        self._before = answer.rows
        self.number += 1
        return page

    def _begin(self, answer: LibraryAnswer) -> None:
        self._total = answer.total or 0
        if self._total > MOST_PAGES * self._page_rows:
            raise bad_answer(f"a total of {self._total} rows is more than a day's calls can bring")

    def _check_place(self, answer: LibraryAnswer) -> None:
        if answer.page is not None and answer.page != self.number:
            raise bad_answer(f"page {self.number} was asked for, page {answer.page} came")
        if self._before and answer.rows == self._before:
            raise bad_answer(f"page {self.number} is page {self.number - 1} once more")
        if self.number > 1 and answer.total is None:
            raise SnapshotMoved(f"page {self.number} is past the end, {self._missing} rows early")
        if self.number > 1 and answer.total != self._total:
            raise SnapshotMoved(
                f"the total went from {self._total} to {answer.total} on page {self.number}"
            )

    def _check_size(self, answer: LibraryAnswer) -> None:
        rows = len(answer.rows)
        due = min(self._page_rows, self._missing)
        if rows > self._page_rows:
            raise bad_answer(
                f"page {self.number} has {rows} rows, {self._page_rows} were asked for"
            )
        if rows == due:
            return
        if rows and rows < due and answer.page_rows == rows:
            raise bad_answer(f"the portal gives pages of {rows} rows, {due} were asked for")
        raise SnapshotMoved(
            f"page {self.number} has {rows} rows where the total of {self._total} leaves {due}"
        )

    @property
    def _missing(self) -> int:
        return self._total - self._rows_seen

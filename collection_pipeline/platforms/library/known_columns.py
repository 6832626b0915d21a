"""Do the rows of a whole reading still have every column of the register? (R10, R49)

Invariant: a column that no row of the reading has, by any of its spellings, is a changed form, not
a column that became empty in every library. Judged over all rows, never row by row: the portal
sends every value as a text, "" when empty (platforms.md section 5.1), but one row proves little.
"""

from collections.abc import Iterable, Mapping

from collection_pipeline.domain.library import COLUMN_OF_SPELLING, LIBRARY_FIELDS
from collection_pipeline.platforms.library.errors import bad_answer

NAMES_SHOWN = 5


class KnownColumns:
    """Collects the columns of page after page."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._has_rows = False

    def note(self, rows: Iterable[Mapping[str, str]]) -> None:
        """One page's rows, by the sender's names."""
        for row in rows:
            self._has_rows = True
            self._seen.update(COLUMN_OF_SPELLING.get(name.strip(), "") for name in row)

    def require_all(self) -> None:
        """Raise a bad answer that names the columns no row had; no rows at all say nothing."""
        missing = [field.korean for field in LIBRARY_FIELDS if field.name not in self._seen]
        if self._has_rows and missing:
            names = ", ".join(missing[:NAMES_SHOWN])
            more = f" and {len(missing) - NAMES_SHOWN} more" if len(missing) > NAMES_SHOWN else ""
            raise bad_answer(f"the form has changed: columns {names}{more} are missing")

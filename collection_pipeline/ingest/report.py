"""What an ingest tells its starter (R51), and why a run ends without success.

Invariant: a reason begins with one fixed word of ``Ending``, so that people and monitors can tell
causes apart, and holds no secret: it is written here or is a reading's redacted sentence (R29).
"""

from dataclasses import dataclass
from enum import StrEnum

from collection_pipeline.domain.library import LibraryFailure
from collection_pipeline.store.ingest_runs import IngestCounts, IngestStatus

PROBLEMS_SHOWN = 50


class Ending(StrEnum):
    """The first word of a reason."""

    BUSY = "busy"
    EMPTY = "empty"
    INCOMPLETE = "incomplete"
    TOO_SMALL = "too small"
    MOVED = "moved"
    UNREADABLE = "unreadable"
    STOPPED = "stopped"
    LOCK_LOST = "lock lost"
    DATABASE = "database"
    INTERNAL = "internal"
    LEFT_OUT = "lines left out"
    REPEATED = "repeated rows"
    UNKEYABLE = "rows without a key"


class IngestRefused(Exception):
    """The run ends FAILED before its stale step; nothing was deactivated."""

    def __init__(
        self, ending: Ending, sentence: str, failure_kind: LibraryFailure | None = None
    ) -> None:
        super().__init__(f"{ending}: {sentence}")
        self.ending = ending
        self.failure_kind = failure_kind

    @property
    def retry_later(self) -> bool:
        """The same run may succeed later the same day (exit code 75)."""
        return self.failure_kind is LibraryFailure.RETRY_LATER


@dataclass(frozen=True)
class IngestReport:
    """One run: all counts are rows of the last reading, ``unparsed`` counts cells.

    fetched = distinct keyed + duplicates + unkeyable; upserted = added + changed + unchanged, the
    distinct keyed rows confirmed. ``left_out`` lines of a CSV are no rows and not fetched;
    ``problems`` says the first of them, with their line numbers. ``total`` is the source's own.
    """

    run_id: int
    status: IngestStatus
    reason: str | None
    counts: IngestCounts
    total: int | None
    seconds: float
    retry_later: bool = False
    failure_kind: LibraryFailure | None = None
    problems: tuple[str, ...] = ()

    @property
    def fetched(self) -> int:
        """Rows received in the last reading, unkeyable and repeated ones included."""
        return self.counts.fetched

    @property
    def upserted(self) -> int:
        """Distinct keyed rows confirmed, unchanged ones included."""
        return self.counts.upserted

    @property
    def added(self) -> int:
        """Rows whose key was new."""
        return self.counts.added

    @property
    def changed(self) -> int:
        """Known rows whose values changed."""
        return self.counts.changed

    @property
    def reactivated(self) -> int:
        """Known rows that had been switched off."""
        return self.counts.reactivated

    @property
    def deactivated(self) -> int:
        """Active rows that the snapshot does not contain."""
        return self.counts.deactivated

    @property
    def unkeyable(self) -> int:
        """Rows without a usable key; they count as fetched."""
        return self.counts.unkeyable

    @property
    def unparsed(self) -> int:
        """Cells whose text did not fit their column and is kept raw."""
        return self.counts.unparsed

    @property
    def duplicates(self) -> int:
        """Rows whose key came again later in the snapshot: the last one counts."""
        return self.counts.duplicate

    @property
    def left_out(self) -> int:
        """Lines of a CSV that are no rows."""
        return self.counts.left_out

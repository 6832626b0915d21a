"""Whether a snapshot may be written at all, and whether absence from it proves anything (R49).

Three steps, from what changes nothing to what changes all:

* Refused: empty, other than as many rows as the source states, implausibly small, or with more
  doubtful rows than a tiny share. Nothing is written.
* Stored, but nothing is deactivated: a doubtful row (its key came before, or it has none) or a line
  that is no row stands where another library may have stood.
* Complete: distinct keyed rows alone are as many as the source states.

A register that states no total proves nothing, so the API must state one; the end of a CSV file is
its own proof. Small is measured in distinct keyed rows against the active ones, since only those
can confirm anything. ``allow_shrink`` lets a small snapshot pass, nothing else.
"""

from dataclasses import dataclass

from collection_pipeline.ingest.report import Ending, IngestRefused
from collection_pipeline.store.ingest_runs import IngestCounts

MOST_DOUBTFUL_PERCENT = 1
"""Of the rows fetched. Three real snapshots hold no repeated key and no row without one."""


@dataclass(frozen=True)
class SnapshotSize:
    """A reading in rows; ``stated`` is the source's own count, ``None`` where it states none."""

    counts: IngestCounts
    distinct: int
    stated: int | None
    must_state: bool


def require_plausible(
    size: SnapshotSize, active: int, least_share_percent: int, *, allow_shrink: bool
) -> None:
    """Raise ``IngestRefused`` for a snapshot that must not be written."""
    fetched = size.counts.fetched
    if size.distinct == 0:
        raise IngestRefused(
            Ending.EMPTY, f"no row with a key among {fetched:,} fetched; nothing was written"
        )
    if size.stated is None and size.must_state:
        raise IngestRefused(Ending.INCOMPLETE, "the source states no total; nothing was written")
    if size.stated is not None and fetched != size.stated:
        raise IngestRefused(
            Ending.INCOMPLETE,
            f"{fetched:,} rows fetched of {size.stated:,} stated; nothing was written",
        )
    doubtful = size.counts.duplicate + size.counts.unkeyable
    if doubtful * 100 > fetched * MOST_DOUBTFUL_PERCENT:
        raise IngestRefused(
            Ending.INCOMPLETE,
            f"{_in_words(size.counts)}; more than {MOST_DOUBTFUL_PERCENT} % of {fetched:,} "
            "fetched; nothing was written",
        )
    if size.distinct * 100 < active * least_share_percent and not allow_shrink:
        raise IngestRefused(
            Ending.TOO_SMALL,
            f"{size.distinct:,} rows against {active:,} active ones, less than "
            f"{least_share_percent} %; nothing was written",
        )


def why_absence_proves_nothing(counts: IngestCounts) -> str | None:
    """The reason for which no row may be switched off; ``None`` for a complete snapshot."""
    doubts = _in_words(counts)
    return f"{doubts}; so no row was deactivated" if doubts else None


def _in_words(counts: IngestCounts) -> str:
    doubts = {
        Ending.LEFT_OUT: counts.left_out,
        Ending.REPEATED: counts.duplicate,
        Ending.UNKEYABLE: counts.unkeyable,
    }
    return "; ".join(f"{ending}: {rows:,}" for ending, rows in doubts.items() if rows)

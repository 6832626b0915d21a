"""Whether a snapshot may be written at all: not empty, complete, not implausibly small (R49).

Complete means: as many rows as the source states were received. Unkeyable rows and repeated keys
count, since the source counts them too. A register that states no total proves nothing, so the API
must state one; the end of a CSV file is its own proof. Small is measured in distinct keyed rows
against the active ones, since only those can confirm anything. ``allow_shrink`` lets a small
snapshot pass, never an empty or incomplete one: an empty register is no register.
"""

from dataclasses import dataclass

from collection_pipeline.ingest.report import Ending, IngestRefused


@dataclass(frozen=True)
class SnapshotSize:
    """A reading in rows; ``stated`` is the source's own count, ``None`` where it states none."""

    fetched: int
    distinct: int
    stated: int | None
    must_state: bool


def require_plausible(
    size: SnapshotSize, active: int, least_share_percent: int, *, allow_shrink: bool
) -> None:
    """Raise ``IngestRefused`` for a snapshot that must not be written."""
    if size.distinct == 0:
        raise IngestRefused(
            Ending.EMPTY, f"no row with a key among {size.fetched:,} fetched; nothing was written"
        )
    if size.stated is None and size.must_state:
        raise IngestRefused(Ending.INCOMPLETE, "the source states no total; nothing was written")
    if size.stated is not None and size.fetched != size.stated:
        raise IngestRefused(
            Ending.INCOMPLETE,
            f"{size.fetched:,} rows fetched of {size.stated:,} stated; nothing was written",
        )
    if size.distinct * 100 < active * least_share_percent and not allow_shrink:
        raise IngestRefused(
            Ending.TOO_SMALL,
            f"{size.distinct:,} rows against {active:,} active ones, less than "
            f"{least_share_percent} %; nothing was written",
        )

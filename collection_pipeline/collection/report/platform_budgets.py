"""One proposed daily budget a platform and measure, with its reasoning in words.

The platform's budget holds for each of its sources that has no limit of its own, so it is that of
the source that needs most; the words name it, and what the others would need, since one large
source may be better served by a limit of its own. It is lowered only where every such source was
measured. The platform's sources share its host: their busy days together must fit one day.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from collection_pipeline.collection.report.facts import MEASURES
from collection_pipeline.collection.report.proposals import (
    HEADROOM,
    LEAST_USABLE_DAYS,
    REQUESTS,
    SECONDS_A_DAY,
    ProposalKind,
)

WORDS = {
    "list_pages": "list pages",
    "postings": "postings",
    "detail_requests": "detail requests",
}
SHOWN_LABEL_CHARS = 60
TO_THE_SNAPSHOT_HOURS = 9
"""From midnight to the snapshot at its usual hour."""


@dataclass(frozen=True)
class PlatformBudget:
    """``kind`` and numbers as in ``proposals``; ``usable`` and ``unknown`` count source-days."""

    platform: str
    measure: str
    present: int
    proposed: int
    kind: str
    usable: int
    unknown: int
    reasoning: str


def platform_budgets(
    proposals: pd.DataFrame, platforms: list[str], present: dict[tuple[str, str], int]
) -> list[PlatformBudget]:
    """By platform and measure; ``present``: the platform's limit by (platform, measure)."""
    hours = host_hours(proposals)
    rows = dict(list(proposals.groupby(["platform", "measure"])))
    return [
        _budget(
            platform,
            measure,
            present[platform, measure],
            rows.get((platform, measure), proposals.iloc[:0]),
            hours.get(platform, 0.0),
        )
        for platform in platforms
        for measure in MEASURES
    ]


def host_hours(proposals: pd.DataFrame) -> dict[str, float]:
    """Hours of the host that a busy day of all active sources takes, by platform."""
    asks = proposals[proposals["measure"].isin(REQUESTS)]
    seconds = asks["busy"] * asks["delay_ms"] / 1000
    return {
        str(name): float(value) / 3600
        for name, value in seconds.groupby(asks["platform"]).sum().items()
    }


def _budget(
    platform: str, measure: str, present: int, rows: pd.DataFrame, hours: float
) -> PlatformBudget:
    sharing = rows[~rows["is_own"].astype(bool)]
    usable, unknown = int(sharing["usable"].sum()), int(sharing["unknown"].sum())
    kind, proposed, said = _decided(measure, present, sharing)
    if measure in REQUESTS and proposed > present:
        allowed = _fitting(present, proposed, hours)
        if allowed < proposed:
            said += (
                f" Lowered from {proposed:,} to {allowed:,}: a busy day of all sources takes "
                f"{hours:.1f} hours at the host's delay, and a day has 24. Narrower conditions are "
                "the way out."
            )
            proposed = allowed
        elif hours > TO_THE_SNAPSHOT_HOURS:
            said += (
                f" A busy day of all sources takes {hours:.1f} hours at the host's delay: more "
                f"than the {TO_THE_SNAPSHOT_HOURS} until the snapshot."
            )
    return PlatformBudget(platform, measure, present, proposed, kind, usable, unknown, said)


def _fitting(present: int, proposed: int, hours: float) -> int:
    """What of a raise fits a day that is ``hours`` long already; no cut below the present."""
    factor = SECONDS_A_DAY / 3600 / hours if hours > 24 else 1.0
    return max(present, int(np.floor(proposed * factor)))


def _decided(measure: str, present: int, rows: pd.DataFrame) -> tuple[str, int, str]:
    """Kind, amount and words; a step comes first, since it says that today's is too little."""
    words = WORDS[measure]
    if rows.empty:
        return ProposalKind.KEEP.value, present, f"Keep {present:,}: no active source shares it."
    steps = _largest_first(rows, ProposalKind.STEP)
    measured = _largest_first(rows, ProposalKind.MEASURED)
    if len(steps):
        proposed = int(max([*steps["proposed"].head(1), *measured["proposed"].head(1)]))
        return ProposalKind.STEP.value, proposed, _step_words(words, present, proposed, steps)
    if len(measured):
        return _measured(words, present, rows, measured)
    if (rows["kind"] == ProposalKind.UNUSED.value).all():
        return ProposalKind.UNUSED.value, present, f"Keep {present:,}: no {words} were asked for."
    waiting = rows[rows["kind"] == ProposalKind.KEEP.value]
    return ProposalKind.KEEP.value, present, _keep_words(present, waiting)


def _largest_first(rows: pd.DataFrame, kind: ProposalKind) -> pd.DataFrame:
    return rows[rows["kind"] == kind.value].sort_values(
        ["proposed", "job_source_id"], ascending=[False, True]
    )


def _measured(
    words: str, present: int, rows: pd.DataFrame, measured: pd.DataFrame
) -> tuple[str, int, str]:
    first = measured.iloc[0]
    proposed = int(first["proposed"])
    said = source_words(words, first)
    if len(measured) > 1:
        said += (
            f" It is the source with the largest need; of the other {len(measured) - 1:,} none "
            f"would need more than {int(measured['proposed'].iloc[1]):,}."
        )
    waiting = rows[rows["kind"] == ProposalKind.KEEP.value]
    if proposed < present and len(waiting):
        return (
            ProposalKind.KEEP.value,
            present,
            f"Keep {present:,}, although measured sources would do with {proposed:,}: "
            f"{len(waiting):,} of {len(rows):,} active sources have fewer than "
            f"{LEAST_USABLE_DAYS} usable days. {said}",
        )
    return ProposalKind.MEASURED.value, proposed, said


def source_words(words: str, row: pd.Series) -> str:
    """How one measured source comes to its proposal."""
    reckoned = int(row["reckoned"])
    known = f"{int(row['usable']):,} usable days"
    if reckoned:
        known += (
            f" ({reckoned:,} of them ran out and are reckoned from the platform's stated total or "
            "from the new and changed postings)"
        )
    needed = int(row["p95"])
    least = max(int(row["highest"]), int(row["floor"]))
    said = (
        f"{_named(row)}: on {known}, 95 in 100 needed at most {needed:,} {words}, the highest "
        f"{least:,}."
    )
    if bool(row["is_capped"]):
        return said + (
            f" Pages and details must fit a day at {int(row['delay_ms']):,} ms each, so "
            f"{int(row['proposed']):,}: less than needed; narrow its conditions."
        )
    if int(row["proposed"]) == least:
        return said + f" {least:,} covers every day seen."
    if int(row["unknown"]):
        return said + f" {int(row['unknown'])} day(s) ran out untold, so it is not lowered."
    return said + f" With {HEADROOM:.0%} more, at least one slice: {int(row['proposed']):,}."


def _step_words(words: str, present: int, proposed: int, rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    return (
        f"{_named(first)}: {int(first['unknown']):,} days ran out of {words} and do not say how "
        f"many they needed (no stated total, or older postings waiting); {len(rows):,} source(s) "
        f"like it. {present:,} is known to be too little and nothing more is known: a step to "
        f"{proposed:,}, to be looked at again after a week."
    )


def _keep_words(present: int, rows: pd.DataFrame) -> str:
    most = int(rows["usable"].max())
    return (
        f"Keep {present:,}: no source has {LEAST_USABLE_DAYS} usable days, the best has {most:,}. "
        "Fewer may be luck."
    )


def _named(row: pd.Series) -> str:
    label = str(row["label"])
    if len(label) > SHOWN_LABEL_CHARS:
        label = label[: SHOWN_LABEL_CHARS - 1] + "…"
    return f"Source {int(row['job_source_id'])} ({label})"

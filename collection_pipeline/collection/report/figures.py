"""What a period used, by platform and by source: counts, waits, failures, days out of budget.

Invariant: every source that has a cycle in the period, or is active, has a row; sums of its
sources are its platform's. Shares are of all days with a cycle, so a failed day is none the less a
day.
"""

import pandas as pd

from collection_pipeline.collection.report.day_kind import KINDS, DayKind
from collection_pipeline.collection.report.facts import FAILURES, LIMITS, MEASURES, ReportFacts

SUMS = [
    "days",
    *(f"{kind}_days" for kind in KINDS),
    *(f"exhausted_{limit.lower()}" for limit in LIMITS),
    *MEASURES,
    "detail_failures",
    "seconds_waited",
    "rate_limited",
]
"""What is added up; the columns of both tables after those that say whose they are."""


def source_figures(facts: ReportFacts) -> pd.DataFrame:
    """One row a source: who it is, ``SUMS``, ``exhausted_share`` and ``failures`` in words."""
    days = facts.days
    by_source = days.groupby("job_source_id")
    used = by_source[[*MEASURES, "detail_failures"]].sum()
    used["days"] = by_source.size()
    counted = [used]
    exhausted = days[days["kind"] == DayKind.EXHAUSTED.value]
    counted.append(_counts(days, "kind", KINDS, "{}_days"))
    counted.append(_counts(exhausted, "limit", LIMITS, "exhausted_{}"))
    who = facts.sources[["job_source_id", "platform", "label", "active"]].set_index("job_source_id")
    table = who.join(counted).join(facts.waits.set_index("job_source_id"))
    table[SUMS] = table[SUMS].fillna(0)
    table = table[table["active"] | (table["days"] > 0)].reset_index()
    return _finished(table, _failures(days, "job_source_id"), "job_source_id")


def platform_figures(facts: ReportFacts, of_sources: pd.DataFrame) -> pd.DataFrame:
    """One row a platform: ``sources`` (rows below it), ``SUMS``, the share and the failures."""
    table = of_sources.groupby("platform")[SUMS].sum()
    table.insert(0, "sources", of_sources.groupby("platform").size())
    platforms = facts.sources.set_index("job_source_id")["platform"]
    days = facts.days[["job_source_id", "failure"]].assign(
        platform=facts.days["job_source_id"].map(platforms)
    )
    return _finished(table.reset_index(), _failures(days, "platform"), "platform")


def unusable_days(facts: ReportFacts) -> pd.DataFrame:
    """Days that measure nothing: ``run_date``, ``platform``, ``kind`` and how many sources."""
    platforms = facts.sources.set_index("job_source_id")["platform"]
    useless = facts.days[
        ~facts.days["kind"].isin([DayKind.COMPLETE.value, DayKind.EXHAUSTED.value])
    ]
    return (
        useless.assign(
            platform=useless["job_source_id"].map(platforms), kind=useless["kind"].astype("str")
        )
        .groupby(["platform", "run_date", "kind"], as_index=False)
        .size()
        .rename(columns={"size": "sources"})
    )


def _counts(days: pd.DataFrame, column: str, values: list[str], name: str) -> pd.DataFrame:
    table = pd.crosstab(days["job_source_id"], days[column].astype("object"))
    table = table.reindex(columns=values, fill_value=0)
    return table.set_axis([name.format(value.lower()) for value in values], axis="columns")


def _failures(days: pd.DataFrame, key: str) -> pd.Series:
    """``TIMEOUT 3, HTTP_5XX 1`` by ``key``, the most frequent first."""
    failed = days[days["failure"].notna()]
    counts = failed.assign(failure=failed["failure"].astype("str"))
    counts = counts.groupby([key, "failure"], as_index=False).size()
    counts["place"] = counts["failure"].map({name: at for at, name in enumerate(FAILURES)})
    counts = counts.sort_values(["size", "place"], ascending=[False, True])
    words: dict[object, list[str]] = {}
    for owner, reason, count in zip(counts[key], counts["failure"], counts["size"], strict=True):
        words.setdefault(owner, []).append(f"{reason} {count}")
    return pd.Series({owner: ", ".join(said) for owner, said in words.items()}, dtype="object")


def _finished(table: pd.DataFrame, failures: pd.Series, key: str) -> pd.DataFrame:
    whole = [name for name in SUMS if name != "seconds_waited"]
    table[whole] = table[whole].astype("int64")
    table["seconds_waited"] = table["seconds_waited"].astype("float64").round(1)
    share = table["exhausted_days"] / table["days"].where(table["days"] > 0)
    table["exhausted_share"] = share.round(4)
    table["failures"] = table[key].map(failures).astype("object").fillna("")
    return table

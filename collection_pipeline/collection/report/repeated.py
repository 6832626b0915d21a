"""Sources that ran out of budget again and again, each with its two choices in numbers (R9).

The report changes nothing. Narrower conditions or more budget is the owner's decision: a budget
costs the host requests, a condition costs postings.
"""

from dataclasses import dataclass

import pandas as pd

from collection_pipeline.collection.report.day_kind import DayKind
from collection_pipeline.collection.report.facts import ReportFacts
from collection_pipeline.collection.report.needs import MEASURE_OF_LIMIT
from collection_pipeline.collection.report.platform_budgets import WORDS
from collection_pipeline.collection.report.proposals import REPEATED_DAYS, ProposalKind


@dataclass(frozen=True)
class RepeatedlyExhausted:
    """An active source out of one limit on ``exhausted_days`` of its ``days``."""

    platform: str
    job_source_id: int
    label: str
    limit: str
    exhausted_days: int
    days: int
    present: int | None
    proposed: int | None
    narrower: str
    more: str


def repeatedly_exhausted(facts: ReportFacts, proposals: pd.DataFrame) -> list[RepeatedlyExhausted]:
    """By days out of budget, the most first; a source may be there for two limits."""
    exhausted = facts.days[facts.days["kind"] == DayKind.EXHAUSTED.value]
    counts = (
        exhausted.assign(limit=exhausted["limit"].astype("object"))
        .groupby(["job_source_id", "limit"], as_index=False)
        .agg(exhausted_days=("postings", "size"), stated_total=("stated_total", "max"))
    )
    counts = counts[counts["exhausted_days"] >= REPEATED_DAYS]
    active = facts.sources[facts.sources["active"]]
    counts = counts.merge(active[["job_source_id", "platform", "label"]], on="job_source_id")
    counts["days"] = counts["job_source_id"].map(facts.days.groupby("job_source_id").size())
    counts["measure"] = counts["limit"].map(MEASURE_OF_LIMIT)
    wanted = ["job_source_id", "measure", "present", "proposed", "kind", "highest", "is_capped"]
    rows = counts.merge(proposals[wanted], on=["job_source_id", "measure"], how="left")
    rows = rows.sort_values(["exhausted_days", "job_source_id"], ascending=[False, True])
    return [_choices(row) for row in rows.to_dict("records")]


def _choices(row: dict[str, object]) -> RepeatedlyExhausted:
    is_budget = isinstance(row["measure"], str)
    return RepeatedlyExhausted(
        platform=str(row["platform"]),
        job_source_id=_number(row["job_source_id"]),
        label=str(row["label"]),
        limit=str(row["limit"]),
        exhausted_days=_number(row["exhausted_days"]),
        days=_number(row["days"]),
        present=_number(row["present"]) if is_budget else None,
        proposed=_number(row["proposed"]) if is_budget else None,
        narrower=_narrower(row),
        more=_more(row),
    )


def _narrower(row: dict[str, object]) -> str:
    if not isinstance(row["measure"], str):
        return "Narrower conditions: fewer or smaller searches share the key."
    said = f"Narrower conditions: at most {_number(row['present']):,} {WORDS[row['measure']]} a day"
    if row["highest"] == row["highest"] and _number(row["highest"]) > _number(row["present"]):
        said += f" instead of {_number(row['highest']):,}"
    if row["stated_total"] == row["stated_total"]:
        said += f"; the platform states up to {_number(row['stated_total']):,} postings"
    return f"{said}. Split the search over several sources."


def _more(row: dict[str, object]) -> str:
    if not isinstance(row["measure"], str):
        return "More budget: a larger quota of the key; no daily budget here changes it."
    present, proposed = _number(row["present"]), _number(row["proposed"])
    if proposed <= present:
        return (
            f"More budget: today's {present:,} would have held on every known day of the period; "
            "wait a week before raising it."
        )
    said = f"More budget: {present:,} to {proposed:,} {WORDS[row['measure']]} a day"
    if row["is_capped"]:
        return f"{said}, which is all that a day holds and less than needed."
    if row["kind"] == ProposalKind.STEP.value:
        return f"{said}, a step, since no day says how many it needed."
    return f"{said}, by what the period's days needed."


def _number(value: object) -> int:
    """Frames hand out numbers of their own kinds."""
    return int(value)  # type: ignore[call-overload,no-any-return]  # a count, out of pandas

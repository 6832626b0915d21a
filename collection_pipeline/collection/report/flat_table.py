"""The report as one table for a file: a row a platform, then a row a source, told by ``scope``.

Text that a spreadsheet would take for a formula begins with an apostrophe in CSV: labels are typed
by people and titles of searches come from elsewhere. Parquet keeps them as they are.
"""

import pandas as pd

from collection_pipeline.collection.report.budget_report import BudgetReport
from collection_pipeline.collection.report.facts import MEASURES
from collection_pipeline.collection.report.figures import SUMS

FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
WHO = ["scope", "platform", "job_source_id", "label", "active", "sources"]
AFTER = ["exhausted_share", "failures"]


def flat_table(report: BudgetReport) -> pd.DataFrame:
    """Columns: period, ``WHO``, ``SUMS``, share, failures, budgets by measure, words."""
    platforms = report.platforms.assign(scope="platform")
    sources = report.sources.assign(scope="source")
    table = pd.concat(
        [
            platforms.merge(_platform_budgets(report), on="platform", how="left"),
            sources.merge(_source_budgets(report), on="job_source_id", how="left"),
        ],
        ignore_index=True,
    )
    table.insert(0, "first_day", report.first_day.isoformat())
    table.insert(1, "last_day", report.last_day.isoformat())
    for name in ("job_source_id", "sources", *_budget_columns("present", "proposed")):
        table[name] = table[name].astype("Int64")
    table["active"] = table["active"].astype("boolean")
    texts = ["scope", "platform", "label", "failures", *_budget_columns("kind"), "reasoning"]
    table[texts] = table[texts].fillna("").astype("str")
    ordered = ["first_day", "last_day", *WHO, *SUMS, *AFTER]
    return table[[*ordered, *_budget_columns("present", "proposed", "kind"), "reasoning"]]


def csv_text(table: pd.DataFrame) -> str:
    """RFC 4180 lines with a header; no cell begins a formula."""
    safe = table.copy()
    for name in safe.columns:
        if pd.api.types.is_string_dtype(safe[name]):
            begins = safe[name].str.startswith(FORMULA_BEGINNINGS).fillna(False)
            safe[name] = safe[name].where(~begins, "'" + safe[name])
    text: str = safe.to_csv(index=False, lineterminator="\r\n")
    return text


def _budget_columns(*parts: str) -> list[str]:
    return [f"{measure}_{part}" for measure in MEASURES for part in parts]


def _platform_budgets(report: BudgetReport) -> pd.DataFrame:
    rows: dict[str, dict[str, object]] = {}
    for one in report.budgets:
        row = rows.setdefault(one.platform, {"platform": one.platform, "reasoning": ""})
        row[f"{one.measure}_present"] = one.present
        row[f"{one.measure}_proposed"] = one.proposed
        row[f"{one.measure}_kind"] = one.kind
        row["reasoning"] = f"{row['reasoning']} {one.measure}: {one.reasoning}".strip()
    columns = ["platform", "reasoning", *_budget_columns("present", "proposed", "kind")]
    return pd.DataFrame(list(rows.values()), columns=columns)


def _source_budgets(report: BudgetReport) -> pd.DataFrame:
    wide = report.proposals.pivot(
        index="job_source_id", columns="measure", values=["present", "proposed", "kind"]
    )
    wide.columns = [f"{measure}_{part}" for part, measure in wide.columns]
    wide = wide.reindex(columns=_budget_columns("present", "proposed", "kind"))
    words: dict[int, str] = {}
    for one in report.exhausted:
        said = f"{one.limit} on {one.exhausted_days} of {one.days} days. {one.narrower} {one.more}"
        words[one.job_source_id] = f"{words.get(one.job_source_id, '')} {said}".strip()
    wide = wide.reset_index()
    wide["reasoning"] = wide["job_source_id"].map(words).astype("object").fillna("")
    return wide

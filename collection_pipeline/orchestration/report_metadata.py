"""What the budget report shows in Dagster: numbers that the UI plots, tables and a chart (R45).

Invariant: an event stays small whatever the number of sources, since Dagster keeps it for ever;
the whole list is the command line's. A picture is shown from markdown as a ``data:`` address, which
the UI allows for images and which asks nobody.
"""

import dagster as dg
import pandas as pd

from collection_pipeline.collection.report.budget_report import BudgetReport, records
from collection_pipeline.collection.report.chart import data_uri, days_chart
from collection_pipeline.collection.report.not_usable import days_not_usable

SHOWN_SOURCES = 20
SHOWN_DAYS = 40
SHOWN_LABEL_CHARS = 60
ReportMetadata = dict[str, str | int | float | dg.MarkdownMetadataValue]

TOTALS = ("days", "complete_days", "exhausted_days", "failed_days", "list_pages", "postings")
FIGURES = ("sources", *TOTALS, "detail_requests", "seconds_waited", "failures")


def report_metadata(report: BudgetReport) -> ReportMetadata:
    """Totals and the share out of budget by platform as numbers, the rest as markdown."""
    platforms = report.platforms
    metadata: ReportMetadata = {
        "first_day": report.first_day.isoformat(),
        "last_day": report.last_day.isoformat(),
        "active_sources": int(report.sources["active"].sum()),
        "repeatedly_exhausted": len(report.exhausted),
        **{name: int(platforms[name].sum()) for name in (*TOTALS, "detail_requests")},
        "seconds_waited": round(float(platforms["seconds_waited"].sum()), 1),
    }
    for row in records(platforms):
        if row["exhausted_share"] is not None:
            share = float(str(row["exhausted_share"]))
            metadata[f"exhausted_share_{row['platform']}"] = share
    metadata["figures"] = dg.MetadataValue.md(_figures(platforms))
    metadata["daily_budgets"] = dg.MetadataValue.md(_budgets(report))
    metadata["out_of_budget"] = dg.MetadataValue.md(_exhausted(report))
    metadata["days_not_usable"] = dg.MetadataValue.md(_not_usable(report))
    metadata["how_days_ended"] = dg.MetadataValue.md(
        f"![How each platform's days ended]({data_uri(days_chart(platforms))})"
    )
    return metadata


def _figures(platforms: pd.DataFrame) -> str:
    rows = [
        [row["platform"], *(row[name] for name in FIGURES), _percent(row["exhausted_share"])]
        for row in records(platforms)
    ]
    return _table(["platform", *FIGURES, "out of budget"], rows)


def _budgets(report: BudgetReport) -> str:
    rows: list[list[object]] = [
        [one.platform, one.measure, one.present, one.proposed, one.kind, one.reasoning]
        for one in report.budgets
    ]
    return _table(["platform", "budget", "today", "proposed", "kind", "reasoning"], rows)


def _exhausted(report: BudgetReport) -> str:
    rows: list[list[object]] = [
        [
            f"{one.job_source_id} {one.label[:SHOWN_LABEL_CHARS]}",
            one.limit,
            f"{one.exhausted_days} of {one.days}",
            one.narrower,
            one.more,
        ]
        for one in report.exhausted[:SHOWN_SOURCES]
    ]
    if not rows:
        return "No source ran out of budget repeatedly."
    table = _table(["source", "limit", "days", "one choice", "the other"], rows)
    more = len(report.exhausted) - len(rows)
    return f"{table}\n\n{more} more: see the command line." if more else table


def _not_usable(report: BudgetReport) -> str:
    lines = days_not_usable(report)
    shown = "\n".join(f"- {line}" for line in lines[:SHOWN_DAYS])
    more = len(lines) - SHOWN_DAYS
    return f"{shown}\n- {more:,} more" if more > 0 else shown or "Every day was usable."


def _table(heads: list[str], rows: list[list[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *[[_cell(value) for value in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    """Text of people stays text: no cell, link, image or tag of its own."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:,}"
    said = " ".join(str(value).split())
    return "".join(f"\\{one}" if one in "\\|`*_[]<>!#&~" else one for one in said)


def _percent(share: object) -> str:
    return "" if share is None else f"{float(str(share)):.1%}"

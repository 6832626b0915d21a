"""The days of a period that measured nothing, in words: a proposal rests on all the others."""

from collection_pipeline.collection.report.budget_report import BudgetReport


def days_not_usable(report: BudgetReport) -> list[str]:
    """One line a day and kind, the newest first: ``2026-11-30: failed, 3 source(s)``."""
    lines = [f"{day.isoformat()}: no cycles" for day in report.days_without_cycles]
    if len(report.unusable):
        by_day = report.unusable.groupby(["run_date", "kind"], as_index=False)["sources"].sum()
        lines += [
            f"{day.date().isoformat()}: {kind}, {sources:,} source(s)"
            for day, kind, sources in zip(
                by_day["run_date"], by_day["kind"], by_day["sources"], strict=True
            )
        ]
    return sorted(lines, reverse=True)

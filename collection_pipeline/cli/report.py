"""``report``: what the last weeks used and which daily budgets they propose; read-only (R9)."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import as_json_text, print_rows

if TYPE_CHECKING:
    from collection_pipeline.collection.report.budget_report import BudgetReport

SHOWN_SOURCES = 30
FIGURES = (
    "days",
    "complete_days",
    "exhausted_days",
    "failed_days",
    "list_pages",
    "postings",
    "detail_requests",
    "seconds_waited",
    "exhausted_share",
    "failures",
)


class ReportFormat(StrEnum):
    """How the report is given."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def report(
    days: int = typer.Option(
        28, "--days", min=1, max=366, help="Whole days before today, in Seoul."
    ),
    form: ReportFormat = typer.Option(
        ReportFormat.TABLE, "--format", help="CSV and Parquet hold a row a platform and a source."
    ),
    output: Path | None = typer.Option(
        None, "--output", help="Write there instead; needed for Parquet, not for the table."
    ),
    force: bool = typer.Option(False, "--force", help="Replace the file if it is there."),
) -> None:
    """Show what platforms and sources used, and propose their daily budgets. Changes nothing."""
    # Loading pandas takes half a second, which no other command should cost.
    from collection_pipeline.collection.report.budget_report import budget_report
    from collection_pipeline.collection.report.facts import read_facts
    from collection_pipeline.collection.report.report_file import require_free, require_parquet

    _require_fitting(form, output)
    if form is ReportFormat.PARQUET:
        require_parquet()
    if output is not None:
        require_free(output, force=force)
    with opened_pipeline() as pipeline:
        facts = read_facts(pipeline.transactions, pipeline.clock, pipeline.settings, days)
    made = budget_report(facts, pipeline.settings)
    if output is not None:
        _write(made, form, output, force=force)
        print(f"{output}: {made.first_day} to {made.last_day}")
    else:
        _print(made, form)


def _require_fitting(form: ReportFormat, output: Path | None) -> None:
    if form is ReportFormat.TABLE and output is not None:
        raise typer.BadParameter("a file needs --format json, csv or parquet (--output)")
    if form is ReportFormat.PARQUET and output is None:
        raise typer.BadParameter("Parquet is written to a file: name it with --output")


def _write(made: "BudgetReport", form: ReportFormat, output: Path, *, force: bool) -> None:
    from collection_pipeline.collection.report.flat_table import flat_table
    from collection_pipeline.collection.report.report_file import (
        write_csv,
        write_parquet,
        write_text,
    )

    if form is ReportFormat.JSON:
        write_text(as_json_text(made.document()) + "\n", output, force=force)
    elif form is ReportFormat.CSV:
        write_csv(flat_table(made), output, force=force)
    else:
        write_parquet(flat_table(made), output, force=force)


def _print(made: "BudgetReport", form: ReportFormat) -> None:
    if form is ReportFormat.JSON:
        print(as_json_text(made.document()))
    elif form is ReportFormat.CSV:
        from collection_pipeline.collection.report.flat_table import csv_text, flat_table

        print(csv_text(flat_table(made)).replace("\r\n", "\n"), end="")
    else:
        _print_table(made)


def _print_table(made: "BudgetReport") -> None:
    from collection_pipeline.collection.report.budget_report import records
    from collection_pipeline.collection.report.not_usable import days_not_usable

    print(f"{made.first_day} to {made.last_day}, days in Seoul")
    if made.is_empty:
        print("no source had a cycle in this period")
        return
    print_rows(_figures(records(made.platforms), "platform", "sources"), as_json=False, empty="")
    busiest = made.sources.sort_values("list_pages", ascending=False, kind="stable")
    print(f"\nSources, the {min(SHOWN_SOURCES, len(busiest))} busiest of {len(busiest)}")
    rows = records(busiest.head(SHOWN_SOURCES))
    print_rows(_figures(rows, "job_source_id", "label"), as_json=False, empty="")
    print("\nDaily budgets")
    for one in made.budgets:
        print(
            f"{one.platform} {one.measure}: {one.present:,} -> {one.proposed:,} ({one.kind}). "
            f"{one.reasoning}"
        )
    print("\nRepeatedly out of budget")
    for source in made.exhausted:
        print(
            f"source {source.job_source_id} ({source.label}): {source.limit} on "
            f"{source.exhausted_days} of {source.days} days.\n  {source.narrower}\n  {source.more}"
        )
    if not made.exhausted:
        print("none")
    print("\nDays that measure nothing")
    print("\n".join(days_not_usable(made)) or "none")


def _figures(rows: list[dict[str, object]], *who: str) -> list[dict[str, object]]:
    return [{name: row[name] for name in (*who, *FIGURES)} for row in rows]

"""``cycles`` and ``postings``: where the day stands, what a source holds."""

from datetime import datetime

import typer

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_rows
from collection_pipeline.store.reading import cycles_of, postings_of
from collection_pipeline.store.sources import JobSources

TABLE_COLUMNS = (
    "job_source_id",
    "cycle_status",
    "is_complete",
    "attempt_count",
    "list_page_count",
    "fetched_count",
    "new_count",
    "updated_count",
    "missed_count",
    "closed_count",
    "detail_request_count",
    "budget_exhausted_reason",
    "failure_reason",
    "failure_detail",
)


def cycles(
    run_date: datetime | None = typer.Option(
        None, "--date", formats=["%Y-%m-%d"], help="The KST run date; today by default."
    ),
    as_json: bool = typer.Option(False, "--json", help="Every column, as a JSON list."),
) -> None:
    """Show the cycles of a day."""
    with opened_pipeline() as pipeline:
        day = run_date.date() if run_date else pipeline.transactions.run(pipeline.clock.today)
        rows = pipeline.transactions.run(lambda connection: cycles_of(connection, day))
    if not as_json:
        rows = [{name: row[name] for name in TABLE_COLUMNS} for row in rows]
    print_rows(rows, as_json=as_json, empty=f"no cycles on {day}")


def postings(
    source: int = typer.Option(..., "--source", help="The job source's id."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list."),
) -> None:
    """Show the postings of one source."""
    with opened_pipeline() as pipeline:
        pipeline.transactions.run(lambda connection: JobSources().get(connection, source))
        rows = pipeline.transactions.run(lambda connection: postings_of(connection, source))
    print_rows(rows, as_json=as_json, empty=f"source {source} has no postings")

"""``sources add|list|enable|disable|import``: what is collected (R2, R23b)."""

from pathlib import Path

import typer
from sqlalchemy import Connection

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_json, print_rows
from collection_pipeline.cli.source_files import rows_of_file
from collection_pipeline.collection.registration import (
    checked_rows,
    checked_source,
    parsed_condition,
    store_sources,
)
from collection_pipeline.store.sources import JobSources

app = typer.Typer(help="Job sources: one search on one platform each.", no_args_is_help=True)


@app.command("add")
def add(
    platform: str = typer.Option(..., help="wanted, saramin, jumpit, greenhouse or lever."),
    label: str = typer.Option(..., help="How people call this source."),
    condition: list[str] = typer.Option([], help="KEY=VALUE; repeat it for more keys or values."),
    company: str | None = typer.Option(None, help="The company that a board belongs to."),
    detail_mode: str | None = typer.Option(None, help="required (default), best_effort or off."),
    daily_list_pages: str | None = typer.Option(None, help="List requests a day."),
    daily_postings: str | None = typer.Option(None, help="Distinct postings a day."),
    daily_detail_requests: str | None = typer.Option(None, help="Detail requests a day."),
    min_delay_ms: str | None = typer.Option(None, help="Least delay between requests."),
    as_json: bool = typer.Option(False, "--json", help='Print {"id": n}.'),
) -> None:
    """Register a source and print its id; its condition is checked against the platform."""
    row = {
        "platform": platform,
        "label": label,
        "condition": parsed_condition(condition),
        "company": company,
        "detail_mode": detail_mode,
        "daily_list_pages": daily_list_pages,
        "daily_postings": daily_postings,
        "daily_detail_requests": daily_detail_requests,
        "min_delay_ms": min_delay_ms,
    }
    with opened_pipeline() as pipeline:
        (source_id,) = store_sources(pipeline, [checked_source(row, pipeline.gateway)])
    if as_json:
        print_json({"id": source_id})
    else:
        print(source_id)


@app.command("import")
def import_sources(
    path: Path = typer.Argument(help="A .csv or .json file with the fields of 'sources add'."),
    as_json: bool = typer.Option(False, "--json", help="Print the new ids as JSON."),
) -> None:
    """Register every source of a file, or none: bad rows are named by line."""
    rows = rows_of_file(path)
    with opened_pipeline() as pipeline:
        ids = store_sources(pipeline, checked_rows(rows, pipeline.gateway))
    if as_json:
        print_json({"ids": ids})
    else:
        print(f"imported {len(ids)} sources")


@app.command("list")
def list_sources(
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list."),
) -> None:
    """Show every source."""
    with opened_pipeline() as pipeline:
        sources = pipeline.transactions.run(JobSources().all)
    rows = [
        {
            "id": source.id,
            "platform": source.platform,
            "source_type": source.source_type.value,
            "label": source.label,
            "condition": source.condition,
            "company_id": source.company_id,
            "active": source.active,
            "detail_mode": source.detail_mode.value,
            "daily_list_pages": source.overrides.list_pages,
            "daily_postings": source.overrides.postings,
            "daily_detail_requests": source.overrides.detail_requests,
            "min_delay_ms": source.overrides.min_delay_ms,
        }
        for source in sources
    ]
    print_rows(rows, as_json=as_json, empty="no sources yet: 'collection-pipeline sources add'")


@app.command("enable")
def enable(source_id: int = typer.Argument(help="The source's id.")) -> None:
    """Collect this source again; a cycle that waits today goes on."""
    _switch(source_id, active=True)


@app.command("disable")
def disable(source_id: int = typer.Argument(help="The source's id.")) -> None:
    """Send nothing more for this source; nothing that is stored changes."""
    _switch(source_id, active=False)


def _switch(source_id: int, *, active: bool) -> None:
    def switching(connection: Connection) -> None:
        JobSources().switch(
            connection, source_id, active=active, now=pipeline.clock.now(connection)
        )

    with opened_pipeline() as pipeline:
        pipeline.transactions.run(switching)
    print(f"source {source_id} is {'enabled' if active else 'disabled'}")

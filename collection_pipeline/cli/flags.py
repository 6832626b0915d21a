"""``flags list|set``: release switches, kept in MySQL with who and when (R44)."""

from enum import StrEnum

import typer
from sqlalchemy import Connection

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_rows
from collection_pipeline.store.flags import FeatureFlags

BY_MAX_CHARS = 100

app = typer.Typer(help="Release switches; all are off by default.", no_args_is_help=True)


class Switch(StrEnum):
    """The two positions of a flag."""

    ON = "on"
    OFF = "off"


@app.command("list")
def list_flags(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Show every flag, who changed it last and when."""
    with opened_pipeline() as pipeline:
        flags = pipeline.transactions.run(FeatureFlags().all)
    rows = [
        {
            "name": flag.name,
            "enabled": flag.enabled,
            "changed_by": flag.changed_by,
            "changed_at": flag.changed_at,
        }
        for flag in flags
    ]
    print_rows(rows, as_json=as_json, empty="no flags")


@app.command("set")
def set_flag(
    name: str = typer.Argument(help="The flag, as 'flags list' shows it."),
    position: Switch = typer.Argument(help="on or off"),
    by: str = typer.Option(..., "--by", help="Who switches it; kept in the flag's history."),
) -> None:
    """Switch one flag for all instances at once."""
    if not 1 <= len(by.strip()) <= BY_MAX_CHARS:
        raise typer.BadParameter(f"--by: write a name of at most {BY_MAX_CHARS} characters")

    def switching(connection: Connection) -> None:
        FeatureFlags().set(
            connection,
            name,
            enabled=position is Switch.ON,
            by=by.strip(),
            now=pipeline.clock.now(connection),
        )

    with opened_pipeline() as pipeline:
        pipeline.transactions.run(switching)
    print(f"{name} is {position}")

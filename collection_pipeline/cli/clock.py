"""``clock set|show``: the simulated clock, refused unless COLLECTION_SIMULATION=1 (R15)."""

from datetime import UTC, datetime

import typer
from sqlalchemy import Connection

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.domain.kst import kst_text
from collection_pipeline.settings import PREFIX, InvalidSetting

LAST_YEAR = 3000

app = typer.Typer(help="The simulated clock of a database.", no_args_is_help=True)


@app.command("show")
def show() -> None:
    """Print the database's time, with the simulated offset, in KST."""
    with opened_pipeline() as pipeline:
        print(kst_text(pipeline.transactions.run(pipeline.clock.now)))


@app.command("set")
def set_clock(
    moment: str = typer.Argument(help="ISO 8601 with offset, such as 2026-12-02T00:05:00+09:00."),
) -> None:
    """Move the clock of every process forward to a moment."""
    target = _parsed(moment)

    def moving(connection: Connection) -> None:
        pipeline.clock.move_to(connection, target)

    with opened_pipeline() as pipeline:
        if not pipeline.settings.simulation:
            raise InvalidSetting(
                f"the simulated clock needs {PREFIX}SIMULATION=1; never set it in production"
            )
        pipeline.transactions.run(moving)
    print(kst_text(target))


def _parsed(moment: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise typer.BadParameter("write ISO 8601 with an offset, such as 2026-12-02T00:05:00+09:00")
    if not 1970 < parsed.year < LAST_YEAR:
        # A clock that has reached the end of the calendar could never be read again.
        raise typer.BadParameter(f"write a year before {LAST_YEAR}")
    return parsed.astimezone(UTC).replace(tzinfo=None)

"""``db migrate`` and ``local-db start|stop|status``."""

import typer

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_json
from collection_pipeline.local_db.persistent import (
    LocalDatabase,
    local_status,
    start_local,
    stop_local,
)
from collection_pipeline.store.migration import migrate as migrate_schema

db = typer.Typer(help="The schema of the queue's database.", no_args_is_help=True)
local_db = typer.Typer(
    help="A MySQL server private to this project: own folder, free loopback port.",
    no_args_is_help=True,
)


@db.command("migrate")
def migrate() -> None:
    """Bring the database to this release's schema; running it again changes nothing."""
    with opened_pipeline(migrated=False) as pipeline:
        state = migrate_schema(pipeline.engine)
    print(f"the schema is at revision {state.current}")


@local_db.command("start")
def start(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """Start the private server unless it runs already."""
    _show(start_local(), as_json)


@local_db.command("stop")
def stop(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """Stop the private server by its process id."""
    stopped = stop_local()
    if as_json:
        print_json({"stopped": stopped})
    else:
        print("stopped" if stopped else "it was not running")


@local_db.command("status")
def status(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """Say whether the private server runs, and where."""
    _show(local_status(), as_json)


def _show(local: LocalDatabase | None, as_json: bool) -> None:
    """Where the server is; the password stays in its own file."""
    if as_json:
        print_json(
            {
                "running": local is not None,
                "kind": local.kind if local else None,
                "version": local.version if local else None,
                "port": local.port if local else None,
                "pid": local.pid if local else None,
            }
        )
    elif local is None:
        print("not running")
    elif local.pid is None:
        print("not needed: COLLECTION_DATABASE_URL names a server")
    else:
        print(f"{local.kind} {local.version} on 127.0.0.1:{local.port}, pid {local.pid}")

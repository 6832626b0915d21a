"""``operations``: the read-only page, API, health and metrics, served until it is asked to stop."""

import os

import typer

from collection_pipeline.cli.database import (
    dagster_database_url,
    database_url,
    explained_url_errors,
)
from collection_pipeline.collection.assembly import adapters
from collection_pipeline.settings import load_settings


def operations(
    host: str = typer.Option("127.0.0.1", help="Beyond loopback it needs an operations token."),
    port: int = typer.Option(3001, min=0, max=65535, help="0 takes a free one."),
) -> None:
    """Serve the operations page, API, /healthz and /metrics until SIGTERM or Ctrl-C.

    It starts without the database too, and says so at /healthz.
    """
    # Loading the web framework takes a third of a second, which no other command should cost.
    from collection_pipeline.operations.context import open_context
    from collection_pipeline.operations.serving import serve

    settings = load_settings(os.environ)
    url = database_url(settings)
    with explained_url_errors():
        context = open_context(settings, url, dagster_database_url(settings), adapters(settings))
    try:
        serve(context, host, port, lambda line: print(line, flush=True))
    finally:
        context.close()

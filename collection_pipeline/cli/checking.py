"""``check`` and ``env``: would this configuration work, and what must Dagster be told?"""

import os
import platform
import shlex
from importlib.metadata import version

import typer

from collection_pipeline.cli.database import (
    NoDatabase,
    check_database,
    check_writing,
    configured_pipeline,
    dagster_database_url,
    database_url,
)
from collection_pipeline.cli.output import print_json
from collection_pipeline.demo.dagster_home import dagster_home
from collection_pipeline.orchestration.morning_hook import load_hook
from collection_pipeline.settings import PREFIX, load_settings
from collection_pipeline.store.connection import collection_url
from collection_pipeline.store.migration import SchemaBehind, schema_state


def check(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Say whether configuration, database, versions and schema are fit for work."""
    pipeline = configured_pipeline()
    settings = pipeline.settings
    try:
        if settings.morning_hook is not None:
            load_hook(settings.morning_hook)
        server = check_database(pipeline, migrated=False)
        with pipeline.engine.connect() as connection:
            schema = schema_state(connection)
        if schema.is_current:
            check_writing(pipeline)
    finally:
        pipeline.close()
    report = {
        "ok": schema.is_current,
        "database_version": server,
        "schema_revision": schema.current,
        "expected_revision": schema.expected,
        "python": platform.python_version(),
        "dagster": version("dagster"),
        "platforms": sorted(pipeline.gateway.platforms),
        "simulation": settings.simulation,
        "morning_hook": settings.morning_hook,
        "secrets_set": sorted(settings.secrets),
    }
    if as_json:
        print_json(report)
    else:
        for name, value in report.items():
            print(f"{name.replace('_', ' '):20} {value}")
    if not schema.is_current:
        raise SchemaBehind(schema.current, schema.expected)


def env() -> None:
    """Print the exports that a bare 'dagster' command needs: eval "$(collection-pipeline env)"."""
    settings = load_settings(os.environ)
    dagster_url = dagster_database_url(settings)
    if dagster_url is None:
        raise NoDagsterDatabase
    exports = {
        f"{PREFIX}DATABASE_URL": database_url(settings),
        f"{PREFIX}DAGSTER_DATABASE_URL": collection_url(dagster_url).render_as_string(
            hide_password=False
        ),
        "DAGSTER_HOME": str(dagster_home()),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
    }
    for name, value in exports.items():
        # A process that is told both refuses to choose.
        if f"{name}_FILE" not in os.environ:
            print(f"export {name}={shlex.quote(value)}")


class NoDagsterDatabase(NoDatabase):
    """The queue's database is named, Dagster's is not."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            f"set {PREFIX}DAGSTER_DATABASE_URL as well: Dagster keeps its runs in a database of "
            "its own",
        )

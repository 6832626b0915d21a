"""The command tree of ``collection-pipeline``."""

import typer

from collection_pipeline.cli import (
    checking,
    clock,
    collecting,
    databases,
    demonstration,
    doctor,
    flags,
    ingest,
    notifications,
    operations,
    reading,
    release,
    report,
    simulating,
    snapshots,
    sources,
)

app = typer.Typer(
    name="collection-pipeline",
    help="Collect job postings every day: safe, bounded, unattended, with MySQL as the queue.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("check")(checking.check)
app.command("doctor")(doctor.doctor)
app.command("env")(checking.env)
app.add_typer(databases.db, name="db")
app.add_typer(databases.local_db, name="local-db")
app.add_typer(sources.app, name="sources")
app.add_typer(flags.app, name="flags")
app.command("create-cycles")(collecting.create_cycles)
app.command("tick")(collecting.tick)
app.command("cleanup")(collecting.cleanup)
app.command("retention")(collecting.retention)
app.command("cycles")(reading.cycles)
app.command("postings")(reading.postings)
app.add_typer(snapshots.app, name="snapshot")
app.add_typer(notifications.app, name="notifications")
app.command("release")(release.release)
app.command("report")(report.report)
app.command("ingest")(ingest.ingest)
app.add_typer(clock.app, name="clock")
app.command("simulator")(simulating.simulator)
app.command("operations")(operations.operations)
app.command("demo")(demonstration.demo)
app.command("up")(demonstration.up)

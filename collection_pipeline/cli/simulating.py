"""``simulator``: the platforms on loopback, to try settings without touching a real site."""

from pathlib import Path

import typer

from collection_pipeline.simulator.foreground import serve
from collection_pipeline.simulator.scenario import ScenarioError


def simulator(
    host: str = typer.Option("127.0.0.1", help="Loopback address to listen on."),
    port: int = typer.Option(0, min=0, max=65535, help="0 takes a free one."),
    lever_eu_port: int = typer.Option(0, min=0, max=65535, help="0 takes a free one."),
    scenario: str | None = typer.Option(
        None, help="A JSON file, or the name of a packaged scenario; 'demo' by default."
    ),
    log: Path | None = typer.Option(None, help="Append every request to this file as JSON lines."),
    access_key: str | None = typer.Option(None, help="The Saramin key that it accepts."),
    separate_ports: bool = typer.Option(False, help="One port, so one host, for each platform."),
    library_csv: Path | None = typer.Option(
        None, help="Serve the libraries of this CSV file (CP949 or UTF-8) instead of invented ones."
    ),
) -> None:
    """Serve the platforms and the library register until Ctrl-C; prints the exports to paste."""
    try:
        serve(host, port, lever_eu_port, scenario, log, access_key, separate_ports, library_csv)
    except (OSError, ValueError) as error:
        raise ScenarioError(f"the simulator cannot serve: {error}") from None

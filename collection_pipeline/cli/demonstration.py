"""``demo`` and ``up``: the whole pipeline on this machine, without touching a real site."""

import time
from functools import partial

from collection_pipeline.cli.output import wide_console
from collection_pipeline.demo.dagster_runs import DagsterRuns
from collection_pipeline.demo.days import run_day, simulated_days
from collection_pipeline.demo.display import DayDisplay, standing_table
from collection_pipeline.demo.services import (
    DAGSTER_PORT,
    OPERATIONS_PORT,
    serve_until_stopped,
)
from collection_pipeline.demo.stack import demo_stack, first_day
from collection_pipeline.demo.standing import snapshot_line, standings
from collection_pipeline.demo.summary import check_demo


def demo() -> None:
    """Collect three simulated days through Dagster, and check every figure."""
    console = wide_console()
    began = time.monotonic()
    console.print("starting a private database server and the platform simulator")
    with demo_stack(fresh=True) as stack:
        console.print(f"{stack.database}; simulator on {stack.simulator.base_url}")
        runs = DagsterRuns(stack)
        days = simulated_days(first_day(stack))
        display = DayDisplay(console, stack)
        for day in days:
            with display.of_day(day):
                run_day(stack, runs, day, partial(display.watch, day))
        for day in days:
            console.print(f"\n[bold]{day} ended[/bold]", highlight=False)
            console.print(standing_table(standings(stack, day), console.width))
            console.print(snapshot_line(stack, day), highlight=False)
        compared = check_demo(stack, days, runs.executed, runs.succeeded_in_run_table())
        console.print(
            f"\n{compared} figures compared with the simulator's log, its catalogues and Dagster's "
            f"run table: no difference ({time.monotonic() - began:.0f} s).",
            highlight=False,
        )
    console.print(
        f"Look at it: 'make up' serves these days on http://127.0.0.1:{OPERATIONS_PORT} "
        f"(operations page) and http://127.0.0.1:{DAGSTER_PORT} (Dagster UI).",
        highlight=False,
    )


def up() -> None:
    """Keep the demo's stack running with operations page and Dagster UI until Ctrl-C."""
    console = wide_console()
    with demo_stack(fresh=False) as stack:
        console.print(f"{stack.database}; simulator on {stack.simulator.base_url}")
        serve_until_stopped(stack, lambda line: console.print(line, highlight=False))

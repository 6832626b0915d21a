"""Three simulated days: midnight, dispatch until nothing is due, the 09:00 snapshot, cleanup."""

import subprocess
from collections.abc import Callable
from datetime import date, time, timedelta

from collection_pipeline.demo.dagster_runs import DagsterRuns
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.domain.kst import utc_of_kst

DAYS = 3
POLL_SECONDS = 0.5
BEFORE_THE_CUTOFF = time(8, 59, 52)
"""Early enough for a process that needs seconds to start, late enough not to wait for long."""


def simulated_days(start: date) -> list[date]:
    """The demo's run dates."""
    return [start + timedelta(days=number) for number in range(DAYS)]


def run_day(stack: DemoStack, runs: DagsterRuns, day: date, watch: Callable[[], None]) -> None:
    """One day through Dagster; ``watch`` is called twice a second while slices are worked."""
    _move_clock(stack, day, time(0, 0, 5))
    stack.simulator.set_day(day)
    runs.finish("daily_cycle_creation", runs.start("daily_cycle_creation"))
    _watched(runs, "collection_dispatch", {"drain": True}, watch)
    _move_clock(stack, day, BEFORE_THE_CUTOFF)
    runs.finish("sla_snapshot", runs.start("sla_snapshot"))
    _move_clock(stack, day, time(10, 15))
    runs.finish("seen_row_cleanup", runs.start("seen_row_cleanup"))


def _watched(
    runs: DagsterRuns, job: str, config: dict[str, object], watch: Callable[[], None]
) -> None:
    process = runs.start(job, config)
    try:
        while process.poll() is None:
            watch()
            try:
                process.wait(timeout=POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        watch()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    runs.finish(job, process)


def _move_clock(stack: DemoStack, day: date, at: time) -> None:
    pipeline = stack.pipeline
    pipeline.transactions.run(
        lambda connection: pipeline.clock.move_to(connection, utc_of_kst(day, at))
    )

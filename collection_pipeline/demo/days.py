"""Three simulated days: midnight, dispatch until nothing is due, the 09:00 snapshot, cleanup."""

import contextlib
import subprocess
from collections.abc import Callable
from datetime import date, time, timedelta

from collection_pipeline.demo.dagster_runs import DagsterRuns
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.store.capture_attempts import CaptureAttempts
from collection_pipeline.store.clock import ClockCannotGoBack

DAYS = 3
POLL_SECONDS = 0.5
START_POLL_SECONDS = 0.1
EARLY = time(8, 56)
"""Within the five minutes in which a capture may be started, with minutes for the start."""
JUST_BEFORE_THE_CUTOFF = time(8, 59, 58)


def simulated_days(start: date) -> list[date]:
    """The demo's run dates."""
    return [start + timedelta(days=number) for number in range(DAYS)]


def run_day(stack: DemoStack, runs: DagsterRuns, day: date, watch: Callable[[], None]) -> None:
    """One day through Dagster; ``watch`` is called twice a second while slices are worked."""
    _move_clock(stack, day, time(0, 0, 5))
    stack.simulator.set_day(day)
    runs.finish("daily_cycle_creation", runs.start("daily_cycle_creation"))
    _watched(runs, "collection_dispatch", {"drain": True}, watch)
    _capture(stack, runs, day)
    _move_clock(stack, day, time(10, 15))
    runs.finish("seen_row_cleanup", runs.start("seen_row_cleanup"))


def _capture(stack: DemoStack, runs: DagsterRuns, day: date) -> None:
    """The clock jumps to the cutoff once the run has begun to wait for it.

    A fixed moment would be too late for a machine on which the start takes long.
    """
    _move_clock(stack, day, EARLY)
    process = runs.start("sla_snapshot")
    pipeline = stack.pipeline
    try:
        while process.poll() is None and not pipeline.transactions.run(
            lambda connection: CaptureAttempts().of_day(connection, day)
        ):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=START_POLL_SECONDS)
        # Not needed any more where the start took all of the minutes.
        with contextlib.suppress(ClockCannotGoBack):
            _move_clock(stack, day, JUST_BEFORE_THE_CUTOFF)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    runs.finish("sla_snapshot", process)


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

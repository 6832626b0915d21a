"""A Dagster job that does nothing: its one op notes when it began, for ``dispatch_latency``."""

import os
import time
from pathlib import Path

import dagster as dg


@dg.op
def note_the_time() -> None:
    """Seconds since 1970, into the file that the environment names."""
    Path(os.environ["BENCHMARK_NOTED"]).write_text(repr(time.time()), encoding="ascii")


@dg.job(executor_def=dg.in_process_executor)
def no_op_run() -> None:
    """One op."""
    note_the_time()


defs = dg.Definitions(jobs=[no_op_run], executor=dg.in_process_executor)

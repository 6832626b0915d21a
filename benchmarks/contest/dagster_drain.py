"""The pipeline through Dagster: ``dagster job execute -j collection_dispatch`` with ``drain``.

As the README says it, with Dagster's own storage in the same server. The definitions are imported
and Dagster's tables are there before the start, as on any machine that has run it once.
"""

import json
import os
import runpy
import sys
from pathlib import Path

import dagster as dg
import dagster._cli

import collection_pipeline.definitions  # noqa: F401 - imported before the start
from benchmarks.contest.pipeline_settings import driver_of, environment
from benchmarks.contest.task import ContestTask, ready
from collection_pipeline.demo.dagster_home import dagster_home


def main() -> None:
    """One run of the job in this process."""
    task = ContestTask.read()
    os.environ.update(environment(task))
    os.environ["DAGSTER_HOME"] = str(dagster_home())
    os.environ["COLLECTION_DAGSTER_DATABASE_URL"] = task.dagster_url
    config = Path(task.folder) / "drain.json"
    config.write_text(json.dumps({"drain": True}), encoding="utf-8")
    __import__("MySQLdb" if driver_of(task.variant) == "mysqldb" else "pymysql")
    with dg.DagsterInstance.get() as instance:
        instance.get_runs_count()
    ready()
    job = ["-m", "collection_pipeline.definitions", "-j", "collection_dispatch"]
    sys.argv = ["dagster", "job", "execute", *job, "-c", str(config)]
    runpy.run_module("dagster", run_name="__main__")


if __name__ == "__main__":
    main()

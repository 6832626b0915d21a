"""The pipeline as a service: ``collection-pipeline tick --drain``, in this process."""

import os

from benchmarks.contest.pipeline_settings import driver_of, environment
from benchmarks.contest.task import ContestTask, ready
from collection_pipeline.cli.collecting import tick


def main() -> None:
    """One tick until nothing is due."""
    task = ContestTask.read()
    os.environ.update(environment(task))
    __import__("MySQLdb" if driver_of(task.variant) == "mysqldb" else "pymysql")
    ready()
    tick(drain=True, max_seconds=None, as_json=False)


if __name__ == "__main__":
    main()

"""The usual Dagster job: one op a source, requests, a pandas frame, SQLAlchemy's upsert in chunks.

mysqlclient; Dagster's own storage in the same server, its tables made before the start. Words of
``variant``: ``processes`` runs the ops in processes of their own, side by side, instead of one
after the other; ``many`` hands a chunk's rows to the driver instead of writing them into one
statement; ``chunk=N`` rows a chunk.
"""

import json
import os
from pathlib import Path
from typing import Any

import dagster as dg
import dagster_mysql  # noqa: F401 - imported before the start
import MySQLdb  # noqa: F401 - imported before the start
import pandas as pd
import requests
import sqlalchemy as sa
from sqlalchemy.dialects.mysql import insert

from benchmarks.contest.catalogue import PAGE_ROWS, SOURCES
from benchmarks.contest.nine_columns import COLUMNS, row_of
from benchmarks.contest.task import ContestTask, ready

CHUNK_ROWS = 250
TASK_VARIABLE = "CONTEST_TASK"

postings = sa.table("contest_postings", *(sa.column(name) for name in COLUMNS))


def fetched(task: ContestTask, word: str) -> pd.DataFrame:
    """Every posting of one source."""
    rows: list[tuple[object, ...]] = []
    page, total = 0, 1
    with requests.Session() as session:
        while page * PAGE_ROWS < total:
            reply = session.get(
                f"{task.base_url}/job-search",
                params=task.query(word, page),
                headers={"Accept": "application/json"},
                timeout=30,
            )
            reply.raise_for_status()
            jobs = reply.json()["jobs"]
            rows += [row_of(word, job, json.dumps(job, ensure_ascii=False)) for job in jobs["job"]]
            page, total = page + 1, int(jobs["total"])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def upsert(engine: sa.Engine, frame: pd.DataFrame, chunk_rows: int, *, many: bool) -> None:
    """Write the frame, one transaction a chunk."""
    for first in range(0, len(frame), chunk_rows):
        records = frame.iloc[first : first + chunk_rows].to_dict("records")
        statement = insert(postings) if many else insert(postings).values(records)
        statement = statement.on_duplicate_key_update(
            {name: statement.inserted[name] for name in COLUMNS[2:]}
        )
        with engine.begin() as connection:
            connection.execute(statement, records if many else None)


def load_source(number: int) -> dg.OpDefinition:
    """The op of one source."""

    @dg.op(name=f"load_source_{number}")
    def load(context: dg.OpExecutionContext) -> int:
        task = ContestTask(**json.loads(os.environ[TASK_VARIABLE]))
        words = task.variant.split()
        chunk = next((int(w.partition("=")[2]) for w in words if w[:6] == "chunk="), CHUNK_ROWS)
        engine = sa.create_engine(task.database_for("mysqldb"))
        frame = fetched(task, task.keywords[number])
        upsert(engine, frame, chunk, many="many" in words)
        engine.dispose()
        context.log.info(f"{len(frame)} rows stored")
        return len(frame)

    return load


OPS = [load_source(number) for number in range(SOURCES)]


@dg.job(executor_def=dg.in_process_executor)
def in_one_process() -> None:
    """One op a source, one after the other."""
    for op in OPS:
        op()


@dg.job(executor_def=dg.multiprocess_executor.configured({"max_concurrent": SOURCES}))
def in_processes() -> None:
    """One op a source, side by side."""
    for op in OPS:
        op()


DAGSTER_YAML = """
storage:
  mysql:
    mysql_url: {url}
telemetry:
  enabled: false
"""


def main() -> None:
    """One run of the job."""
    task = ContestTask.read()
    home = Path(task.folder)
    configuration = DAGSTER_YAML.format(url=json.dumps(task.dagster_url))
    (home / "dagster.yaml").write_text(configuration, encoding="utf-8")
    os.environ.update({"DAGSTER_HOME": str(home), TASK_VARIABLE: task.written()})
    job: Any = in_processes if "processes" in task.variant.split() else in_one_process
    with dg.DagsterInstance.get() as instance:
        instance.get_runs_count()
        ready()
        result = dg.execute_job(dg.reconstructable(job), instance=instance)
    if not result.success:
        raise SystemExit("the run failed")


if __name__ == "__main__":
    main()

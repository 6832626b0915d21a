"""dlt: its REST source into MySQL by its SQLAlchemy destination, write disposition ``merge``.

That destination has no upsert: merge is delete-insert from a staging database. Set as dlt's page on
performance says: resources in parallel, pages yielded whole, no compression of the files between
the stages, larger buffers, files split so that loaders can work in parallel, mysqlclient. Primary
keys in MySQL are dlt's own option; without them a second load compares every row with every row.
Words of ``variant``: ``tables`` one table a source instead of one for all, ``load=N`` loader
threads, ``normalize=N`` processes, ``file=N`` rows a file, ``keyless`` no primary keys.
"""

import json
import os
from typing import Any

from benchmarks.contest.nine_columns import COLUMNS, row_of
from benchmarks.contest.task import ContestTask, ready

TABLE = "contest_postings"
LOADERS = 4
NORMALIZERS = 1
FILE_ROWS = 2_000


def configure(task: ContestTask, given: dict[str, str]) -> None:
    """dlt reads its configuration from the environment; nothing of it leaves this machine."""
    file_rows = given.get("file", str(FILE_ROWS))
    os.environ.update(
        {
            "DLT_DATA_DIR": task.folder,
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            "RUNTIME__LOG_LEVEL": "ERROR",
            "EXTRACT__WORKERS": str(task.sources),
            "EXTRACT__MAX_PARALLEL_ITEMS": str(4 * task.sources),
            "NORMALIZE__WORKERS": given.get("normalize", str(NORMALIZERS)),
            "LOAD__WORKERS": given.get("load", str(LOADERS)),
            "DATA_WRITER__DISABLE_COMPRESSION": "true",
            "DATA_WRITER__BUFFER_MAX_ITEMS": "10000",
            "DATA_WRITER__FILE_MAX_ITEMS": file_rows,
        }
    )


def named_row(word: str, job: dict[str, Any]) -> dict[str, Any]:
    """The nine columns of one row by name; dlt keeps a column that is text as it is."""
    return dict(zip(COLUMNS, row_of(word, job, json.dumps(job, ensure_ascii=False)), strict=True))


def resource(task: ContestTask, number: int, word: str, table: str) -> dict[str, Any]:
    """One source's search for dlt's REST source."""
    return {
        "name": f"source_{number}",
        "table_name": table,
        "parallelized": True,
        "primary_key": list(COLUMNS[:2]),
        "write_disposition": "merge",
        # A key with a length can be MySQL's primary key; without one merge compares all with all.
        "columns": {
            "source": {"data_type": "text", "precision": 100},
            "source_job_id": {"data_type": "text", "precision": 191},
        },
        "endpoint": {
            "path": "job-search",
            "params": {
                name: value for name, value in task.query(word, 0).items() if name != "start"
            },
            "data_selector": "jobs.job",
            "paginator": {
                "type": "page_number",
                "base_page": 0,
                "page_param": "start",
                # The platform tells rows, the paginator counts pages.
                "total_path": None,
                "maximum_page": task.pages,
            },
        },
        "processing_steps": [{"map": lambda job: named_row(word, job)}],
    }


def main() -> None:
    """One run of one pipeline; what it keeps between runs lies in the task's folder."""
    task = ContestTask.read()
    words = task.variant.split()
    configure(task, dict(word.split("=") for word in words if "=" in word))
    import dlt
    import MySQLdb  # noqa: F401 - imported before the start
    from dlt.destinations import sqlalchemy
    from dlt.sources.rest_api import rest_api_source

    source = rest_api_source(
        {
            "client": {"base_url": task.base_url, "headers": {"Accept": "application/json"}},
            "resources": [
                resource(task, number, word, f"{TABLE}_{number}" if "tables" in words else TABLE)
                for number, word in enumerate(task.keywords)
            ],
        },
        max_table_nesting=0,
    )
    pipeline = dlt.pipeline(
        "contest",
        pipelines_dir=f"{task.folder}/pipelines",
        destination=sqlalchemy(
            task.database_for("mysqldb"), create_primary_keys="keyless" not in words
        ),
        dataset_name=task.database.database,
    )
    ready()
    pipeline.run(source).raise_on_failed_jobs()


if __name__ == "__main__":
    main()

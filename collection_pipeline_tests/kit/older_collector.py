"""An older collector beside the pipeline: the only trace it leaves, and whether all traces stay.

Its rows are told apart by a count that no catalogue of a test has (R44).
"""

from collection_pipeline.store.migration import VERSION_TABLE
from collection_pipeline_tests.kit.stack import Row, Stack

RUNS = "job_posting_collection_runs"
Tables = dict[str, list[Row]]


def everything(stack: Stack) -> Tables:
    """Every row of every table that the database has, whatever its revision."""
    names = [name for row in stack.rows("SHOW TABLES") for name in row.values()]
    return {
        name: sorted(stack.rows(f"SELECT * FROM {name}"), key=str)
        for name in names
        if name != VERSION_TABLE
    }


def with_old_columns(now: Tables, before: Tables) -> Tables:
    """What is left of ``now`` when tables and columns that came later are not looked at."""
    return {
        name: sorted(
            ({column: row[column] for column in rows[0]} for row in now[name]) if rows else (),
            key=str,
        )
        for name, rows in before.items()
    }


def older_system_runs(stack: Stack, number: int, *source_ids: int) -> None:
    """What an older collector leaves of a source and day: a runs row, and nothing else."""
    for source_id in source_ids:
        stack.write(
            f"INSERT INTO {RUNS} (job_source_id, run_date, run_status, fetched_count) VALUES"
            " (:source, :day, 'SUCCESS', 7)",
            source=source_id,
            day=stack.day(number),
        )


def older_rows(stack: Stack) -> list[Row]:
    """The older collector's rows as it wrote them."""
    return stack.rows(f"SELECT * FROM {RUNS} WHERE fetched_count = 7 ORDER BY id")

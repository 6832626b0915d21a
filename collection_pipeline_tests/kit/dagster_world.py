"""Dagster over a real MySQL storage, as the project's own ``dagster.yaml`` configures it.

Invariant: an instance never writes into the checkout; its home is a copy of the file in a folder of
the test's, and its database is emptied of runs and ticks when the test ends.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import dagster as dg
from sqlalchemy import NullPool, create_engine, text

from collection_pipeline.store.connection import collection_url

ROOT = Path(__file__).parents[2]
STORAGE_URL = "COLLECTION_DAGSTER_DATABASE_URL"
PATIENCE_SECONDS = 90.0
_TEXT_TYPES = re.compile("char|text|blob|json", re.IGNORECASE)


def dagster_environment(
    collection: Mapping[str, str], dagster_url: str, home: Path
) -> dict[str, str]:
    """What a Dagster process needs: the machine's environment, and no settings of others."""
    foreign = ("COLLECTION_", "DAGSTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {
        **kept,
        **collection,
        STORAGE_URL: dagster_url,
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "PYTHONWARNINGS": "ignore",
    }


@contextmanager
def opened_instance(environment: Mapping[str, str]) -> Iterator[dg.DagsterInstance]:
    """The instance of ``environment``, whose variables are this process's meanwhile."""
    home = Path(environment["DAGSTER_HOME"])
    home.mkdir(exist_ok=True)
    shutil.copy(ROOT / "dagster.yaml", home)
    with (
        patch.dict(os.environ, environment, clear=True),
        dg.DagsterInstance.from_config(str(home)) as instance,
    ):
        try:
            yield instance
        finally:
            instance.wipe()
            instance.wipe_all_schedules()


def dagster_process(
    environment: Mapping[str, str], *arguments: str, output: Path
) -> "subprocess.Popen[bytes]":
    """``python -m dagster ...`` from the checkout; the caller ends it."""
    with output.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=dict(environment),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def every_text(url: str) -> Iterator[tuple[str, str]]:
    """Every value of every text, JSON and blob column of a database, with its place."""
    engine = create_engine(collection_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        columns = connection.execute(
            text(
                "SELECT table_name, column_name, data_type FROM information_schema.columns"
                " WHERE table_schema = DATABASE()"
            )
        ).all()
        for table, column, kind in columns:
            if not _TEXT_TYPES.search(kind):
                continue
            found = connection.execute(
                text(f"SELECT `{column}` FROM `{table}` WHERE `{column}` IS NOT NULL")
            )
            for (value,) in found:
                shown = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
                yield f"{table}.{column}", shown


def descendants(pid: int) -> set[int]:
    """The process ids below ``pid``, from the kernel's own lists."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            found |= {int(child)} | descendants(int(child))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"

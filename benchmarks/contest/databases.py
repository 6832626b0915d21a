"""The databases of the contestants: empty before a first load, as it was left before a second.

What is there on any machine that has run once is made once: the pipeline's tables, which are
emptied for each first load, and Dagster's own, which keep what they have. The others' tables are
made anew.
"""

import secrets
import string
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time, timedelta

from sqlalchemy import Connection

from benchmarks.contest.contestants import Contestant, Store
from benchmarks.contest.nine_columns import CURSOR_TABLE, TABLE
from benchmarks.contest.pipeline_settings import environment
from benchmarks.contest.task import ContestTask
from benchmarks.simulated_sources import registered
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.servers import create_database, drop_database


class ContestDatabases:
    """Databases on one server."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._dagster: dict[str, str] = {}
        self._migrated = ""

    def dagster_url(self, contestant: Contestant) -> str:
        """Dagster's own storage, one for each kind of job, over all rounds."""
        if contestant.module not in self._dagster:
            self._dagster[contestant.module] = _fresh(self._server)
        return self._dagster[contestant.module]

    @contextmanager
    def for_first_load(self, contestant: Contestant) -> Iterator[str]:
        """The URL of a database without a row; gone or emptied afterwards."""
        if contestant.store in {Store.POSTINGS, Store.QUEUE}:
            yield self._emptied()
            return
        url = _fresh(self._server)
        try:
            if contestant.store is Store.NINE_COLUMNS and contestant.module != "dlt_load":
                self._make_table(url, TABLE)
                self._make_table(url, CURSOR_TABLE)
            yield url
        finally:
            drop_database(self._server, url)
            # dlt makes it beside its own.
            drop_database(self._server, url.replace("?", "_staging?", 1))

    def _emptied(self) -> str:
        if not self._migrated:
            self._migrated = _fresh(self._server)
            engine = open_engine(self._migrated)
            migrate(engine)
            engine.dispose()
            self._make_table(self._migrated, CURSOR_TABLE)
        name = _name(self._migrated)
        tables = [*(table.name for table in metadata.sorted_tables), "contest_cursors"]
        # Also sets the counters of ids back: sources are 1 to 5 each time.
        self._server.execute(*(f"TRUNCATE TABLE `{name}`.`{table}`" for table in tables))
        return self._migrated

    def _make_table(self, url: str, statement: str) -> None:
        self._server.execute(statement.replace("TABLE ", f"TABLE `{_name(url)}`.", 1))


def register_sources(task: ContestTask) -> None:
    """The pipeline's sources, flags on."""
    pipeline = assemble(load_settings(environment(task)), task.database_url)
    with registered(pipeline, task.keywords):
        pass


def begin_next_day(task: ContestTask) -> datetime:
    """Move the pipeline's simulated clock to ten past midnight in Seoul; returns that moment."""
    pipeline = assemble(load_settings(environment(task)), task.database_url)

    def moving(connection: Connection) -> datetime:
        tomorrow = run_date_of(pipeline.clock.now(connection)) + timedelta(days=1)
        return pipeline.clock.move_to(connection, utc_of_kst(tomorrow, time(0, 10)))

    try:
        return pipeline.transactions.run(moving)
    finally:
        pipeline.close()


def _fresh(server: PrivateServer) -> str:
    """The URL of a new database; letters only, since dlt rewrites other names."""
    letters = "".join(secrets.choice(string.ascii_lowercase) for _ in range(8))
    return create_database(server, f"contest{letters}")


def _name(url: str) -> str:
    return url.rsplit("/", 1)[1].split("?", 1)[0]

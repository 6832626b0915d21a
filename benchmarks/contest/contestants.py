"""Who takes part, each in its fastest documented setting, and how its database is made ready."""

import secrets
import string
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from enum import Enum

from sqlalchemy import Connection

from benchmarks.collection_rate import registered
from benchmarks.contest.nine_columns import CURSOR_TABLE, TABLE
from benchmarks.contest.pipeline_settings import environment
from benchmarks.contest.task import ContestTask
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.settings import load_settings
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.servers import create_database, drop_database


class Store(Enum):
    """Where a contestant's rows are."""

    NOWHERE = "nowhere"
    NINE_COLUMNS = "nine columns"
    POSTINGS = "the pipeline's table"
    QUEUE = "the pipeline's table, through its queue"


@dataclass(frozen=True)
class Contestant:
    """``name`` on the command line, ``title`` in the tables; ``variant`` is its own to read."""

    name: str
    title: str
    module: str
    variant: str
    store: Store


LIMIT = "limit"
PAGE_SERVER = "page_server"
CONTESTANTS = (
    Contestant(PAGE_SERVER, "the page server alone", "discarding", "", Store.NOWHERE),
    Contestant(
        LIMIT, "limit: threads and mysqlclient, nine columns", "limit", "", Store.NINE_COLUMNS
    ),
    Contestant(
        "limit_same_columns",
        "the same loop, this project's parser, columns and table",
        "limit",
        "same",
        Store.POSTINGS,
    ),
    Contestant(
        "service_mysqlclient",
        "**collection-pipeline**, service, mysqlclient",
        "service_drain",
        "mysqldb",
        Store.QUEUE,
    ),
    Contestant(
        "service_pymysql",
        "**collection-pipeline**, service, PyMySQL",
        "service_drain",
        "pymysql",
        Store.QUEUE,
    ),
    Contestant(
        "dagster_mysqlclient",
        "**collection-pipeline**, Dagster job, mysqlclient",
        "dagster_drain",
        "mysqldb",
        Store.QUEUE,
    ),
    Contestant(
        "dagster_pymysql",
        "**collection-pipeline**, Dagster job, PyMySQL",
        "dagster_drain",
        "pymysql",
        Store.QUEUE,
    ),
    Contestant("scrapy", "Scrapy, batching pipeline", "scrapy_crawl", "", Store.NINE_COLUMNS),
    Contestant("dlt", "dlt, REST source, merge", "dlt_load", "", Store.NINE_COLUMNS),
    Contestant(
        "dagster_pandas",
        "Dagster op, pandas, SQLAlchemy upsert",
        "dagster_pandas",
        "",
        Store.NINE_COLUMNS,
    ),
)
BY_NAME = {contestant.name: contestant for contestant in CONTESTANTS}


def chosen(words: list[str]) -> list[Contestant]:
    """Contestants by name; ``limit:shares=2,requests`` adds words to a variant for a try."""
    found = []
    for word in words:
        name, _, more = word.partition(":")
        if name not in BY_NAME:
            raise SystemExit(f"{name}: no such contestant; write one of {', '.join(BY_NAME)}")
        contestant = BY_NAME[name]
        if more:
            variant = f"{contestant.variant} {more.replace(',', ' ')}".strip()
            title = f"{contestant.title} ({more})"
            contestant = replace(contestant, name=word, title=title, variant=variant)
        found.append(contestant)
    return found


def fresh_database(server: PrivateServer) -> str:
    """The URL of a new database; letters only, since dlt rewrites other names."""
    name = "contest" + "".join(secrets.choice(string.ascii_lowercase) for _ in range(8))
    return create_database(server, name)


def remove_database(server: PrivateServer, url: str) -> None:
    """Drop it and the staging database that dlt makes beside it."""
    drop_database(server, url)
    drop_database(server, url.replace("?", "_staging?", 1))


def prepare(contestant: Contestant, server: PrivateServer, task: ContestTask) -> None:
    """Make the tables and, for the pipeline, register the sources on a day that has just begun."""
    name = task.database.database
    if contestant.store is Store.NINE_COLUMNS and contestant.module != "dlt_load":
        server.execute(TABLE.replace("TABLE ", f"TABLE `{name}`.", 1))
    if contestant.store is Store.POSTINGS:
        pipeline = assemble(load_settings({}), task.database_url)
        migrate(pipeline.engine)
        pipeline.close()
    if contestant.store in {Store.NINE_COLUMNS, Store.POSTINGS}:
        server.execute(CURSOR_TABLE.replace("TABLE ", f"TABLE `{name}`.", 1))
    if contestant.store is Store.QUEUE:
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

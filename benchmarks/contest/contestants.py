"""Who takes part, each in its fastest documented setting (benchmarks/README.md)."""

from dataclasses import dataclass, replace
from enum import Enum


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

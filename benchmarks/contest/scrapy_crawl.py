"""Scrapy with a batching MySQL pipeline: Twisted's connection pool over mysqlclient.

One item a posting, one multi-row upsert for ``BATCH`` items in one of the pool's threads. The first
page tells the total, then all other pages of a source are asked for at once, up to
CONCURRENT_REQUESTS. Words of ``variant``: ``concurrent=N``, ``batch=N``, ``writers=N``.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
import scrapy
import scrapy.crawler
from twisted.enterprise import adbapi
from twisted.internet.defer import DeferredList

from benchmarks.contest.catalogue import pages_of
from benchmarks.contest.nine_columns import COLUMNS, UPSERT, row_of, store_many
from benchmarks.contest.task import ContestTask, ready

BATCH = 500
CONCURRENT = 16
WRITERS = 2


class BatchedPostings:
    """Keeps items until there are enough for one statement."""

    def __init__(self, task: ContestTask, batch: int, writers: int) -> None:
        self._batch = batch
        self._rows: list[tuple[object, ...]] = []
        self._writing: list[Any] = []
        self._pool = adbapi.ConnectionPool(
            "MySQLdb", cp_min=writers, cp_max=writers, **task.mysqlclient_arguments
        )

    @classmethod
    def from_crawler(cls, crawler: Any) -> "BatchedPostings":
        """Scrapy makes its pipelines by this."""
        settings = crawler.settings
        return cls(
            settings["CONTEST_TASK"],
            settings.getint("CONTEST_BATCH"),
            settings.getint("CONTEST_WRITERS"),
        )

    def process_item(self, item: dict[str, object]) -> dict[str, object]:
        """Add one item; a full batch goes to a thread."""
        self._rows.append(tuple(item[name] for name in COLUMNS))
        if len(self._rows) >= self._batch:
            self._flush()
        return item

    def close_spider(self) -> Any:
        """The last batch; Scrapy waits for what this returns."""
        self._flush()
        done = DeferredList(self._writing, fireOnOneErrback=True)
        done.addBoth(self._close_pool)
        return done

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._writing.append(self._pool.runInteraction(store_many, UPSERT, rows))

    def _close_pool(self, outcome: Any) -> Any:
        self._pool.close()
        return outcome


class PostingsSpider(scrapy.Spider):  # type: ignore[misc]  # not in .venv, so without types there
    """Reads every page of every source."""

    name = "contest"

    def __init__(self, task: ContestTask, **others: Any) -> None:
        super().__init__(**others)
        self._task = task

    async def start(self) -> AsyncIterator[Any]:
        """The first page of each source."""
        for word in self._task.keywords:
            yield self._request(word, 0)

    def parse(self, response: Any, word: str, page: int) -> Iterator[Any]:
        """The page's postings, after the requests that it makes possible."""
        jobs = orjson.loads(response.body)["jobs"]
        if page == 0:
            for following in range(1, pages_of(int(jobs["total"]))):
                yield self._request(word, following)
        for job in jobs["job"]:
            yield dict(zip(COLUMNS, row_of(word, job, orjson.dumps(job).decode()), strict=True))

    def _request(self, word: str, page: int) -> Any:
        return scrapy.Request(
            self._task.base_url + self._task.target(word, page),
            headers={"Accept": "application/json"},
            dont_filter=True,
            cb_kwargs={"word": word, "page": page},
        )


def main() -> None:
    """One crawl."""
    task = ContestTask.read()
    given = dict(word.split("=") for word in task.variant.split() if "=" in word)
    concurrent = int(given.get("concurrent", CONCURRENT))
    crawling = scrapy.crawler.CrawlerProcess(
        {
            "CONTEST_TASK": task,
            "CONTEST_BATCH": int(given.get("batch", BATCH)),
            "CONTEST_WRITERS": int(given.get("writers", WRITERS)),
            "ITEM_PIPELINES": {BatchedPostings: 300},
            "CONCURRENT_REQUESTS": concurrent,
            "CONCURRENT_REQUESTS_PER_DOMAIN": concurrent,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "WARNING",
        }
    )
    crawling.crawl(PostingsSpider, task=task)
    ready()
    crawling.start()
    if crawling.bootstrap_failed or any(
        crawler.stats.get_value("log_count/ERROR", 0) for crawler in crawling.crawlers
    ):
        raise SystemExit("the crawl met errors")


if __name__ == "__main__":
    main()

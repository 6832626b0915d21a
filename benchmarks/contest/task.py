"""What a contestant is told, and when it may begin.

A contestant is ``python -m benchmarks.contest.NAME TASK`` with the task as JSON. It imports all
that it needs, calls ``ready`` and begins when that returns: wall and processor time count from
there to the process's end, peak memory counts for the whole process.
"""

import json
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.engine import URL, make_url

from benchmarks.contest.catalogue import PAGE_ROWS, keyword, pages_of

READY = "READY"


@dataclass(frozen=True)
class ContestTask:
    """One load: where pages come from, where rows go; ``variant`` is the contestant's own."""

    base_url: str
    access_key: str
    database_url: str
    dagster_url: str
    sources: int
    rows: int
    variant: str
    folder: str
    """For what a contestant keeps between its two loads."""

    @classmethod
    def read(cls) -> "ContestTask":
        """The task of this process."""
        return cls(**json.loads(sys.argv[1]))

    def written(self) -> str:
        """As ``read`` takes it."""
        return json.dumps(asdict(self))

    @cached_property
    def keywords(self) -> list[str]:
        """One search a source."""
        return [keyword(source, self.rows) for source in range(self.sources)]

    @property
    def pages(self) -> int:
        """Pages of one source."""
        return pages_of(self.rows)

    def query(self, word: str, page: int) -> dict[str, str]:
        """The parameters of one page's request, as the platform asks for them."""
        return {
            "keywords": word,
            "sort": "pd",
            "start": str(page),
            "count": str(PAGE_ROWS),
            "access-key": self.access_key,
        }

    def target(self, word: str, page: int) -> str:
        """Path and query of one page's request."""
        return f"/job-search?{urlencode(self.query(word, page))}"

    @cached_property
    def database(self) -> URL:
        """The database's address, by its parts."""
        return make_url(self.database_url)

    def database_for(self, driver: str) -> str:
        """The database's address for SQLAlchemy with another driver."""
        url = self.database.set(drivername=f"mysql+{driver}")
        if driver == "mysqldb":
            # PyMySQL's word for a connection without TLS; mysqlclient does not know it.
            url = url.difference_update_query(["ssl_disabled"])
        return url.render_as_string(hide_password=False)

    @property
    def mysqlclient_arguments(self) -> dict[str, Any]:
        """For ``MySQLdb.connect``."""
        return {
            "host": self.database.host,
            "port": self.database.port,
            "user": self.database.username,
            "password": self.database.password,
            "database": self.database.database,
            "charset": "utf8mb4",
        }


def ready() -> None:
    """Say that everything is imported, and wait for the start."""
    print(READY, flush=True)
    if sys.stdin.readline().strip() != "go":
        sys.exit("the contest was called off")

"""The pipeline's environment for the contest: budgets raised, the least delay that it allows.

All five sources are of one platform, so they share one host and its delay of 1 ms; nobody else has
a delay. Words of ``variant``: the driver (``mysqldb`` or ``pymysql``), ``pages=N`` list pages a
slice, ``threads=N``.
"""

from benchmarks.contest.catalogue import PAGE_ROWS
from benchmarks.contest.task import ContestTask

PAGES = 20
THREADS = 5


def driver_of(variant: str) -> str:
    """The database driver that a variant names."""
    return "mysqldb" if "mysqldb" in variant.split() else "pymysql"


def environment(task: ContestTask) -> dict[str, str]:
    """Settings for one load, to be added to the process's own."""
    given = dict(word.split("=") for word in task.variant.split() if "=" in word)
    pages = int(given.get("pages", PAGES))
    threads = str(given.get("threads", THREADS))
    numbers = {
        "DAILY_MAX_LIST_PAGES": "100000",
        "DAILY_MAX_POSTINGS": "1000000",
        "SARAMIN_DAILY_CALLS": "1000000",
        "SLICE_MAX_LIST_PAGES": str(pages),
        "SLICE_MAX_POSTINGS": str(pages * PAGE_ROWS),
        "HOST_MIN_DELAY_MS": "1",
        "TICK_CLAIM_LIMIT": threads,
        "MAX_LEASES_PER_HOST": threads,
        "SIMULATION": "1",
        "SARAMIN_BASE_URL": task.base_url,
        "SARAMIN_ACCESS_KEY": task.access_key,
        "DATABASE_URL": task.database_for(driver_of(task.variant)),
    }
    return {f"COLLECTION_{name}": value for name, value in numbers.items()}

"""The library ingest as its entry points run it: a stack whose register is small, and its key.

The simulator of the stack serves the register too; ``register_of`` says what it holds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from collection_pipeline.ingest.assembly import TABLE
from collection_pipeline.simulator.library_rule import DEFAULT_SERVICE_KEY
from collection_pipeline.store.flags import LIBRARY_SCHEDULE_FLAG
from collection_pipeline.store.session_lock import SessionLock
from collection_pipeline_tests.kit.library_world import IDLE_SECONDS
from collection_pipeline_tests.kit.stack import Record, Row, Stack

SERVICE_KEY = DEFAULT_SERVICE_KEY
SMALL = 60
THREE_PAGES = 2_100
MONTHLY = {"source": "library", "deactivate_stale": True}


def serve_libraries(stack: Stack, count: int = SMALL, **rule: Any) -> Stack:
    """The stack's simulator holds ``count`` libraries from now on, at day 1, and no fault."""
    register = {"count": count, **rule}
    stack.simulator.load({"base_date": stack.first_day.isoformat(), "library": register})
    return stack


def add_library_fault(stack: Stack, name: str, **settings: Any) -> None:
    """The next requests for the register meet this fault."""
    stack.simulator.add_fault({"name": name, "platform": "library", **settings})


def library_requests(stack: Stack) -> list[Record]:
    """The simulator's log of the register."""
    return [one for one in stack.requests() if one["platform"] == "library"]


def ingest_runs(stack: Stack) -> list[Row]:
    """Every run's row, oldest first."""
    return stack.rows("SELECT * FROM ingest_runs ORDER BY id")


def ends(stack: Stack) -> list[tuple[str, str, str]]:
    """Source, trigger and status of every run, oldest first."""
    return [(run["source"], run["trigger_kind"], run["run_status"]) for run in ingest_runs(stack)]


def active_libraries(stack: Stack) -> int:
    """Active rows of the register."""
    return int(stack.value("SELECT COUNT(*) FROM public_libraries WHERE active = 1"))


def switch_schedule(stack: Stack, *, enabled: bool = True) -> None:
    """The flag that the schedule asks."""
    stack.set_flags(LIBRARY_SCHEDULE_FLAG, enabled=enabled)


@contextmanager
def register_locked(stack: Stack) -> Iterator[None]:
    """Another ingest is at work meanwhile."""
    with SessionLock(stack.url, TABLE, IDLE_SECONDS).take() as held:
        assert held is not None
        yield

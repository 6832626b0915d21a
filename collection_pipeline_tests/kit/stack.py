"""The whole collection under one test: platforms, database, services and a clock that is moved.

Invariant: nothing of the test itself uses the pipeline's own connections, since a thread that holds
one while a request is sent is a fault that production code reports (R25). Days are counted from the
day after the machine's own, because the simulated clock only moves forward (R15).
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, text

from collection_pipeline.collection.assembly import CollectionPipeline, assemble, worker_name
from collection_pipeline.collection.dispatch import TickSummary, TickTerms
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.domain.source import (
    BudgetOverrides,
    Condition,
    DetailMode,
    JobSource,
    Platform,
    source_type_of,
)
from collection_pipeline.settings import load_settings
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.schema import metadata
from collection_pipeline.store.sources import JobSources
from collection_pipeline.store.throttle import PersistentHostRequestThrottle
from collection_pipeline.store.transaction import TransactionRunner

T = TypeVar("T")
Row = dict[str, Any]
Record = dict[str, Any]

PATIENCE_SECONDS = 30.0
DELAY_MS = 10
_ASK_AGAIN_SECONDS = 0.01
_CONDITION_KEYS = {"saramin": "keywords", "greenhouse": "board", "lever": "site"}


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    """Returns once ``is_so``; ``what`` says in the failure what did not come about."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_SECONDS / _ASK_AGAIN_SECONDS)):
        if is_so():
            return
        pause.wait(_ASK_AGAIN_SECONDS)
    raise AssertionError(f"it never came about that {what}")


class Stack:
    """One simulator, one database and the services between them."""

    def __init__(self, url: str, simulator: SimulatorServer, **settings: object) -> None:
        self.url = url
        self.simulator = simulator
        self.environment = {
            "COLLECTION_DATABASE_URL": url,
            "COLLECTION_SIMULATION": "1",
            "COLLECTION_SARAMIN_ACCESS_KEY": simulator.access_key,
            "COLLECTION_HOST_MIN_DELAY_MS": str(DELAY_MS),
            **simulator.exports(),
            **{f"COLLECTION_{name}": str(value) for name, value in settings.items()},
        }
        self.sources: dict[int, tuple[str, str]] = {}
        self._engine = open_engine(url)
        self._transactions = TransactionRunner(self._engine)
        self._clock = DatabaseClock()
        self._opened = ExitStack()
        self.pipeline = self.open_pipeline()
        self.first_day = run_date_of(self.now()) + timedelta(days=1)

    def open_pipeline(self, url: str | None = None, **settings: object) -> CollectionPipeline:
        """The services of one more process; closed with the stack."""
        changed = {f"COLLECTION_{name}": str(value) for name, value in settings.items()}
        opened = assemble(load_settings({**self.environment, **changed}), url or self.url)
        self._opened.callback(opened.close)
        return opened

    def close(self) -> None:
        """Gives every connection back."""
        self._opened.close()
        self._engine.dispose()

    # --- the clock

    def now(self) -> datetime:
        """The database's time with the simulated offset, naive UTC."""
        return self.run(self._clock.now)

    def day(self, number: int) -> date:
        """The run date of day ``number``; 1 is the first."""
        return self.first_day + timedelta(days=number - 1)

    def set_clock(self, number: int, at: time = time(0, 5)) -> date:
        """Database and platforms are at that KST time of day ``number``."""
        day = self.day(number)
        self.move_clock_to(utc_of_kst(day, at))
        self.simulator.set_day(day)
        return day

    def move_clock_to(self, target: datetime) -> None:
        """The database alone is at ``target`` (naive UTC)."""

        def moving(connection: Connection) -> None:
            self._clock.move_to(connection, target)

        self.run(moving)

    def pass_time(self, **duration: float) -> None:
        """The database alone is that much later."""
        self.move_clock_to(self.now() + timedelta(**duration))

    # --- what is collected

    def add(self, platform: str, key: str, **options: Any) -> int:
        """A source whose catalogue the simulator calls ``key``; ``condition`` replaces its own.

        Other ``options``: ``active``, ``detail_mode`` and the names of ``BudgetOverrides``.
        """
        condition: Condition = options.pop("condition", None) or condition_of(platform, key)
        active = options.pop("active", True)
        detail_mode = DetailMode(options.pop("detail_mode", "required"))
        source = JobSource(
            0,
            platform,
            source_type_of(Platform(platform)),
            f"{platform} {key}",
            condition,
            active=active,
            detail_mode=detail_mode,
            overrides=BudgetOverrides(**options),
        )
        source_id = self.run(lambda c: JobSources().add(c, source, self._clock.now(c)))
        self.sources[source_id] = (platform, key)
        return source_id

    def switch(self, source_id: int, *, active: bool) -> None:
        """Enables or disables a source."""
        self.run(lambda c: JobSources().switch(c, source_id, active=active, now=self._clock.now(c)))

    def set_flags(self, *names: str, enabled: bool = True) -> None:
        """Switches flags; both collection flags where none is named."""
        for name in names or (DISPATCH_FLAG, AGGREGATOR_FLAG):
            self.run(
                lambda c, name=name: FeatureFlags().set(  # type: ignore[misc]  # bound at once
                    c, name, enabled=enabled, by="test", now=self._clock.now(c)
                )
            )

    # --- work

    def tick(
        self, *, drain: bool = True, pipeline: CollectionPipeline | None = None, **terms: Any
    ) -> TickSummary:
        """One tick in this process."""
        asked = TickTerms(drain=drain, worker=worker_name(), **terms)
        return (pipeline or self.pipeline).dispatch.execute_tick(asked)

    @contextmanager
    def ticking(
        self, pipeline: CollectionPipeline | None = None, **terms: Any
    ) -> Iterator["Future[TickSummary]"]:
        """A tick in a thread of its own; leaving waits for it."""
        with ThreadPoolExecutor(1) as thread:
            yield thread.submit(self.tick, pipeline=pipeline, **terms)

    # --- what came of it

    def run(self, work: Callable[[Connection], T]) -> T:
        """``work`` in a transaction of its own, on the test's own connections."""
        return self._transactions.run(work)

    def rows(self, statement: str, **values: object) -> list[Row]:
        """What a SELECT finds, by column name."""
        return self.run(
            lambda c: [dict(row._mapping) for row in c.execute(text(statement), values)]
        )

    def value(self, statement: str, **values: object) -> Any:
        """The only column of the only row."""
        ((value,),) = [row.values() for row in self.rows(statement, **values)]
        return value

    def write(self, statement: str, **values: object) -> int:
        """Carries out a statement; returns the rows it met."""
        return self.run(lambda c: c.execute(text(statement), values).rowcount)

    def tables(self, *, without: Sequence[str] = ()) -> dict[str, list[Row]]:
        """Every row of every table, in key order."""
        return {
            table.name: self.rows(
                f"SELECT * FROM {table.name} ORDER BY "
                + ", ".join(column.name for column in table.primary_key)
            )
            for table in metadata.sorted_tables
            if table.name not in without
        }

    def cycle(self, source_id: int, number: int = 1) -> Row:
        """The source's cycle of day ``number``."""
        (row,) = self.rows(
            "SELECT * FROM job_posting_collection_cycles"
            " WHERE job_source_id = :source AND run_date = :day",
            source=source_id,
            day=self.day(number),
        )
        return row

    def end_of(self, source_id: int, number: int = 1) -> tuple[str, str | None]:
        """Status and reason of the source's cycle of day ``number``."""
        cycle = self.cycle(source_id, number)
        return cycle["cycle_status"], cycle["failure_reason"] or cycle["budget_exhausted_reason"]

    def slices(self, source_id: int) -> list[Row]:
        """The source's attempts in the order in which they ended."""
        return self.rows(
            "SELECT * FROM collection_slices WHERE job_source_id = :source ORDER BY id",
            source=source_id,
        )

    def postings(self, source_id: int) -> dict[str, Row]:
        """The source's postings by their id on the platform."""
        return {
            row["source_job_id"]: row
            for row in self.rows(
                "SELECT * FROM job_postings WHERE job_source_id = :source", source=source_id
            )
        }

    def requests(
        self, source_id: int | None = None, number: int | None = None, kind: str | None = None
    ) -> list[Record]:
        """The simulator's log in order of arrival, of one source, day or kind where named."""
        platform, key = self.sources[source_id] if source_id is not None else (None, None)
        run_date = None if number is None else self.day(number).isoformat()
        chosen = (
            record
            for record in self.simulator.records()
            if (source_id is None or (record["platform"], record["search_key"]) == (platform, key))
            and run_date in (None, record["run_date"])
            and kind in (None, record["kind"])
        )
        return sorted(chosen, key=lambda record: int(record["at_us"]))

    def pages(self, source_id: int, number: int | None = None) -> list[int]:
        """Page numbers (from 0) that were requested of a source, in order of arrival."""
        return [record["page"] for record in self.requests(source_id, number, "list")]

    def catalogue(self, source_id: int, number: int = 1) -> set[str]:
        """The ids that the platform really has on day ``number``."""
        return set(self.simulator.catalogue(*self.sources[source_id], self.day(number)))

    def is_waiting_for_slot(self, seconds: float) -> bool:
        """Whether some host's next free moment lies more than ``seconds`` ahead."""
        until = self.now() + timedelta(seconds=seconds)
        found = "SELECT COUNT(*) FROM external_request_host_limits WHERE next_allowed_at > :until"
        return bool(self.value(found, until=until))

    def hold_next_request(self, source_id: int, seconds: float) -> None:
        """The host's next request waits so long; returns once a worker waits for its slot.

        Call it while a request of the source is in flight.
        """
        host = self.cycle(source_id)["request_host"]
        PersistentHostRequestThrottle(self._transactions, self._clock).hold_back(host, seconds)
        found = "SELECT next_allowed_at FROM external_request_host_limits WHERE host = :host"
        held_until = self.value(found, host=host)
        wait_until(
            "a slot behind the pause is reserved", lambda: self.value(found, host=host) > held_until
        )


def condition_of(platform: str, key: str) -> Condition:
    """The condition under which the simulator finds the catalogue ``key``."""
    if platform == "jumpit":
        return {"jobCategory" if key.isdigit() else "keyword": [key]}
    if platform == "wanted":
        return {"form": ["v4"], "tag_type_ids": [key]}
    return {_CONDITION_KEYS[platform]: [key]}


@contextmanager
def opened_stack(
    url: str,
    catalogues: Sequence[Mapping[str, Any]] = (),
    *,
    separate_ports: bool = False,
    access_key: str | None = None,
    **settings: object,
) -> Iterator[Stack]:
    """A stack at 00:05 KST of day 1 with both flags on; ``catalogues`` are a scenario's sources."""
    with SimulatorServer(
        scenario={"sources": [dict(one) for one in catalogues]},
        separate_ports=separate_ports,
        access_key=access_key,
    ) as simulator:
        stack = Stack(url, simulator, **settings)
        try:
            stack.set_clock(1)
            stack.set_flags()
            yield stack
        finally:
            stack.close()

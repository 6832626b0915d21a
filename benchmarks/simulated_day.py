"""One day of many sources through the real services, with a meter at each of its hours.

The day passes as in production: cycles at midnight, ticks until nothing is due, retention, the
09:00 snapshot, a tick that tells it, the cleanup, and the next midnight. Nothing is inserted by
hand. The services run in this process; the database and the platforms are processes of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from sqlalchemy import Connection

from benchmarks.processor_time import Meter, Spent
from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.collection.dispatch import TickTerms
from collection_pipeline.collection.registration import checked_source, store_sources
from collection_pipeline.domain.kst import run_date_of, utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.settings import load_settings
from collection_pipeline.store.flags import KNOWN_FLAGS, FeatureFlags
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.sources import JobSources

CONDITION_KEYS = {"greenhouse": "board", "lever": "site", "saramin": "keywords"}
LARGE_BOARDS = 6
LARGE_POSTINGS = 400
"""One page and one slice, so that a large board differs from a small one by its postings only."""
WARMING = 2
QUESTIONS = 50
IDLE_TICKS = 20
SETTINGS = {
    "COLLECTION_SIMULATION": "1",
    "COLLECTION_HOST_MIN_DELAY_MS": "1",
    "COLLECTION_SARAMIN_DAILY_CALLS": "1000000",
}
"""Else the defaults. A real host keeps its distance, and a real key its quota: see the page."""


@dataclass
class DayCosts:
    """What each part took. ``shares`` are tenths of the ticks in their order."""

    sources: int
    postings: int
    hosts: int
    ticks: int = 0
    slices: int = 0
    gate_held_ms: float = 0.0
    parts: dict[str, Spent] = field(default_factory=dict)
    ticking: list[Spent] = field(default_factory=list)

    def tenth(self, place: int) -> Spent:
        """What a slice cost in the first (0) or the last (-1) tenth of the day's ticks."""
        many = max(1, len(self.ticking) // 10)
        chosen = self.ticking[:many] if place == 0 else self.ticking[-many:]
        return sum(chosen, Spent()).per(len(chosen) * self.slices // max(1, self.ticks))


class SimulatedDay:
    """A migrated database with sources, at the first minutes of a day."""

    def __init__(self, pipeline: CollectionPipeline, meter: Meter) -> None:
        self.pipeline = pipeline
        self._meter = meter
        self.day: date = run_date_of(pipeline.transactions.run(pipeline.clock.now))

    def pass_day(self, sources: int, postings: int, platforms: Sequence[str]) -> DayCosts:
        """A warm-up day of a few sources, which are then switched off; then the measured day."""
        costs = DayCosts(sources, postings, len(platforms))
        self._begin_day()
        warm = self._register("warm", WARMING * len(platforms), postings, platforms)
        self._drain()
        self._capture()
        self._tick()
        for source_id in warm:
            self._switch_off(source_id)
        self._register("one", sources, postings, platforms)
        self._begin_day()
        pipeline, parts = self.pipeline, costs.parts
        with self._measured(parts, "creation"):
            pipeline.creation.create_daily_cycles()
        with self._measured(parts, "preparation"):
            pipeline.dispatch.make_ready()
        with self._measured(parts, "question with work", QUESTIONS):
            self._ask(expected=True)
        with self._measured(parts, "day"):
            self._tick_until_idle(costs)
        with self._measured(parts, "question without work", QUESTIONS):
            self._ask(expected=False)
        with self._measured(parts, "idle tick", IDLE_TICKS):
            for _ in range(IDLE_TICKS):
                assert self._tick() == 0
        self._large_boards(costs)
        self._end_day(costs)
        self._begin_day()
        with self._measured(parts, "next midnight"):
            pipeline.creation.create_daily_cycles()
        return costs

    def _large_boards(self, costs: DayCosts) -> None:
        self._register("large", LARGE_BOARDS, LARGE_POSTINGS, ["greenhouse"])
        self.pipeline.dispatch.make_ready()
        with self._measured(costs.parts, "large boards"):
            self._drain()

    def _end_day(self, costs: DayCosts) -> None:
        pipeline, parts = self.pipeline, costs.parts
        with self._measured(parts, "retention"):
            pipeline.retention.apply().require_success()
        with self._measured(parts, "capture"):
            costs.gate_held_ms = self._capture() * 1000
        with self._measured(parts, "telling"):
            self._tick()
        with self._measured(parts, "cleanup"):
            pipeline.cleanup.clean_up()

    def _capture(self) -> float:
        """Seconds for which the day's gate was held."""
        cutoff = utc_of_kst(self.day, self.pipeline.settings.sla_cutoff)
        self._move(cutoff - timedelta(seconds=1))
        capture = self.pipeline.snapshots.capture_at_nine(worker="growth")
        assert capture.header.status is CaptureStatus.CAPTURED, capture.note
        assert capture.gate_held_seconds is not None
        return capture.gate_held_seconds

    def _tick_until_idle(self, costs: DayCosts) -> None:
        while True:
            before = self._meter.read()
            slices = self._tick()
            if not slices:
                break
            costs.ticking.append(self._meter.read() - before)
            costs.ticks += 1
            costs.slices += slices
        assert costs.slices == costs.sources, f"{costs.slices} slices of {costs.sources} sources"

    def _tick(self) -> int:
        return self.pipeline.dispatch.execute_tick(TickTerms(worker="growth")).slices

    def _drain(self) -> None:
        self.pipeline.dispatch.execute_tick(TickTerms(worker="growth", drain=True))

    def _ask(self, *, expected: bool) -> None:
        for _ in range(QUESTIONS):
            assert self.pipeline.dispatch.has_work() is expected

    def _register(
        self, name: str, count: int, postings: int, platforms: Sequence[str]
    ) -> list[int]:
        rows: list[Mapping[str, object]] = []
        for number in range(count):
            platform = platforms[number % len(platforms)]
            key = f"{name}{number}-{postings}"
            condition = {CONDITION_KEYS[platform]: key}
            rows.append({"platform": platform, "label": key, "condition": condition})
        new = [checked_source(row, self.pipeline.gateway) for row in rows]
        return store_sources(self.pipeline, new)

    def _switch_off(self, source_id: int) -> None:
        def switching(connection: Connection) -> None:
            now = self.pipeline.clock.now(connection)
            JobSources().switch(connection, source_id, active=False, now=now)

        self.pipeline.transactions.run(switching)

    def _begin_day(self) -> None:
        self.day += timedelta(days=1)
        self._move(utc_of_kst(self.day, time(0, 5)))

    def _move(self, target: datetime) -> None:
        self.pipeline.transactions.run(lambda c: self.pipeline.clock.move_to(c, target))

    @contextmanager
    def _measured(self, parts: dict[str, Spent], name: str, count: int = 1) -> Iterator[None]:
        before = self._meter.read()
        yield
        parts[name] = (self._meter.read() - before).per(count)


@contextmanager
def opened_day(
    url: str, exports: Mapping[str, str], meter: Meter, settings: Mapping[str, str]
) -> Iterator[SimulatedDay]:
    """Over a fresh database, flags on."""
    told = {name: value for name, value in exports.items() if name.startswith("COLLECTION_")}
    pipeline = assemble(load_settings({**told, **SETTINGS, **settings}), url)
    try:
        migrate(pipeline.engine)
        pipeline.transactions.run(_switching_on(pipeline))
        yield SimulatedDay(pipeline, meter)
    finally:
        pipeline.close()


def _switching_on(pipeline: CollectionPipeline) -> Callable[[Connection], None]:
    def switching(connection: Connection) -> None:
        now = pipeline.clock.now(connection)
        for flag in KNOWN_FLAGS:
            FeatureFlags().set(connection, flag, enabled=True, by="benchmark", now=now)

    return switching

"""Histories of the queue in any order, drawn by hypothesis; after each event every row is compared.

The rules are few and wide: one of them interferes, one lets time pass, the others are the work
itself. So a short history already comes to cycles that end, morning after morning.
"""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from collection_pipeline_tests.kit.queue_moments import (
    MICROSECOND,
    MOMENTS,
    MORNINGS,
    moment_of,
)
from collection_pipeline_tests.kit.queue_rows import SlicePlan, SourceRow
from collection_pipeline_tests.kit.queue_slices import JOB_IDS, slice_plans
from collection_pipeline_tests.kit.queue_twin import FLAGS, QueueTwin
from collection_pipeline_tests.kit.queue_world import KINDS, QueueWorld

MOST_SOURCES = 5
INTERFERENCES = (
    "nothing",
    "source off",
    "source off",
    "source on",
    "source added",
    "main flag off",
    "aggregators off",
    "flags on",
    "configuration broken",
    "configuration broken",
    "older run",
    "older run",
    "sighting elsewhere",
    "sighting elsewhere",
    "seen row left",
    "host held back",
)
WORKERS = ("live", "live", "superseded", "expired", "any")
TROUBLES = ("", "", "", "old worker first", "lease ended", "just in time", "killed")
numbers = st.integers(0, 11)
turns = st.tuples(slice_plans(), st.sampled_from(TROUBLES))
interferences = st.tuples(
    st.sampled_from(INTERFERENCES),
    numbers,
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(JOB_IDS),
    st.sampled_from((60, 300, 301, 3600)),
)
days = st.tuples(
    interferences,
    st.sampled_from(("first", "before the claims", "amid the work")),
    st.lists(turns, min_size=3, max_size=6),
    st.none() | st.sampled_from(MORNINGS),
)
Interference = tuple[str, int, str, str, int]
Day = tuple[Interference, str, list[tuple[SlicePlan, str]], str | None]


class QueueMachine(RuleBasedStateMachine):
    """Sources, workers and the clock; stale workers keep their tokens for ever."""

    def __init__(self, world: QueueWorld, tried: Counter[str]) -> None:
        super().__init__()
        self.twin = QueueTwin(world)
        self.tried = tried
        tried["histories"] += 1

    @initialize(history=st.lists(days, min_size=3, max_size=5))
    def some_days_ago(self, history: list[Day]) -> None:
        """Three sources with both flags on, and what they went through."""
        for name in FLAGS:
            self.twin.switch_flag(name, True)
        for kind in ("board", "board", "aggregator"):
            self.twin.add_source(kind)
        for day in history:
            self.a_whole_day(day)

    @rule(interference=interferences)
    def interfere(self, interference: Interference) -> None:
        """An operator, another release or a hand does something (R2, R3, R6a, R17, R26, R44)."""
        what, number, kind, job_id, seconds = interference
        twin, source = self.twin, self._source(number)
        if what == "source added":
            if len(twin.model.sources) < MOST_SOURCES:
                twin.add_source(kind)
        elif what in {"source on", "source off"}:
            twin.switch_source(source, what == "source on")
        elif what in {"main flag off", "aggregators off"}:
            twin.switch_flag(FLAGS[what == "aggregators off"], False)
        elif what == "flags on":
            for name in FLAGS:
                twin.switch_flag(name, True)
        elif what.startswith("configuration"):
            twin.configure(source, well=what.endswith("mended"), budget=number % 2 == 0)
        elif what == "older run":
            twin.older_run(source)
        elif what == "sighting elsewhere":
            twin.sight_elsewhere(source, job_id)
        elif what == "seen row left":
            twin.leave_seen_row(number, job_id)
        elif what == "host held back":
            twin.hold_back(source, seconds)

    @rule(moment=st.sampled_from(MOMENTS), number=numbers)
    def time_passes(self, moment: str, number: int) -> None:
        """R15: to the moments at which something is decided."""
        self.twin.move_to(moment_of(self.twin.model, moment, number))

    @rule(number=numbers, alone=st.booleans())
    def make_ready(self, number: int, alone: bool) -> None:
        """R1, R2, R3, R35: the first half of a tick, or one part of it."""
        if alone and number % 3 == 0:
            self.twin.create_one(self._source(number))
            return
        if not alone or number % 3 == 1:
            self.twin.make_day()
        if not alone or number % 3 == 2:
            self.twin.prepare()

    @rule(cap=st.sampled_from((1, 3, 3)))
    def claim(self, cap: int) -> None:
        """R5."""
        self.twin.ask_for_work()
        self.twin.claim(cap)

    @precondition(lambda self: self.twin.claims)
    @rule(worker=st.sampled_from(WORKERS), number=numbers, plan=slice_plans())
    def store_slice(self, worker: str, number: int, plan: SlicePlan) -> None:
        """R6 to R10, R14: of a live claim or of one long gone."""
        self.twin.store_slice(self.twin.claim_of(worker, number), plan)

    @precondition(lambda self: self.twin.claims)
    @rule(worker=st.sampled_from(WORKERS), number=numbers, seconds=st.sampled_from((1, 600, 1200)))
    def renew_and_ask(self, worker: str, number: int, seconds: int) -> None:
        """R14, R17, R27."""
        claimed = self.twin.claim_of(worker, number)
        self.twin.ask_to_send(claimed)
        self.twin.renew(claimed, seconds)

    @rule()
    def recover(self) -> None:
        """R11, R37, R38."""
        self.twin.recover()
        self.twin.recover_mornings()

    @rule()
    def clean_up(self) -> None:
        """R31."""
        self.twin.clean_up()

    @rule(moment=st.none() | st.sampled_from((*MORNINGS, "ahead")), dies=st.booleans())
    def capture(self, moment: str | None, dies: bool) -> None:
        """R36 to R39; one that dies is followed by another, which may come in time or not."""
        if moment == "ahead":
            self.twin.capture_ahead()
            return
        if moment is not None:
            self.time_passes(moment, 0)
        self.twin.capture(dies=dies)

    @rule(day=days)
    def a_whole_day(self, day: Day) -> None:
        """A day with its tick; what was off is on again, then somebody interferes."""
        interference, when, slices, morning = day
        self.time_passes("midnight", 0)
        self.twin.set_right()
        if when == "first":
            self.interfere(interference)
        self.twin.make_day()
        self.twin.recover()
        self.twin.prepare()
        if when == "before the claims":
            self.interfere(interference)
        for number, (plan, trouble) in enumerate(slices):
            if not self.twin.claim(3):
                break
            if when == "amid the work" and number == 0:
                self.interfere(interference)
            self._work(plan, trouble)
        if morning is not None:
            self.time_passes(morning, 0)
            self.twin.capture()

    @rule(plan=slice_plans(), well=st.booleans())
    def a_night_shift(self, plan: SlicePlan, well: bool) -> None:
        """R5, R16, R17, R33: begun in the last moment of its day, ended after the next one began.

        Where its source has become uncollectable, the new day ends before the old one.
        """
        self.twin.set_right()
        self.time_passes("just before midnight", 0)
        self.twin.make_day()
        self.twin.recover()
        self.twin.prepare()
        if not self.twin.claim(3):
            return
        claimed = self.twin.claims[-1]
        self.time_passes("midnight", 0)
        source = self.twin.model.sources[claimed.cycle.job_source_id]
        self.twin.configure(source, well=well, budget=True)
        self.twin.make_day()
        self.twin.prepare()
        self.twin.claim(3)
        self.twin.ask_to_send(claimed)
        self.twin.store_slice(claimed, plan)

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        """Every row, and the invariants of section 12 over the real tables."""
        self.twin.check()
        self.tried["steps"] += 1

    def teardown(self) -> None:
        """What this history came to, for the figures."""
        model = self.twin.model
        self.tried["slices"] += len(model.slices)
        self.tried["closed_postings"] += sum(one.closed_count for one in model.cycles.values())
        self.tried["snapshots"] += sum(
            one.captured_at is not None for one in model.headers.values()
        )

    def _work(self, plan: SlicePlan, trouble: str) -> None:
        """One claimed slice and what may go wrong with it (R11, R14, I2)."""
        claimed = self.twin.claims[-1]
        if trouble == "killed":
            return
        if trouble == "old worker first":
            old = self.twin.claim_of("superseded", 0)
            self.twin.store_slice(old, plan)
            self.twin.renew(old, 1200)
        if trouble in {"lease ended", "just in time"}:
            end = self.twin.lease_end(claimed)
            self.twin.move_to(end if trouble == "lease ended" else end - MICROSECOND)
        self.twin.ask_to_send(claimed)
        self.twin.store_slice(claimed, plan)

    def _source(self, number: int) -> SourceRow:
        return list(self.twin.model.sources.values())[number % len(self.twin.model.sources)]

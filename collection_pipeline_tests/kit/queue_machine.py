"""Any order of events over the real queue, compared with the model after each of them.

Invariant: a rule does the same thing to both and asks for the same answer; then every row of the
real tables is compared, and the invariants are judged over the real tables alone.
"""

from datetime import date, datetime, timedelta
from typing import TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import ClockCannotGoBack
from collection_pipeline_tests.kit import queue_model_morning as morning
from collection_pipeline_tests.kit.queue_laws import broken_laws
from collection_pipeline_tests.kit.queue_model import AGGREGATORS, DISPATCH, QueueModel
from collection_pipeline_tests.kit.queue_rows import CycleKey, SlicePlan, SourceRow
from collection_pipeline_tests.kit.queue_slices import JOB_IDS, slice_plans
from collection_pipeline_tests.kit.queue_tables import (
    cycle_ids,
    differences,
    header_status,
    read_tables,
    tables_of,
)
from collection_pipeline_tests.kit.queue_world import BEGINNING, KINDS, QueueWorld, ahead_of

T = TypeVar("T")

MICROSECOND = timedelta(microseconds=1)
MOST_SOURCES = 5
MOMENTS = (
    "a second on",
    "the next due time",
    "just before a lease ends",
    "the end of a lease",
    "half a second before the cutoff",
    "the cutoff",
    "the last moment to ask",
    "too late to ask",
    "after recovery's patience",
    "just before midnight",
    "midnight",
    "after midnight",
    "two days on",
)
numbers = st.integers(0, 11)


class QueueMachine(RuleBasedStateMachine):
    """Sources, workers and the clock; stale workers keep their tokens for ever."""

    def __init__(self, world: QueueWorld) -> None:
        super().__init__()
        world.empty()
        self.world = world
        self.model = QueueModel(BEGINNING)
        self.claims: list[ClaimedCycle] = []
        self.tables = read_tables(world.store)
        self.steps = 0

    @initialize(plan=st.lists(st.lists(slice_plans(), min_size=1, max_size=3), max_size=3))
    def some_days_ago(self, plan: list[list[SlicePlan]]) -> None:
        """Three sources with both flags on, and a history of up to three days."""
        for name in (DISPATCH, AGGREGATORS):
            self.switch_flag(name, True)
        for kind in ("board", "board", "aggregator"):
            self.add_source(kind)
        for slices in plan:
            self.a_whole_day(slices, "too late to ask")

    # --- what an operator, another release or a hand does

    @precondition(lambda self: len(self.model.sources) < MOST_SOURCES)
    @rule(kind=st.sampled_from(sorted(KINDS)))
    def add_source(self, kind: str) -> None:
        """R35: a source added at noon runs that day."""
        source = self.world.add_source(kind)
        self.model.sources[source.id] = source

    @rule(number=numbers, active=st.booleans())
    def switch_source(self, number: int, active: bool) -> None:
        """R3, R6a."""
        source = self._source(number)
        self.world.switch(source.id, active=active)
        source.active = active

    @rule(name=st.sampled_from((DISPATCH, AGGREGATORS)), enabled=st.booleans())
    def switch_flag(self, name: str, enabled: bool) -> None:
        """R44."""
        self.world.switch_flag(name, enabled=enabled, now=self.model.now)
        self.model.flags[name] = enabled

    @rule(number=numbers, well=st.booleans(), budget=st.booleans())
    def configure(self, number: int, well: bool, budget: bool) -> None:
        """R2: a configuration nobody can collect by, and its repair."""
        source = self._source(number)
        for part in (budget, not budget):
            self.world.configure(source, well=well or part != budget, budget=part)
        source.is_well_configured = well

    @rule(number=numbers)
    def an_older_system_runs(self, number: int) -> None:
        """R44: a runs row that is not ours."""
        key = (self._source(number).id, self.model.today)
        if key not in self.model.runs:
            self.model.runs[key] = self.world.older_run(*key, self.model.now)
            self.model.older_runs.add(key)

    @rule(number=numbers, job_id=st.sampled_from(JOB_IDS))
    def another_release_sights(self, number: int, job_id: str) -> None:
        """R17: a sighting of a later day than that of a cycle which still runs."""
        source_id, day = self._source(number).id, self.model.today + timedelta(days=1)
        posting = self.model.postings.get((source_id, job_id))
        if posting is not None and posting.last_seen_run_date < day:
            self.world.sight_on(source_id, job_id, day)
            posting.last_seen_run_date = day
            posting.status, posting.missed_count, posting.closed_at = "OPEN", 0, None

    @rule(number=numbers, job_id=st.sampled_from(JOB_IDS))
    def a_seen_row_is_left(self, number: int, job_id: str) -> None:
        """R31: residue of a cycle that has ended."""
        ended = [key for key, one in self.model.cycles.items() if one.is_terminal]
        if ended:
            key = ended[number % len(ended)]
            if (key, job_id) not in self.model.strays:
                self.world.stray_seen_row(self._cycle_id(key), job_id, self.model.now)
                self.model.strays.add((key, job_id))

    # --- time

    @rule(moment=st.sampled_from(MOMENTS), number=numbers)
    def time_passes(self, moment: str, number: int) -> None:
        """R15: forward only, to the moments at which something is decided."""
        target = self._moment(moment, number)
        if target > self.model.now:
            self.world.move_to(target)
            self.model.move_to(target)

    @rule(microseconds=st.sampled_from((1, 500_000)))
    def the_clock_does_not_go_back(self, microseconds: int) -> None:
        """R15."""
        try:
            self.world.move_to(self.model.now - timedelta(microseconds=microseconds))
        except ClockCannotGoBack:
            return
        raise AssertionError("the simulated clock went back")

    # --- a tick's parts

    @rule()
    def make_the_day(self) -> None:
        """R35."""
        self.model.create_day()
        self.world.creation.create_daily_cycles()

    @rule(number=numbers)
    def create_one(self, number: int) -> None:
        """I1."""
        source = self._source(number)
        self.model.create_one(source.id)
        made = self.world.repository.create_if_absent(source.id, self.model.today)
        assert (made.job_source_id, made.run_date) == (source.id, self.model.today)

    @rule()
    def prepare(self) -> None:
        """R1, R2, R3."""
        done = self.world.preparation.prepare(self.model.today)
        self._same((done.pending, done.rejected), self.model.prepare())

    @rule(cap=st.sampled_from((1, 3)))
    def claim(self, cap: int) -> None:
        """R5."""
        self._claim(cap)

    @rule()
    def recover(self) -> None:
        """R11."""
        self._same(len(self.world.repository.recover_expired()), self.model.recover())

    @rule()
    def clean_up(self) -> None:
        """R31."""
        done = self.world.cleanup.clean_up()
        self._same((done.deleted_rows, done.left_over), (self.model.clean_up(), 0))

    # --- workers

    @precondition(lambda self: self.claims)
    @rule(number=numbers, plan=slice_plans())
    def store_slice(self, number: int, plan: SlicePlan) -> None:
        """R6 to R10, R14: the newest claims more often than those long gone."""
        self._store(self._claimed(number), plan)

    @precondition(lambda self: self.claims)
    @rule(number=numbers, seconds=st.sampled_from((1, 600, 1200)))
    def renew(self, number: int, seconds: int) -> None:
        """R14."""
        claimed = self._claimed(number)
        key = self._key(claimed)
        renewed = self.world.repository.renew(
            claimed.cycle.id, claimed.cycle.run_date, claimed.token, seconds
        )
        self._same(renewed, self.model.renew(key, claimed.token, seconds))

    @precondition(lambda self: self.claims)
    @rule(number=numbers)
    def ask_to_send(self, number: int) -> None:
        """R17, R27."""
        claimed = self._claimed(number)
        allowed = self.model.may_send(self._key(claimed), claimed.token)
        self._same(self.world.may_send(claimed), allowed)

    @rule(number=numbers, seconds=st.sampled_from((60, 300, 301, 3600)))
    def hold_host_back(self, number: int, seconds: int) -> None:
        """R26: a host asks for a pause."""
        host = self._source(number).host
        if host:
            self.world.store.throttle.hold_back(host, seconds)
            self.model.hold_back(host, seconds)

    # --- the morning

    @rule(how=st.sampled_from(("on time", "dies", "stopped")))
    def capture(self, how: str) -> None:
        """R36 to R39: before the cutoff it would wait, so then it is told to stop."""
        day = self.model.today
        is_ahead = self.model.now < self.model.cutoff(day)
        self.world.capture(dies=how == "dies", stopped=is_ahead)
        allowed = morning.capture(self.model, dies=how == "dies")
        self._adopt_header(day, allowed)

    @precondition(lambda self: self.model.now < ahead_of(self.model.cutoff(self.model.today)))
    @rule()
    def capture_ahead_of_the_cutoff(self) -> None:
        """R38: asked for the gate in time, it captures at the first reading at the cutoff."""
        day = self.model.today
        cutoff = self.model.cutoff(day)
        self.world.move_to(ahead_of(cutoff))
        self.model.move_to(ahead_of(cutoff))
        self.model.create_day()
        is_pending = self.model.headers[day].capture_status == "PENDING"
        self.world.capture_ahead(cutoff)
        if is_pending:
            self.model.move_to(cutoff)
        self._adopt_header(day, morning.capture(self.model))

    @rule()
    def recover_mornings(self) -> None:
        """R37, R38."""
        allowed = morning.recover_mornings(self.model)
        made = self.world.morning.service.mark_missed_snapshot()
        self._same({one.snapshot_date for one in made}, set(allowed))
        for day, states in allowed.items():
            self._adopt_header(day, states)

    # --- many at once, to come far

    @rule(
        slices=st.lists(slice_plans(), min_size=1, max_size=4), captured=st.sampled_from(MOMENTS)
    )
    def a_whole_day(self, slices: list[SlicePlan], captured: str) -> None:
        """A new day with its tick; each claim ends by the next slice of the plan."""
        self.time_passes("after midnight", 0)
        self.make_the_day()
        self.recover()
        self.prepare()
        for plan in slices * 2:
            if self._claim(3):
                self._store(self.claims[-1], plan)
        if "cutoff" in captured or "ask" in captured:
            self.time_passes(captured, 0)
            self.capture("on time")

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        """Every row, and the invariants of section 12 over the real tables."""
        before, self.tables = self.tables, read_tables(self.world.store)
        wrong = differences(self.tables, tables_of(self.model))
        wrong += broken_laws(before, self.tables, self.model.older_runs, self.model.strays)
        assert not wrong, "\n".join(wrong)
        self.steps += 1

    # --- private

    def _claim(self, cap: int) -> bool:
        allowed = self.model.next_claims(cap, cycle_ids(read_tables(self.world.store)))
        self._same(self.world.has_due(cap), bool(self.model.claimable()))
        claimed = self.world.claim(cap)
        if claimed is None:
            assert not allowed, f"nothing was claimed, and {allowed} are due"
            return False
        key = (claimed.cycle.job_source_id, claimed.cycle.run_date)
        assert key in allowed, f"{key} was claimed, due are {allowed}"
        assert claimed.token not in self.model.slices
        self.model.claim(key, claimed.token)
        self.claims.append(claimed)
        return True

    def _store(self, claimed: ClaimedCycle, plan: SlicePlan) -> None:
        key = self._key(claimed)
        waits = self.model.sources[key[0]].has_details
        now = self.model.now
        stored = self.world.store_slice(claimed, plan, now, waits=waits)
        self._same(stored, self.model.store_slice(key, claimed.token, plan))

    def _adopt_header(self, day: date, allowed: set[str]) -> None:
        """Where the rules leave a choice the real queue has made it."""
        status = header_status(read_tables(self.world.store), day)
        assert status in allowed, f"the morning of {day} is {status}, allowed are {allowed}"
        self.model.headers[day].capture_status = status

    def _moment(self, moment: str, number: int) -> datetime:
        now, today = self.model.now, self.model.today
        cutoff, midnight = self.model.cutoff(today), self.model.cutoff(today) + timedelta(hours=15)
        if moment == "the next due time":
            due = [one.next_eligible_at for one in self.model.cycles.values()]
            return min((one for one in due if one is not None and one > now), default=now)
        if moment in {"just before a lease ends", "the end of a lease"}:
            ends = [one.lease_until for one in self.model.cycles.values() if one.lease_until]
            end = sorted(ends)[number % len(ends)] if ends else now
            return end if moment == "the end of a lease" else end - MICROSECOND
        return {
            "a second on": now + timedelta(seconds=1),
            "half a second before the cutoff": ahead_of(cutoff),
            "the cutoff": cutoff,
            "the last moment to ask": cutoff + timedelta(seconds=5),
            "too late to ask": cutoff + timedelta(seconds=5) + MICROSECOND,
            "after recovery's patience": cutoff + timedelta(seconds=61) + MICROSECOND,
            "just before midnight": midnight - timedelta(microseconds=400),
            "midnight": midnight,
            "after midnight": midnight + timedelta(minutes=5),
            "two days on": now + timedelta(hours=48),
        }[moment]

    def _source(self, number: int) -> SourceRow:
        return list(self.model.sources.values())[number % len(self.model.sources)]

    def _claimed(self, number: int) -> ClaimedCycle:
        return self.claims[-1 - number % min(len(self.claims), 6)]

    def _key(self, claimed: ClaimedCycle) -> CycleKey:
        return claimed.cycle.job_source_id, claimed.cycle.run_date

    def _cycle_id(self, key: CycleKey) -> int:
        return cycle_ids(self.tables)[key]

    def _same(self, real: T, wanted: T) -> None:
        note(f"the queue answered {real!r}")
        assert real == wanted, f"the queue answered {real!r}, the model {wanted!r}"

"""The real queue and its model side by side: each event happens to both and both must answer alike.

Invariant: an event is complete when it returns, so that ``check`` may follow any of them.
"""

from datetime import date, datetime, timedelta
from typing import TypeVar

from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import ClockCannotGoBack
from collection_pipeline_tests.kit import queue_model_morning as morning
from collection_pipeline_tests.kit.queue_laws import broken_laws
from collection_pipeline_tests.kit.queue_model import AGGREGATORS, DISPATCH, QueueModel
from collection_pipeline_tests.kit.queue_moments import ahead_of
from collection_pipeline_tests.kit.queue_rows import CycleKey, SlicePlan, SourceRow
from collection_pipeline_tests.kit.queue_tables import differences, read_tables, tables_of
from collection_pipeline_tests.kit.queue_world import BEGINNING, QueueWorld

T = TypeVar("T")

FLAGS = (DISPATCH, AGGREGATORS)


class QueueTwin:
    """Both queues from an empty beginning; ``claims`` are all tokens that were ever given."""

    def __init__(self, world: QueueWorld) -> None:
        world.empty()
        self.world = world
        self.model = QueueModel(BEGINNING)
        self.claims: list[ClaimedCycle] = []
        self._tables = read_tables(world.store)
        self._cycle_ids: dict[CycleKey, int] = {}

    def check(self) -> None:
        """Every row is as the model says, and the invariants hold over the real tables alone."""
        before, self._tables = self._tables, read_tables(self.world.store)
        wrong = differences(self._tables, tables_of(self.model))
        wrong += broken_laws(before, self._tables, self.model.older_runs, self.model.strays)
        assert not wrong, "\n".join(wrong)

    # --- what an operator, another release or a hand does

    def add_source(self, kind: str) -> None:
        """R35: a source added at noon runs that day."""
        source = self.world.add_source(kind)
        self.model.sources[source.id] = source

    def switch_source(self, source: SourceRow, active: bool) -> None:
        """R3, R6a."""
        self.world.switch(source.id, active=active)
        source.active = active

    def switch_flag(self, name: str, enabled: bool) -> None:
        """R44."""
        self.world.switch_flag(name, enabled=enabled, now=self.model.now)
        self.model.flags[name] = enabled

    def configure(self, source: SourceRow, *, well: bool, budget: bool) -> None:
        """R2: a budget or condition that nobody can collect by, and its repair."""
        self.world.configure(source, well=True, budget=not budget)
        self.world.configure(source, well=well, budget=budget)
        source.is_well_configured = well

    def older_run(self, source: SourceRow) -> None:
        """R44: a runs row that is not ours."""
        key = (source.id, self.model.today)
        if key not in self.model.runs:
            self.model.runs[key] = self.world.older_run(*key, self.model.now)
            self.model.older_runs.add(key)

    def sight_elsewhere(self, source: SourceRow, job_id: str) -> None:
        """R17: a sighting of a later day than that of a cycle which may still run."""
        day = self.model.today + timedelta(days=1)
        posting = self.model.postings.get((source.id, job_id))
        if posting is not None and posting.last_seen_run_date < day:
            self.world.sight_on(source.id, job_id, day)
            posting.last_seen_run_date = day
            posting.status, posting.missed_count, posting.closed_at = "OPEN", 0, None

    def leave_seen_row(self, number: int, job_id: str) -> None:
        """R31: residue of a cycle that has ended."""
        ended = [key for key, one in self.model.cycles.items() if one.is_terminal]
        if ended and (ended[-1 - number % len(ended)], job_id) not in self.model.strays:
            key = ended[-1 - number % len(ended)]
            self.world.stray_seen_row(self._cycle_ids[key], job_id, self.model.now)
            self.model.strays.add((key, job_id))

    def hold_back(self, source: SourceRow, seconds: int) -> None:
        """R26: a host asks for a pause."""
        if source.host:
            self.world.store.throttle.hold_back(source.host, seconds)
            self.model.hold_back(source.host, seconds)

    def set_right(self) -> None:
        """Every source and flag is on, and every configuration well."""
        for name, enabled in self.model.flags.items():
            if not enabled:
                self.switch_flag(name, True)
        for source in self.model.sources.values():
            if not source.active:
                self.switch_source(source, True)
            if not source.is_well_configured:
                for budget in (True, False):
                    self.configure(source, well=True, budget=budget)

    # --- time

    def move_to(self, target: datetime) -> None:
        """R15: forward only; a target that has passed is refused."""
        if target >= self.model.now:
            self.world.move_to(target)
            self.model.move_to(target)
            return
        try:
            self.world.move_to(target)
        except ClockCannotGoBack:
            return
        raise AssertionError(f"the simulated clock went back to {target}")

    # --- the parts of a tick

    def make_day(self) -> None:
        """R35."""
        self.model.create_day()
        self.world.creation.create_daily_cycles()
        self._cycle_ids = self.world.cycle_ids()

    def create_one(self, source: SourceRow) -> None:
        """I1."""
        self.model.create_one(source.id)
        made = self.world.repository.create_if_absent(source.id, self.model.today)
        assert (made.job_source_id, made.run_date) == (source.id, self.model.today)
        self._cycle_ids[source.id, self.model.today] = made.id

    def prepare(self) -> None:
        """R1, R2, R3."""
        done = self.world.preparation.prepare(self.model.today)
        _same((done.pending, done.rejected), self.model.prepare())

    def claim(self, cap: int) -> bool:
        """R5: whether one of the cycles that may be claimed was."""
        allowed = self.model.next_claims(cap, self._cycle_ids)
        claimed = self.world.claim(cap)
        if claimed is None:
            assert not allowed, f"nothing was claimed, and {allowed} are due"
            return False
        assert _key(claimed) in allowed, f"{_key(claimed)} was claimed, due are {allowed}"
        self.model.claim(_key(claimed), claimed.token)
        self.claims.append(claimed)
        return True

    def ask_for_work(self) -> None:
        """The sensor's question: whether a claim would be given anything."""
        _same(self.world.has_due(), bool(self.model.claimable()))

    def recover(self) -> None:
        """R11."""
        _same(len(self.world.repository.recover_expired()), self.model.recover())

    def clean_up(self) -> None:
        """R31."""
        done = self.world.cleanup.clean_up()
        _same((done.deleted_rows, done.left_over), (self.model.clean_up(), 0))

    # --- workers

    def store_slice(self, claimed: ClaimedCycle, plan: SlicePlan) -> None:
        """R6 to R10, R14."""
        key = _key(claimed)
        waits = self.model.sources[key[0]].has_details
        stored = self.world.store_slice(claimed, plan, self.model.now, waits=waits)
        _same(stored, self.model.store_slice(key, claimed.token, plan))

    def renew(self, claimed: ClaimedCycle, seconds: int) -> None:
        """R14."""
        cycle = claimed.cycle
        renewed = self.world.repository.renew(cycle.id, cycle.run_date, claimed.token, seconds)
        _same(renewed, self.model.renew(_key(claimed), claimed.token, seconds))

    def ask_to_send(self, claimed: ClaimedCycle) -> None:
        """R17, R27."""
        allowed = self.model.may_send(_key(claimed), claimed.token)
        _same(self.world.may_send(claimed), allowed)

    def claim_of(self, worker: str, number: int) -> ClaimedCycle:
        """A worker by what has become of its claim; where there is none, any of the newest.

        ``superseded``: its cycle runs under another token. ``expired``: not recovered yet.
        """
        found = [one for one in self.claims if self._standing(one) == worker] or self.claims[-6:]
        return found[-1 - number % len(found)]

    def _standing(self, claimed: ClaimedCycle) -> str:
        cycle = self.model.cycles[_key(claimed)]
        if cycle.lease_until is None:
            return "ended"
        if cycle.lease_token != claimed.token:
            return "superseded"
        return "live" if cycle.lease_until > self.model.now else "expired"

    def lease_end(self, claimed: ClaimedCycle) -> datetime:
        """When the lease of a live claim ends."""
        return self.model.cycles[_key(claimed)].lease_until or self.model.now

    # --- the morning

    def capture(self, *, dies: bool = False) -> None:
        """R36 to R39; before the cutoff a run would wait, so then it is told to stop."""
        day = self.model.today
        is_ahead = self.model.now < self.model.cutoff(day)
        self.world.capture(dies=dies, stopped=is_ahead)
        self._adopt_header(day, morning.capture(self.model, dies=dies))

    def capture_ahead(self) -> None:
        """R38: asked for in time, the gate is held until the cutoff comes."""
        day = self.model.today
        cutoff = self.model.cutoff(day)
        if self.model.now >= ahead_of(cutoff):
            return
        self.move_to(ahead_of(cutoff))
        self.model.create_day()
        is_pending = self.model.headers[day].capture_status == "PENDING"
        self.world.capture_ahead(cutoff)
        if is_pending:
            self.model.move_to(cutoff)
        self._adopt_header(day, morning.capture(self.model))

    def recover_mornings(self) -> None:
        """R37, R38."""
        allowed = morning.recover_mornings(self.model)
        made = self.world.morning.service.mark_missed_snapshot()
        _same({one.snapshot_date for one in made}, set(allowed))
        for day, states in allowed.items():
            self._adopt_header(day, states)

    def _adopt_header(self, day: date, allowed: set[str]) -> None:
        """Where the rules leave a choice, the real queue has made it."""
        status = self.world.header_status(day)
        assert status in allowed, f"the morning of {day} is {status}, allowed are {allowed}"
        self.model.headers[day].capture_status = status


def _key(claimed: ClaimedCycle) -> CycleKey:
    return claimed.cycle.job_source_id, claimed.cycle.run_date


def _same(real: T, wanted: T) -> None:
    assert real == wanted, f"the queue answered {real!r}, the model {wanted!r}"

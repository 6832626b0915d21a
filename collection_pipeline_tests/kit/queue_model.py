"""A small model of the queue, written from the rules: what the real tables must say.

Invariant: pure Python that imports nothing of the project, one method an event; time passes only
by ``move_to``. Where the rules leave a choice the model names all that is allowed.
"""

from collections import Counter
from datetime import date, datetime, timedelta

from collection_pipeline_tests.kit.queue_model_ends import end_cycle, record
from collection_pipeline_tests.kit.queue_rows import (
    CycleKey,
    CycleRow,
    HeaderRow,
    HealthRow,
    PostingKey,
    PostingRow,
    SlicePlan,
    SourceRow,
)

DISPATCH = "posting.collection-dispatch-v2"
AGGREGATORS = "aggregator.collection"
KST = timedelta(hours=9)
LEASE = timedelta(seconds=600)
LONGEST_WAIT = timedelta(seconds=300)
RETENTION = timedelta(hours=48)


class QueueModel:
    """The state of the whole queue; ids and tokens come from the real one."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.flags: dict[str, bool] = {DISPATCH: False, AGGREGATORS: False}
        self.sources: dict[int, SourceRow] = {}
        self.cycles: dict[CycleKey, CycleRow] = {}
        self.postings: dict[PostingKey, PostingRow] = {}
        self.runs: dict[CycleKey, dict[str, object]] = {}
        self.older_runs: set[CycleKey] = set()
        self.slices: dict[str, dict[str, object]] = {}
        self.health: dict[int, HealthRow] = {}
        self.headers: dict[date, HeaderRow] = {}
        self.items: dict[tuple[date, int], dict[str, object]] = {}
        self.host_limits: dict[str, datetime] = {}
        self.strays: set[tuple[CycleKey, str]] = set()
        self.at_cutoff: dict[date, tuple[bool, bool]] = {}
        self.waiting_captures: set[date] = set()

    @property
    def today(self) -> date:
        """R15: the KST day."""
        return (self.now + KST).date()

    def cutoff(self, day: date) -> datetime:
        """09:00 KST."""
        return datetime(day.year, day.month, day.day)

    def move_to(self, target: datetime) -> None:
        """What held at each cutoff that is passed decides later whether a morning was missed."""
        day = self.today
        while self.cutoff(day) < target:
            if self.cutoff(day) >= self.now:
                runnable = any(self.is_runnable(one, day) for one in self.sources)
                self.at_cutoff[day] = (self.flags[DISPATCH], runnable)
            day += timedelta(days=1)
        self.now = target

    # --- who may be collected

    def is_switched_on(self, source_id: int, day: date) -> bool:
        """Runnable, were its platform supported."""
        source = self.sources[source_id]
        flags = self.flags[DISPATCH] and (self.flags[AGGREGATORS] or not source.is_aggregator)
        cycle = self.cycles.get((source_id, day))
        ended_here = cycle is not None and cycle.is_terminal
        return source.active and flags and (ended_here or (source_id, day) not in self.older_runs)

    def is_runnable(self, source_id: int, day: date) -> bool:
        """The one predicate (section 2, R44)."""
        return self.sources[source_id].is_supported and self.is_switched_on(source_id, day)

    # --- the day begins

    def ensure_header(self, day: date) -> None:
        """R35; one first made after its cutoff is final at once (R37)."""
        if day not in self.headers:
            late = self.now >= self.cutoff(day)
            status = "NOT_APPLICABLE" if late else "PENDING"
            self.headers[day] = HeaderRow(self.cutoff(day), status)

    def create_day(self) -> None:
        """R35: headers of today and tomorrow, cycles of today for runnable sources."""
        self.ensure_header(self.today)
        self.ensure_header(self.today + timedelta(days=1))
        for source_id in self.sources:
            if self.is_runnable(source_id, self.today):
                self.cycles.setdefault((source_id, self.today), CycleRow())

    def create_one(self, source_id: int) -> None:
        """I1: the cycle of today for one source, whoever asks for it."""
        self.ensure_header(self.today)
        self.cycles.setdefault((source_id, self.today), CycleRow())

    def prepare(self) -> tuple[int, int]:
        """R1, R2, R3: how many became PENDING, how many FAILED."""
        pending = rejected = 0
        for (source_id, day), cycle in self.cycles.items():
            waits = cycle.cycle_status == "NOT_STARTED" and day == self.today
            if not waits or not self.is_switched_on(source_id, day):
                continue
            source = self.sources[source_id]
            if source.is_supported and source.is_well_configured:
                cycle.cycle_status = "PENDING"
                cycle.request_host, cycle.next_eligible_at = source.host, self.now
                pending += 1
            else:
                cycle.failure_reason = "CONFIG"
                end_cycle(self, (source_id, day), "FAILED")
                rejected += 1
        return pending, rejected

    # --- leases

    def claimable(self) -> list[CycleKey]:
        """R5, R16, R26: every cycle that a claim might be given now, but for the hosts' caps."""
        running = {key for key, one in self.cycles.items() if one.cycle_status == "RUNNING"}
        return [
            (source_id, day)
            for (source_id, day), one in self.cycles.items()
            if one.cycle_status == "PENDING"
            and day == self.today
            and one.next_eligible_at is not None
            and one.next_eligible_at <= self.now
            and self.is_runnable(source_id, day)
            and not any(other == source_id and when != day for other, when in running)
            and self.host_limits.get(str(one.request_host), self.now) <= self.now + LONGEST_WAIT
        ]

    def next_claims(self, cap: int, ids: dict[CycleKey, int]) -> set[CycleKey]:
        """What one claim may be given: the longest waiting of each host below its cap.

        The cap holds as long as other hosts have due work; ``ids`` break ties within a host.
        """
        live = Counter(
            one.request_host
            for one in self.cycles.values()
            if one.lease_until is not None and one.lease_until > self.now
        )
        by_host: dict[str | None, list[CycleKey]] = {}
        for key in self.claimable():
            by_host.setdefault(self.cycles[key].request_host, []).append(key)
        open_hosts = [host for host in by_host if live[host] < cap or len(by_host) == 1]
        return {
            min(by_host[host], key=lambda key: (self.cycles[key].next_eligible_at, ids[key]))
            for host in open_hosts
        }

    def claim(self, key: CycleKey, token: str) -> None:
        """R5: RUNNING under a fresh token."""
        cycle = self.cycles[key]
        cycle.cycle_status, cycle.lease_token = "RUNNING", token
        cycle.lease_until = self.now + LEASE
        cycle.started_at = cycle.started_at or self.now

    def holds_lease(self, key: CycleKey, token: str) -> bool:
        """R14: RUNNING under this very token, and not expired."""
        cycle = self.cycles[key]
        is_ours = cycle.cycle_status == "RUNNING" and cycle.lease_token == token
        return is_ours and cycle.lease_until is not None and cycle.lease_until > self.now

    def may_send(self, key: CycleKey, token: str) -> bool:
        """R17, R27, I2: a live lease, its own day, a runnable source."""
        source_id, day = key
        return (
            self.holds_lease(key, token) and day == self.today and self.is_runnable(source_id, day)
        )

    def renew(self, key: CycleKey, token: str, seconds: int) -> bool:
        """A live lease gets longer, never shorter."""
        cycle = self.cycles[key]
        if not self.holds_lease(key, token) or cycle.lease_until is None:
            return False
        cycle.lease_until = max(cycle.lease_until, self.now + timedelta(seconds=seconds))
        return True

    def store_slice(self, key: CycleKey, token: str, plan: SlicePlan) -> bool:
        """R14: all of it, or nothing from a stale worker."""
        if not self.holds_lease(key, token):
            return False
        record(self, key, token, plan)
        return True

    def recover(self) -> int:
        """R11: every expired lease ends its cycle; nothing is closed."""
        expired = [
            key
            for key, one in self.cycles.items()
            if one.lease_until is not None and one.lease_until <= self.now
        ]
        for key in expired:
            self.cycles[key].failure_reason = "LEASE_EXPIRED"
            end_cycle(self, key, "FAILED", SlicePlan("failed", pages=0))
        return len(expired)

    # --- the rest of the day

    def hold_back(self, host: str, seconds: int) -> None:
        """R26: a longer pause is never shortened."""
        until = self.now + timedelta(seconds=seconds)
        self.host_limits[host] = max(until, self.host_limits.get(host, until))

    def clean_up(self) -> int:
        """R31: how many seen rows go; never one of a RUNNING cycle."""
        stale = {
            key
            for key, one in self.cycles.items()
            if (one.finished_at is not None and one.finished_at < self.now - RETENTION)
            or (one.cycle_status in {"NOT_STARTED", "PENDING"} and key[1] < self.today)
        }
        gone = {stray for stray in self.strays if stray[0] in stale}
        deleted = len(gone) + sum(len(self.cycles[key].seen) for key in stale)
        self.strays -= gone
        for key in stale:
            self.cycles[key].seen.clear()
        return deleted

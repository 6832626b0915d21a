"""A world without real time for the executor: a clock, a permit, a throttle and a sender."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp
from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.platforms.contract import (
    PlatformReply,
    PlatformRequest,
    RequestFailed,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.executor import SourceRequestExecutor
from collection_pipeline_tests.kit.executor_fixtures import make_settings

NOT_BEFORE = datetime(2026, 12, 1, 4, 0, 0)
LONGEST_IDLE_SECONDS = 3.0


@dataclass
class PacedWorld:
    """Everything the executor talks to; every step is noted in ``steps``.

    Times are monotonic seconds of ``now``. ``oversleeps`` are seconds by which the next waits
    (longer than ``tail_seconds``) end too late.
    """

    now: float = 1000.0
    slice_ends_at: float = 2000.0
    next_allowed_at: float = 0.0
    round_trip: float = 0.002
    connect_seconds: float = 0.0
    connection_used_at: float = 0.0
    oversleeps: list[float] = field(default_factory=list)
    stop_reasons: list[str | None] = field(default_factory=list)
    is_asked_to_stop: bool = False
    open_transaction_at: str | None = None
    outcomes: list[PlatformReply | RequestFailed] = field(default_factory=list)
    open_failures: list[RequestFailed | None] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    slots: list[float] = field(default_factory=list)
    reserved: list[float] = field(default_factory=list)
    sends: list[float] = field(default_factory=list)
    deadlines: list[float] = field(default_factory=list)
    held_back: list[tuple[str, float]] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    longest_waits: list[float] = field(default_factory=list)
    handed_back: list[bool] = field(default_factory=list)
    before_write: Callable[[], None] = lambda: None
    quota: KeyQuota | None = None
    calls_taken: int = 0

    def executor(self, **settings: int) -> SourceRequestExecutor:
        """An executor that lives in this world."""
        return SourceRequestExecutor(
            sender=self,
            throttle=self,
            permit=self,
            transactions=self,
            settings=make_settings(**settings),
            quota=self.quota,
            monotonic=lambda: self.now,
        )

    def reserve(
        self,
        host: str,
        delay_seconds: float,
        longest_wait_seconds: float,
        quota: KeyQuota | None = None,
        missed: ThrottleSlot | None = None,
    ) -> ThrottleSlot | ThrottleRefusal | KeyQuotaUsedUp:
        """The throttle: the slot is decided half way through the round trip."""
        self._note("reserve")
        self.hosts.append(host)
        self.longest_waits.append(longest_wait_seconds)
        self.handed_back.append(missed is not None)
        self.now += self.round_trip / 2
        slot, wait = max(self.now, self.next_allowed_at), max(0.0, self.next_allowed_at - self.now)
        self.now += self.round_trip / 2
        if wait > longest_wait_seconds:
            return ThrottleRefusal(NOT_BEFORE)
        if quota is not None:
            if self.calls_taken >= quota.daily_calls:
                return KeyQuotaUsedUp()
            self.calls_taken += 1
        self.next_allowed_at = slot + delay_seconds
        self.slots.append(slot)
        self.reserved.append(delay_seconds)
        return ThrottleSlot(wait)

    def hold_back(self, host: str, seconds: float) -> None:
        """The throttle's second half."""
        self._note("hold_back")
        self.held_back.append((host, seconds))

    def stop_reason(self) -> str | None:
        """The permit's check, which takes a round trip."""
        self._note("check")
        self.now += self.round_trip
        return self.stop_reasons.pop(0) if self.stop_reasons else None

    def seconds_left(self) -> float:
        """The permit's own end."""
        return self.slice_ends_at - self.now

    def wait(self, seconds: float) -> bool:
        """The permit's wait; oversleeps once for each entry of ``oversleeps``."""
        self._note("wait")
        if self.is_asked_to_stop:
            return False
        oversleep = self.oversleeps.pop(0) if seconds > 0 and self.oversleeps else 0.0
        self.now += seconds + oversleep
        return True

    def assert_none_open(self) -> None:
        """The transaction guard; raises when ``open_transaction_at`` names the step before."""
        last = self.steps[-1] if self.steps else "start"
        self._note("guard")
        if self.open_transaction_at == last:
            raise OpenTransaction(last)

    def open(self, request: PlatformRequest, policy: RequestPolicy) -> None:
        """The sender's connection: slow when it is new or has idled too long."""
        self._note("open")
        if self.now - self.connection_used_at > LONGEST_IDLE_SECONDS:
            self.now += self.connect_seconds
            self.connection_used_at = self.now
        failure = self.open_failures.pop(0) if self.open_failures else None
        if failure is not None:
            raise failure

    def send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        deadline_seconds: float,
        before_write: Callable[[], None] | None = None,
    ) -> PlatformReply:
        """The sender; the next of ``outcomes``, else status 200."""
        self._note("send")
        self.before_write()
        assert before_write is not None
        before_write()
        self.sends.append(self.now)
        self.connection_used_at = self.now
        self.deadlines.append(deadline_seconds)
        outcome = self.outcomes.pop(0) if self.outcomes else PlatformReply(200, {}, b"")
        if isinstance(outcome, RequestFailed):
            raise outcome
        return outcome

    def _note(self, step: str) -> None:
        self.steps.append(step)

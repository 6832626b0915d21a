"""The one door through which a slice's requests go (R18, R25 to R29).

For each request: no transaction is open; the host's next slot is reserved; the wait happens
outside; the permit is asked; the first byte is written inside the slot's window or not at all::

    reserve -> wait -> permit -> wait the rest -> in the window? -> write
       ^                                              | no
       +----------------------------------------------+

The connection is opened ahead of the slot, since connecting must not delay the send.

Where the platform's key has a daily quota, one of its calls is reserved with the slot and belongs
to the next request that is written: a missed slot takes no second call (R20).
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from collection_pipeline import checkpoints
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.slices import (
    HostRequestThrottleGateway,
    SlicePermit,
    ThrottleRefusal,
    ThrottleSlot,
)
from collection_pipeline.domain.transaction_guard import TransactionGuard
from collection_pipeline.platforms.contract import (
    PlatformReply,
    PlatformRequest,
    RequestFailed,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.pacing import Pace, SendStatistics, SendWindow
from collection_pipeline.platforms.wire.policy import host_key
from collection_pipeline.platforms.wire.reply_status import RATE_LIMITED_STATUS, THROTTLED_STATUSES
from collection_pipeline.platforms.wire.retry_after import parse_retry_after
from collection_pipeline.settings import Settings

SLICE_IS_OVER = "slice time is over"
ASKED_TO_STOP = "asked to stop"
HOLD_BACK_DELAYS = 10
"""Without a usable ``Retry-After`` the host is left alone for this many delays."""


class PacedSender(Protocol):
    """A sender that can connect ahead and asks before it writes; ``RequestsSender`` is one."""

    def open(self, request: PlatformRequest, policy: RequestPolicy) -> None:
        """Connect without sending; ``RequestFailed`` when that fails or the policy forbids it."""

    def send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        deadline_seconds: float,
        before_write: Callable[[], None] | None = None,
    ) -> PlatformReply:
        """The reply or ``RequestFailed``; ``before_write`` may raise to keep it from being sent."""


@dataclass(frozen=True)
class ExecutedRequest:
    """A request that was tried: ``reply`` or ``failure``, exactly one of them.

    ``sent`` is False only where the policy refused it before anything happened. ``written`` is
    True when its first byte was handed to the network, so that the host may have logged it.
    """

    reply: PlatformReply | None
    failure: RequestFailed | None
    sent: bool
    written: bool


@dataclass(frozen=True)
class Paused:
    """Nothing was sent or reserved: the host's next moment (naive UTC) lies too far away (R26)."""

    not_before: datetime


@dataclass(frozen=True)
class Stopped:
    """Nothing was sent: the permit ends the slice (R17, R18, R27)."""

    reason: str


RequestOutcome = ExecutedRequest | Paused | Stopped | KeyQuotaUsedUp


class SlotMissed(Exception):
    """The worker woke too late for its slot; it reserves another one."""


def _now_utc() -> datetime:
    return datetime.now(UTC)


class SourceRequestExecutor:
    """One per slice. Raises only what ``TransactionGuard`` and the throttle raise."""

    def __init__(
        self,
        sender: PacedSender,
        throttle: HostRequestThrottleGateway,
        permit: SlicePermit,
        transactions: TransactionGuard,
        settings: Settings,
        *,
        quota: KeyQuota | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        now_utc: Callable[[], datetime] = _now_utc,
    ) -> None:
        self._sender = sender
        self._throttle = throttle
        self._permit = permit
        self._transactions = transactions
        self._quota = quota
        self._has_call = False
        self._last_slot: ThrottleSlot | None = None
        self._missed: ThrottleSlot | None = None
        self._deadline_seconds = float(settings["REQUEST_DEADLINE_SECONDS"])
        self._cap_seconds = float(settings["RETRY_AFTER_CAP_SECONDS"])
        self._monotonic = monotonic
        self._now_utc = now_utc
        self._pace = Pace()
        self.statistics = SendStatistics()

    def execute(
        self, request: PlatformRequest, policy: RequestPolicy, delay_seconds: float
    ) -> RequestOutcome:
        """Send ``request`` when its host's turn comes, ``delay_seconds`` after the one before."""
        while True:
            outcome = self._take_slot(request, policy, delay_seconds)
            if outcome is not None:
                return outcome
            self._pace.note_missed()
            self._missed = self._last_slot
            self.statistics.slots_given_up += 1

    def _take_slot(
        self, request: PlatformRequest, policy: RequestPolicy, delay_seconds: float
    ) -> RequestOutcome | None:
        """The outcome, or ``None`` when the slot was missed."""
        self._transactions.assert_none_open()
        if self._permit.seconds_left() <= 0:
            return Stopped(SLICE_IS_OVER)
        early = self._open(request, policy)
        if early is not None and early.failure.reason is Reason.POLICY:
            return ExecutedRequest(None, early, sent=False, written=False)
        # Asked before the slot too: a slot that is free at once must not be lost to the question.
        # Where the host makes everybody wait, the question after the wait is enough (R27).
        is_asked = not self._pace.expects_wait
        stopped = self._permitted() if is_asked else None
        if stopped is not None:
            return stopped
        window = self._reserve(host_key(request.base_url), delay_seconds)
        if not isinstance(window, SendWindow):
            return window
        if window.is_empty:
            return None
        if (
            early is None
            and is_asked
            and window.contains(self._monotonic())
            and self._permit.wait(0.0)
        ):
            return self._send(request, policy, delay_seconds, window)
        self._transactions.assert_none_open()
        if not self._wait_until(window.opens_at - self._pace.lead(connects=True)):
            return Stopped(ASKED_TO_STOP)
        # Long waits outlive the connection; a host that is down shows here, not on the first try.
        failure = self._open(request, policy)
        stopped = self._ask_permit(window)
        if stopped is not None:
            return stopped
        if failure is not None:
            return self._tried(failure, delay_seconds, written=False, request=request)
        return self._send(request, policy, delay_seconds, window)

    def _reserve(self, host: str, delay_seconds: float) -> SendWindow | Paused | KeyQuotaUsedUp:
        width = self._pace.width(delay_seconds)
        longest_wait = max(0.0, self._permit.seconds_left() - width)
        asked_at = self._monotonic()
        quota = None if self._has_call else self._quota
        slot = self._throttle.reserve(
            host, delay_seconds + width, longest_wait, quota, self._missed
        )
        self._missed = None
        if isinstance(slot, ThrottleRefusal):
            return Paused(slot.not_before)
        if isinstance(slot, KeyQuotaUsedUp):
            return slot
        self._has_call = True
        self._last_slot = slot
        checkpoints.reach(checkpoints.AFTER_RESERVATION)
        self._pace.note_reservation(self._monotonic() - asked_at, slot.wait_seconds)
        between = slot.read_between or (asked_at, self._monotonic())
        return self._pace.window(*between, slot.wait_seconds, width)

    def _open(self, request: PlatformRequest, policy: RequestPolicy) -> RequestFailed | None:
        started_at = self._monotonic()
        try:
            self._sender.open(request, policy)
        except RequestFailed as failure:
            return failure
        self._pace.note_connect(self._monotonic() - started_at)
        return None

    def _ask_permit(self, window: SendWindow) -> Stopped | None:
        if not self._wait_until(window.opens_at - self._pace.lead(connects=False)):
            return Stopped(ASKED_TO_STOP)
        stopped = self._permitted()
        if stopped is not None:
            return stopped
        # The rest is waited for with everything done but the write.
        if not self._wait_until(window.opens_at - self._pace.preparation):
            return Stopped(ASKED_TO_STOP)
        return Stopped(SLICE_IS_OVER) if self._permit.seconds_left() <= 0 else None

    def _permitted(self) -> Stopped | None:
        """The permit's answer, and how long it took."""
        self._transactions.assert_none_open()
        asked_at = self._monotonic()
        reason = self._permit.stop_reason()
        self._pace.note_check(self._monotonic() - asked_at)
        if reason is None and self._permit.seconds_left() <= 0:
            reason = SLICE_IS_OVER
        return None if reason is None else Stopped(reason)

    def _wait_until(self, moment: float) -> bool:
        """Wait; False at once when asked to stop. Asks the permit also when there is no wait."""
        started_at = self._monotonic()
        may_go_on = self._permit.wait(max(0.0, moment - started_at))
        while may_go_on and (left := moment - self._monotonic()) > 0:
            may_go_on = self._permit.wait(left)
        self.statistics.seconds_waited += self._monotonic() - started_at
        return may_go_on

    def _send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        delay_seconds: float,
        window: SendWindow,
    ) -> ExecutedRequest | None:
        written = False
        began_at = self._monotonic()

        def last_check() -> None:
            nonlocal written
            self._transactions.assert_none_open()
            self._pace.note_preparation(self._monotonic() - began_at)
            if not self._wait_until(window.opens_at):
                raise SlotMissed  # asked to stop, as the next round says
            now = self._monotonic()
            if not window.contains(now):
                raise SlotMissed
            self.statistics.note_write(now)
            written = True
            self._has_call = False

        if began_at > window.closes_at:
            return None  # seen here, a missed slot costs no connection
        result: PlatformReply | RequestFailed
        try:
            result = self._sender.send(request, policy, self._deadline_seconds, last_check)
        except SlotMissed:
            return None
        except RequestFailed as failure:
            result = failure
        self._pace.note_sent()
        return self._tried(result, delay_seconds, written=written, request=request)

    def _tried(
        self,
        result: PlatformReply | RequestFailed,
        delay_seconds: float,
        *,
        written: bool,
        request: PlatformRequest,
    ) -> ExecutedRequest:
        checkpoints.reach(checkpoints.AFTER_REPLY)
        self.statistics.requests_sent += 1
        if result.status in THROTTLED_STATUSES:
            wish = self._wish(result) or HOLD_BACK_DELAYS * delay_seconds
            # The answer counts all the same: the request was sent.
            with contextlib.suppress(DatabaseUnavailable):
                self._throttle.hold_back(host_key(request.base_url), min(wish, self._cap_seconds))
        self.statistics.rate_limited_count += result.status == RATE_LIMITED_STATUS
        if isinstance(result, RequestFailed):
            return ExecutedRequest(None, result, sent=True, written=written)
        return ExecutedRequest(result, None, sent=True, written=written)

    def _wish(self, result: PlatformReply | RequestFailed) -> float | None:
        if isinstance(result, RequestFailed):
            return result.retry_after_seconds
        return parse_retry_after(result.headers, self._cap_seconds, self._now_utc())

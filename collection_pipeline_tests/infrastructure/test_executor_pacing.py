"""The executor in a world without real time: one slot, one permit, one send (R25 to R27, I6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.transaction_guard import OpenTransaction
from collection_pipeline.platforms.contract import PlatformReply, RequestFailed
from collection_pipeline.platforms.wire.executor import ExecutedRequest, Paused, Stopped
from collection_pipeline.platforms.wire.pacing import LEAST_GRACE_SECONDS, PATIENT_MISSES, Pace
from collection_pipeline_tests.kit.executor_fixtures import ANY_PATH, get
from collection_pipeline_tests.kit.paced_world import NOT_BEFORE, PacedWorld

REQUEST = get("https://api.lever.co:8443")
HOST = "api.lever.co:8443"
DELAY = 1.0


def refused(status: int, retry_after: float | None = None) -> RequestFailed:
    """A failure as the sender raises it."""
    return RequestFailed(Reason.HTTP_4XX, "x", status=status, retry_after_seconds=retry_after)


def unreachable() -> RequestFailed:
    """A connection that cannot be opened."""
    return RequestFailed(Reason.CONNECTION, "connection refused")


def test_a_request_is_sent_in_its_slot_after_its_checks() -> None:
    """R25, R26, R27: guard, permit, reserve, wait, guard, permit, guard, write; the next slot."""
    world = PacedWorld(next_allowed_at=1001.0)
    executor = world.executor(REQUEST_DEADLINE_SECONDS=7)
    outcome = executor.execute(REQUEST, ANY_PATH, DELAY)
    assert outcome == ExecutedRequest(PlatformReply(200, {}, b""), None, sent=True, written=True)
    order = [step for step in world.steps if step not in {"wait", "open"}]
    asked = ["guard", "check"]
    assert order == ["guard", *asked, "reserve", "guard", *asked, "send", "guard"]
    last_check = len(world.steps) - 1 - world.steps[::-1].index("check")
    assert world.steps.index("reserve") < world.steps.index("wait") < last_check
    assert world.hosts == [HOST]
    assert world.deadlines == [7.0]
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert world.sends[1] - world.sends[0] >= DELAY
    statistics = executor.statistics
    assert statistics.requests_sent == 2
    assert statistics.least_interval_seconds == world.sends[1] - world.sends[0]
    assert statistics.seconds_waited == pytest.approx(world.now - 1000.0, abs=0.02)


@pytest.mark.parametrize("step", ["start", "reserve", "wait", "send"])
def test_an_open_transaction_keeps_the_request_from_being_sent(step: str) -> None:
    """R25, I3: asked before the wait, before the permit's check, and right before the write."""
    world = PacedWorld(next_allowed_at=1001.0, open_transaction_at=step)
    with pytest.raises(OpenTransaction):
        world.executor().execute(REQUEST, ANY_PATH, DELAY)
    assert world.sends == []


def test_a_host_whose_turn_is_too_far_away_pauses_the_slice() -> None:
    """R26: nothing is sent, and the slice learns when the host is free."""
    world = PacedWorld(next_allowed_at=5000.0)
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Paused(NOT_BEFORE)
    assert world.sends == []
    assert world.longest_waits[0] <= world.slice_ends_at - 1000.0


def test_a_slice_whose_time_is_over_sends_nothing() -> None:
    """R26, R17: before reserving, and when the time runs out during the wait."""
    world = PacedWorld(slice_ends_at=1000.0)
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("slice time is over")
    assert world.reserved == []
    world = PacedWorld(slice_ends_at=1001.0, next_allowed_at=1000.5, oversleeps=[0.6])
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("slice time is over")
    assert world.sends == []


def test_trust_that_ends_during_the_permits_check_sends_nothing() -> None:
    """R26: a lease that could not be renewed ends the slice earlier than it was promised."""

    class Shrinking(PacedWorld):
        def stop_reason(self) -> str | None:
            self.slice_ends_at = self.now
            return super().stop_reason()

    world = Shrinking(next_allowed_at=1001.0)
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("slice time is over")
    assert world.sends == []


def test_the_permits_word_after_the_wait_decides() -> None:
    """R27: a source that was switched off meanwhile gets no request."""
    world = PacedWorld(next_allowed_at=1001.0, stop_reasons=[None, "not runnable"])
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("not runnable")
    assert world.sends == []


def test_a_slot_that_is_free_against_expectation_is_asked_for_all_the_same() -> None:
    """R27: after a wait the question comes with the next wait; where there is none, at once."""
    world = PacedWorld(next_allowed_at=1001.0, stop_reasons=[None, None, "not runnable"])
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    world.now += 60.0
    assert executor.execute(REQUEST, ANY_PATH, DELAY) == Stopped("not runnable")
    assert len(world.sends) == 1


def test_a_stop_request_ends_the_wait_at_once() -> None:
    """R18."""
    for next_allowed_at in (0.0, 1100.0):
        world = PacedWorld(next_allowed_at=next_allowed_at, is_asked_to_stop=True)
        assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("asked to stop")
        assert world.now < 1001.0
        assert world.sends == []


def test_a_worker_that_wakes_late_gives_its_slot_up() -> None:
    """R26: it reserves again and is checked again."""
    world = PacedWorld(next_allowed_at=1001.0, oversleeps=[0.5])
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert len(world.slots) == 2
    assert len(world.sends) == 1
    assert world.sends[0] >= world.slots[1]
    assert world.steps.count("check") == 4  # before and after the wait for each of two slots
    assert world.steps.count("send") == 1
    assert executor.statistics.slots_given_up == 1
    executor.execute(REQUEST, ANY_PATH, DELAY)
    # A slot in which something was sent is nobody's to give.
    assert world.handed_back == [False, True, False]


def test_the_lateness_check_is_the_last_thing_before_the_write() -> None:
    """R26, I6: a worker that is suspended after its checks does not write either."""
    world = PacedWorld()
    suspensions = [0.5]

    def suspend() -> None:
        world.now += suspensions.pop() if suspensions else 0.0

    world.before_write = suspend
    world.executor().execute(REQUEST, ANY_PATH, DELAY)
    assert len(world.slots) == 2
    assert world.slots[1] <= world.sends[0] <= world.slots[1] + world.reserved[1] - DELAY


def test_the_time_that_writing_needs_is_spent_before_the_slot() -> None:
    """R26: so a narrow window suffices, and little is reserved beyond a short delay."""
    world = PacedWorld(next_allowed_at=1001.0)

    def prepare() -> None:
        world.now += 0.003

    world.before_write = prepare
    executor = world.executor()
    for _ in range(2):
        executor.execute(REQUEST, ANY_PATH, DELAY)
    first, second = (sent - slot for sent, slot in zip(world.sends, world.slots, strict=True))
    assert second < 0.003 <= first, "known from the first one"
    assert executor.statistics.slots_given_up == 0


def test_a_slow_machine_does_not_starve() -> None:
    """R26: after some missed slots the window widens, and what is reserved widens with it."""
    world = PacedWorld(next_allowed_at=1001.0, oversleeps=[0.3] * 100)
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert PATIENT_MISSES < executor.statistics.slots_given_up < 2 * PATIENT_MISSES + 2
    assert world.slots[-1] <= world.sends[0] <= world.slots[-1] + world.reserved[-1] - DELAY


def test_a_slot_that_nobody_can_be_sure_of_is_not_waited_for() -> None:
    """I6: after an answer slower than the window the slot's place is unknown."""
    world = PacedWorld(next_allowed_at=1010.0, round_trip=0.1)
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert world.steps.index("reserve", world.steps.index("reserve") + 1) < world.steps.index(
        "wait"
    )
    assert len(world.slots) == 2
    assert world.slots[1] <= world.sends[0] <= world.slots[1] + world.reserved[1] - DELAY


def test_a_throttle_that_answers_slowly_is_given_room() -> None:
    """I6: when the slot's place is known only roughly, more is reserved, not less kept apart."""
    world = PacedWorld(round_trip=0.1)
    executor = world.executor()
    for _ in range(5):
        executor.execute(REQUEST, ANY_PATH, DELAY)
    assert executor.statistics.slots_given_up <= 1
    gaps = [later - sooner for sooner, later in zip(world.sends, world.sends[1:], strict=False)]
    assert min(gaps) >= DELAY


@given(
    delay=st.sampled_from([0.02, 0.1, 1.0, 5.0]),
    round_trips=st.lists(st.floats(0.0, 0.2), min_size=6, max_size=6),
    oversleeps=st.lists(st.floats(0.0, 0.05), max_size=40),
    connect_seconds=st.floats(0.0, 0.3),
)
def test_every_send_lies_in_a_slot_of_its_own(
    delay: float, round_trips: list[float], oversleeps: list[float], connect_seconds: float
) -> None:
    """I6: whatever the machine does, a send lies in [slot, slot + reserved - delay]."""
    world = PacedWorld(oversleeps=oversleeps, connect_seconds=connect_seconds)
    executor = world.executor()
    for round_trip in round_trips:
        world.round_trip = round_trip
        assert isinstance(executor.execute(REQUEST, ANY_PATH, delay), ExecutedRequest)
        slack = 1e-9
        latest = world.slots[-1] + world.reserved[-1] - delay
        assert world.slots[-1] - slack <= world.sends[-1] <= latest + slack
    gaps = [later - sooner for sooner, later in zip(world.sends, world.sends[1:], strict=False)]
    assert min(gaps) >= delay - 1e-9


def test_connecting_happens_before_the_slot() -> None:
    """R26: a slow handshake costs no slot, neither the first nor after a long wait."""
    world = PacedWorld(connect_seconds=0.4)
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    world.next_allowed_at = world.now + 60
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert executor.statistics.slots_given_up == 0


@pytest.mark.parametrize(
    ("status", "wish", "held"),
    [
        (429, 30.0, 30.0),
        (403, None, 10.0),
        (503, 0.0, 10.0),
        (429, 9999.0, 3600.0),
    ],
)
def test_a_throttling_status_holds_the_host_back(
    status: int, wish: float | None, held: float
) -> None:
    """R26: other sources share the host; without a usable wish, ten delays."""
    world = PacedWorld(outcomes=[refused(status, wish)])
    executor = world.executor()
    outcome = executor.execute(REQUEST, ANY_PATH, DELAY)
    assert isinstance(outcome, ExecutedRequest)
    assert outcome.failure is not None
    assert world.held_back == [(HOST, held)]
    assert executor.statistics.rate_limited_count == (1 if status == 429 else 0)


def test_a_throttling_status_that_the_adapter_reads_holds_the_host_back_too() -> None:
    """R26."""
    world = PacedWorld(outcomes=[PlatformReply(429, {"retry-after": "20"}, b"{}")])
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert world.held_back == [(HOST, 20.0)]
    assert executor.statistics.rate_limited_count == 1


@pytest.mark.parametrize("status", [400, 404, 500, 302])
def test_another_failure_does_not_hold_the_host_back(status: int) -> None:
    """R26."""
    world = PacedWorld(outcomes=[refused(status)])
    outcome = world.executor().execute(REQUEST, ANY_PATH, DELAY)
    assert isinstance(outcome, ExecutedRequest)
    assert (outcome.reply, outcome.sent, outcome.written) == (None, True, True)
    assert world.held_back == []


def test_a_policy_refusal_takes_no_slot_and_counts_as_nothing() -> None:
    """R28, R20: counted are requests sent."""
    refusal = RequestFailed(Reason.POLICY, "not sent")
    world = PacedWorld(open_failures=[refusal])
    executor = world.executor()
    outcome = executor.execute(REQUEST, ANY_PATH, DELAY)
    assert outcome == ExecutedRequest(None, refusal, sent=False, written=False)
    assert world.reserved == []
    assert executor.statistics.requests_sent == 0


def test_a_host_that_cannot_be_reached_is_a_failure_in_its_slot() -> None:
    """R26, R27: the slot is taken and the permit asked first; it was tried, but not written."""
    down = unreachable()
    world = PacedWorld(open_failures=[unreachable(), down])
    outcome = world.executor().execute(REQUEST, ANY_PATH, DELAY)
    assert outcome == ExecutedRequest(None, down, sent=True, written=False)
    assert len(world.slots) == 1
    world = PacedWorld(open_failures=[unreachable(), down], stop_reasons=["not runnable"])
    assert world.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("not runnable")


def test_a_host_that_could_not_be_reached_for_a_moment_is_asked_all_the_same() -> None:
    """R26: only the attempt of its slot counts."""
    world = PacedWorld(open_failures=[unreachable()])
    outcome = world.executor().execute(REQUEST, ANY_PATH, DELAY)
    assert isinstance(outcome, ExecutedRequest)
    assert outcome.failure is None


def test_the_grace_follows_the_delay_within_its_bounds() -> None:
    """R26: a small grace, whatever the delay; doubled from the fifth missed slot on."""
    pace = Pace()
    assert pace.grace(0.01) == LEAST_GRACE_SECONDS
    assert pace.grace(0.5) == pytest.approx(0.01)
    assert pace.grace(60.0) == 0.02
    for _ in range(PATIENT_MISSES - 1):
        pace.note_missed()
    assert pace.grace(60.0) == 0.02
    pace.note_missed()
    assert pace.grace(60.0) == 0.04
    pace.note_missed()
    assert pace.grace(60.0) == 0.08
    pace.note_sent()
    assert pace.grace(60.0) == 0.04

"""When a request may leave, so that all processes' sends lie at least the delay apart (R26, I6).

A slot is a window ``[slot, slot + width]``, and ``delay + width`` is reserved for it::

    |<- width ->|<------- delay ------->|<- width ->|
    slot        latest send             next slot

Whoever sends inside its own window is far enough from every neighbour. The width covers how late a
process wakes (grace) and how exactly it knows where its slot lies: the throttle tells how long to
wait from the moment at which it read the database's clock, which lies between two of our own, so
the window shrinks by that reading. A slot that is free at once is used only after the reservation
was committed, so then the width covers that too.
"""

from dataclasses import dataclass

GRACE_SHARE = 0.02
LEAST_GRACE_SECONDS = 0.002
MOST_GRACE_SECONDS = 0.020
PATIENT_MISSES = 5
"""Missed slots in a row after which the grace doubles each time: a slow machine must not starve."""
WIDEST_GRACE_SECONDS = 5.0
FIRST_ROUND_TRIP_SECONDS = 0.005
ROUND_TRIP_MARGIN = 1.25
MOST_ROUND_TRIP_SECONDS = 0.25
FORGETTING = 0.8
FIRST_CHECK_SECONDS = 0.005
MOST_PREPARATION_SECONDS = 0.005
MOST_CONNECT_SECONDS = 2.0
"""A connection opened earlier than this before its slot might be too old when the slot comes."""


@dataclass(frozen=True)
class SendWindow:
    """Monotonic seconds between which the first byte may be written."""

    opens_at: float
    closes_at: float

    @property
    def is_empty(self) -> bool:
        """Whether the throttle answered so slowly that no moment is certain to be the slot's."""
        return self.closes_at < self.opens_at

    def contains(self, monotonic_now: float) -> bool:
        """Whether a send now keeps its distance to the neighbours on both sides."""
        return self.opens_at <= monotonic_now <= self.closes_at


class Pace:
    """What this executor has learnt of its own speed; decides widths and when to wake."""

    def __init__(self) -> None:
        self._missed_in_a_row = 0
        self._round_trip = FIRST_ROUND_TRIP_SECONDS
        self._reading = FIRST_ROUND_TRIP_SECONDS
        self.expects_wait = False
        self.preparation = 0.0
        self._check = FIRST_CHECK_SECONDS
        self._connect = 0.0

    def grace(self, delay_seconds: float) -> float:
        """How late a wake-up may be, in seconds."""
        share = delay_seconds * GRACE_SHARE
        grace = min(max(share, LEAST_GRACE_SECONDS), MOST_GRACE_SECONDS)
        doublings = min(max(0, self._missed_in_a_row - PATIENT_MISSES + 1), 20)
        return min(grace * 2.0**doublings, WIDEST_GRACE_SECONDS)

    def width(self, delay_seconds: float) -> float:
        """Seconds to reserve beyond the delay."""
        unknown = self._reading if self.expects_wait else self._round_trip
        unknown = max(unknown, self._reading)
        return self.grace(delay_seconds) + min(unknown * ROUND_TRIP_MARGIN, MOST_ROUND_TRIP_SECONDS)

    def note_reservation(self, seconds: float, wait_seconds: float) -> None:
        """A reservation took so long, and found its slot ``wait_seconds`` away."""
        self._round_trip = max(seconds, self._round_trip * FORGETTING)
        self.expects_wait = wait_seconds > self._round_trip

    def window(
        self, asked_at: float, answered_at: float, wait_seconds: float, width: float
    ) -> SendWindow:
        """The part of the slot that is certain; empty (never containing) after a slow answer.

        The clock was read between ``asked_at`` and ``answered_at``.
        """
        self._reading = max(answered_at - asked_at, self._reading * FORGETTING)
        return SendWindow(answered_at + wait_seconds, asked_at + wait_seconds + width)

    def lead(self, *, connects: bool) -> float:
        """Seconds before the slot at which connecting and the permit's check should begin."""
        # Both are one short transaction, so the throttle's answer foretells the first check's.
        check = max(self._check, min(self._round_trip, MOST_ROUND_TRIP_SECONDS))
        return (check + (self._connect if connects else 0.0)) * ROUND_TRIP_MARGIN

    def note_check(self, seconds: float) -> None:
        """The permit's check took this long."""
        self._check = min(max(seconds, self._check * FORGETTING, 0.001), 1.0)

    def note_connect(self, seconds: float) -> None:
        """Opening a connection took this long."""
        self._connect = min(max(seconds, self._connect), MOST_CONNECT_SECONDS)

    def note_preparation(self, seconds: float) -> None:
        """From handing a request over to its first byte, it took this long."""
        longest = max(seconds, self.preparation * FORGETTING)
        self.preparation = min(longest, MOST_PREPARATION_SECONDS)

    def note_missed(self) -> None:
        """A slot was given up; the next one may be free at once."""
        self.expects_wait = False
        self._missed_in_a_row += 1

    def note_sent(self) -> None:
        """A slot was kept; a widened grace comes back by one step only, as it was needed."""
        self._missed_in_a_row = max(0, min(self._missed_in_a_row, PATIENT_MISSES + 20) - 1)


@dataclass
class SendStatistics:
    """What a slice reports of its requests (R45, ``collection_slices``).

    ``requests_sent`` counts those that were tried in their slot, also where connecting failed.
    """

    requests_sent: int = 0
    seconds_waited: float = 0.0
    least_interval_seconds: float | None = None
    rate_limited_count: int = 0
    slots_given_up: int = 0
    last_write_at: float | None = None

    def note_write(self, monotonic_now: float) -> None:
        """The first byte of a request is about to be written."""
        if self.last_write_at is not None:
            interval = monotonic_now - self.last_write_at
            least = self.least_interval_seconds
            self.least_interval_seconds = interval if least is None else min(least, interval)
        self.last_write_at = monotonic_now

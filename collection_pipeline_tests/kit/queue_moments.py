"""The moments at which the queue decides something, and those just beside them (R14, R15, R38)."""

from datetime import datetime, timedelta

from collection_pipeline_tests.kit.queue_model import QueueModel

MICROSECOND = timedelta(microseconds=1)
MORNINGS = (
    "the cutoff",
    "the last moment to ask",
    "too late to ask",
    "after recovery's patience",
)
MOMENTS = (
    *MORNINGS,
    "a moment ago",
    "a second on",
    "the next due time",
    "just before a lease ends",
    "the end of a lease",
    "the end of a lease",
    "half a second before the cutoff",
    "just before midnight",
    "midnight",
    "two days on",
)


def moment_of(model: QueueModel, moment: str, number: int) -> datetime:
    """The instant that a name means now; ``number`` chooses among several leases."""
    now, cutoff = model.now, model.cutoff(model.today)
    midnight = cutoff + timedelta(hours=15)
    if moment == "the next due time":
        due = [one.next_eligible_at for one in model.cycles.values()]
        return min((one for one in due if one is not None and one > now), default=now)
    if moment in {"just before a lease ends", "the end of a lease"}:
        ends = sorted(one.lease_until for one in model.cycles.values() if one.lease_until)
        end = ends[number % len(ends)] if ends else now
        return end if moment == "the end of a lease" else end - MICROSECOND
    return {
        "a moment ago": now - MICROSECOND,
        "a second on": now + timedelta(seconds=1),
        "half a second before the cutoff": ahead_of(cutoff),
        "the cutoff": cutoff,
        "the last moment to ask": cutoff + timedelta(seconds=5),
        "too late to ask": cutoff + timedelta(seconds=5) + MICROSECOND,
        "after recovery's patience": cutoff + timedelta(seconds=61) + MICROSECOND,
        "just before midnight": midnight - timedelta(microseconds=400),
        "midnight": midnight,
        "two days on": now + timedelta(hours=48),
    }[moment]


def ahead_of(cutoff: datetime) -> datetime:
    """When a run is in time to ask for the gate, and the cutoff has not come."""
    return cutoff - timedelta(seconds=0.5)

"""Does the queue move: leases, ticks, and seen rows that should be gone (R5, R31, R45)."""

from datetime import timedelta

from collection_pipeline.collection.observation.observed import Asked, Observation, alarm_if
from collection_pipeline.store.views.observed import stuck_leases
from collection_pipeline.store.views.tick_due import tick_standing

STUCK_LEASE = "no_stuck_lease"
TICKS = "ticks_on_time"
SEEN_ROWS = "no_seen_row_older_than_48_hours"
RECOVERY_INTERVAL = timedelta(seconds=300)
"""The sensor asks every 60 s, and a run may wait some minutes for its turn in Dagster's queue."""


def no_stuck_lease(asked: Asked) -> Observation:
    """Recovery ends an expired lease with the next tick; one that stays is held by nobody."""
    found = stuck_leases(asked.connection, asked.now - RECOVERY_INTERVAL)
    age = (asked.now - found.earliest_end).total_seconds() if found.earliest_end else 0.0
    words = "no lease is past its end for longer than recovery takes"
    if found.count:
        words = f"{found.count} lease(s) expired and were not recovered, the first {age:.0f} s ago"
    return alarm_if(
        found.count > 0,
        STUCK_LEASE,
        words,
        {
            "stuck_leases": found.count,
            "oldest_seconds": round(age, 3),
            "recovery_interval_seconds": RECOVERY_INTERVAL.total_seconds(),
        },
    )


def ticks_on_time(asked: Asked) -> Observation:
    """An idle queue starts no tick, so only work that waits makes a missing one an alarm."""
    standing = tick_standing(asked.connection, asked.now, asked.settings, asked.platforms)
    age = standing.seconds_since_tick
    last = "no tick has ever begun" if age is None else f"the newest tick began {age:.0f} s ago"
    words = f"{last}; nothing waits for one"
    if standing.overdue is not None:
        words = f"{last}, although {standing.overdue}"
    numbers: dict[str, str | int | float] = {"overdue": int(standing.overdue is not None)}
    if age is not None:
        numbers["seconds_since_tick"] = age
    return alarm_if(standing.overdue is not None, TICKS, words, numbers)


def seen_rows_observation(rows: int) -> Observation:
    """``rows``: what the last cleanup should have removed and did not (R31)."""
    words = "nothing is left" if rows == 0 else f"{rows} row(s) should be gone and are not"
    return alarm_if(rows > 0, SEEN_ROWS, words, {"seen_rows_older_than_48_hours": rows})

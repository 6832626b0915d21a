"""Do sources keep what is promised of them: budget, pace, health, confirmation (R9, R26, R32a)."""

from datetime import timedelta

from collection_pipeline.collection.observation.observed import (
    Asked,
    Number,
    Observation,
    ObservationState,
    alarm_if,
    some,
)
from collection_pipeline.store.views.measures import Unconfirmed, unconfirmed_postings
from collection_pipeline.store.views.observed import (
    KeptInterval,
    broken_source_ids,
    exhausted_boards,
    kept_intervals,
)

BOARDS = "boards_fit_budget"
INTERVALS = "host_intervals_kept"
BROKEN = "no_broken_source"
CONFIRMED = "open_postings_confirmed"
INTERVALS_OF = timedelta(hours=24)
TOLERATED_MS = 1.0
TOLERATED_SHARE = 0.001
"""A host clock that is being corrected runs faster or slower by up to half a thousandth."""
FEW_POSTINGS = 20
WARNING_SHARE = 0.10
ALARM_SHARE = 0.50


def boards_fit_budget(asked: Asked) -> Observation:
    """A company's board is small: one that does not fit its day is a wrong budget or condition."""
    ids = exhausted_boards(asked.connection, asked.today)
    words = "every company board ended within its budget, today and yesterday"
    if ids:
        words = f"company board(s) ran out of budget: source {some(ids)}"
    return alarm_if(bool(ids), BOARDS, words, {"exhausted_boards": len(ids)})


def host_intervals_kept(asked: Asked) -> Observation:
    """The least interval within each slice of the last day, against the delay in force."""
    found = kept_intervals(asked.connection, asked.now - INTERVALS_OF)
    short = [one for one in found if _is_too_short(asked, one)]
    slices = sum(one.slices for one in found)
    numbers: dict[str, Number] = {"slices": slices, "hosts_too_fast": len({s.host for s in short})}
    words = f"{slices} slice(s) of the last 24 hours kept the delay of their host"
    if found:
        nearest = min(found, key=lambda one: one.least_ms / _delay_ms(asked, one))
        numbers |= {
            "nearest_host": nearest.host,
            "nearest_least_interval_ms": round(nearest.least_ms, 3),
            "nearest_delay_ms": _delay_ms(asked, nearest),
        }
        if short:
            words = (
                f"{nearest.host} was asked after {nearest.least_ms:.0f} ms, although "
                f"{_delay_ms(asked, nearest)} ms are set for {nearest.platform}"
            )
    return alarm_if(bool(short), INTERVALS, words, numbers)


def no_broken_source(asked: Asked) -> Observation:
    """A broken source goes on being tried; only a good day or its end puts it right (R33)."""
    ids = broken_source_ids(asked.connection)
    words = f"broken: source {some(ids)}" if ids else "no active source is broken"
    return alarm_if(bool(ids), BROKEN, words, {"broken_sources": len(ids)})


def open_postings_confirmed(asked: Asked) -> Observation:
    """Shown as open although nobody has seen them for days: ghosts, of active sources (R32a)."""
    days = asked.settings["UNCONFIRMED_AFTER_DAYS"]
    last_confirmed = asked.today - timedelta(days=days)
    found = unconfirmed_postings(asked.connection, last_confirmed, active_only=True)
    judged = sorted((one for one in found if one.open >= FEW_POSTINGS), key=_share, reverse=True)
    share = _share(judged[0]) if judged else 0.0
    state = ObservationState.OK
    if share >= WARNING_SHARE:
        state = ObservationState.ALARM if share >= ALARM_SHARE else ObservationState.WARNING
    numbers: dict[str, Number] = {
        "unconfirmed_postings": sum(one.unconfirmed for one in found),
        "sources_at_warning": sum(_share(one) >= WARNING_SHARE for one in judged),
        "worst_share_percent": round(100 * share, 3),
        "unconfirmed_after_days": days,
    }
    words = f"no active source has {100 * WARNING_SHARE:.0f} % of its open postings unconfirmed"
    if judged:
        numbers["worst_source"] = judged[0].job_source_id
        words = (
            f"source {judged[0].job_source_id}: {100 * share:.1f} % of its open postings were not "
            f"confirmed for {days} days"
        )
    return Observation(CONFIRMED, state, words, numbers)


def _share(one: Unconfirmed) -> float:
    return one.unconfirmed / one.open if one.open else 0.0


def _delay_ms(asked: Asked, one: KeptInterval) -> int:
    """As the slice processor decides it: a source may only be slower than its platform."""
    return max(
        asked.settings.for_platform(one.platform, "HOST_MIN_DELAY_MS"), one.min_delay_ms or 0
    )


def _is_too_short(asked: Asked, one: KeptInterval) -> bool:
    delay = _delay_ms(asked, one)
    return one.least_ms < delay - TOLERATED_MS - delay * TOLERATED_SHARE

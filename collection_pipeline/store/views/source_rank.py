"""Where a source stands today, and how soon somebody has to look at it (R41, R43)."""

from datetime import date, datetime
from enum import IntEnum, StrEnum

from sqlalchemy import ColumnElement, FromClause, and_, case, func, literal_column

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.judged import abnormal, close_guarded
from collection_pipeline.store.schema.cycles import cycles
from collection_pipeline.store.schema.sources import job_sources


class SourceState(StrEnum):
    """Where a source stands today: its cycle's state, or why there is no cycle."""

    FAILED = "FAILED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    RUNNING = "RUNNING"
    PENDING = "PENDING"
    NOT_STARTED = "NOT_STARTED"
    SUCCESS = "SUCCESS"
    NO_CYCLE = "NO_CYCLE"
    """Switched on, and no cycle: a flag is off, or an older system ran it, or it is about to be."""
    OFF = "OFF"


class Rank(IntEnum):
    """The order of the page; the lower, the sooner somebody has to look."""

    ABNORMAL = 0
    BUDGET_EXHAUSTED = 1
    LEASE_OVERDUE = 2
    CLOSE_GUARDED_SUCCESS = 3
    RUNNING = 4
    PENDING = 5
    NOT_STARTED = 6
    NO_CYCLE = 7
    SUCCESS = 8
    OFF = 9


LAST_RANK_NEEDING_ATTENTION = Rank.CLOSE_GUARDED_SUCCESS


def sources_and_cycles(day: date) -> FromClause:
    """Every source with its cycle of ``day``, if any."""
    ours = and_(cycles.c.job_source_id == job_sources.c.id, cycles.c.run_date == day)
    return job_sources.outerjoin(cycles, ours)


def state_today() -> ColumnElement[str]:
    """A ``SourceState`` over ``sources_and_cycles``."""
    without_cycle = case(
        (job_sources.c.active == 1, literal_column(f"'{SourceState.NO_CYCLE}'")),
        else_=literal_column(f"'{SourceState.OFF}'"),
    )
    return func.coalesce(cycles.c.cycle_status, without_cycle)


def rank_today(now: datetime) -> ColumnElement[int]:
    """A ``Rank`` over ``sources_and_cycles``; ``now`` (naive UTC) tells overdue leases.

    Its results are constants, since the same expression stands in WHERE and ORDER BY.
    """
    status = cycles.c.cycle_status
    judged = (status, cycles.c.is_complete, cycles.c.fetched_count)

    def at(rank: Rank) -> ColumnElement[int]:
        return literal_column(str(int(rank)))

    return case(
        (and_(cycles.c.id.is_(None), job_sources.c.active == 1), at(Rank.NO_CYCLE)),
        (cycles.c.id.is_(None), at(Rank.OFF)),
        (abnormal(*judged) == 1, at(Rank.ABNORMAL)),
        (status == CycleStatus.BUDGET_EXHAUSTED.value, at(Rank.BUDGET_EXHAUSTED)),
        (
            and_(status == CycleStatus.RUNNING.value, cycles.c.lease_until < now),
            at(Rank.LEASE_OVERDUE),
        ),
        (status == CycleStatus.RUNNING.value, at(Rank.RUNNING)),
        (status == CycleStatus.PENDING.value, at(Rank.PENDING)),
        (status == CycleStatus.NOT_STARTED.value, at(Rank.NOT_STARTED)),
        (close_guarded(*judged) == 1, at(Rank.CLOSE_GUARDED_SUCCESS)),
        else_=at(Rank.SUCCESS),
    )

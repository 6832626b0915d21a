"""Today's sources for the operations page: those that need attention first (R43).

Invariant: a page costs the same few statements however many sources and cycles there are. The order
is found over narrow rows (one a source); everything else is read for the rows of the page alone.
"""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, RowMapping, and_, case, func, or_, select

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.schema.operations import sla_snapshot_items
from collection_pipeline.store.schema.sources import job_source_health, job_sources
from collection_pipeline.store.views.cycle_facts import (
    CYCLE_FACTS,
    CycleFacts,
    SourceFacts,
    cycle_facts,
    newest_run_ids,
    source_facts,
)
from collection_pipeline.store.views.source_rank import (
    LAST_RANK_NEEDING_ATTENTION,
    Rank,
    SourceState,
    rank_today,
    sources_and_cycles,
    state_today,
)


@dataclass(frozen=True)
class TodayKey:
    """The place of a row in the page's order."""

    rank: int
    source_id: int


@dataclass(frozen=True)
class TodayFilter:
    """``None`` leaves everything in."""

    state: SourceState | None = None
    platform: str | None = None
    attention_only: bool = False


@dataclass(frozen=True)
class StateCount:
    """How many sources of a platform are in a state, and how many of them need attention."""

    state: SourceState
    platform: str
    sources: int
    attention: int


@dataclass(frozen=True)
class AtCutoff:
    """What the day's snapshot holds of a source (R36)."""

    status: CycleStatus
    is_complete: bool
    used: BudgetUse
    reason: str | None
    close_guarded: bool


@dataclass(frozen=True)
class TodaySource:
    """One row of the page; ``at_cutoff`` is ``None`` where the snapshot has no such source."""

    source: SourceFacts
    state: SourceState
    rank: Rank
    cycle: CycleFacts | None
    at_cutoff: AtCutoff | None
    dagster_run_id: str | None


@dataclass(frozen=True)
class TodayPage:
    """Rows in order; ``next_after`` is ``None`` on the last page."""

    rows: list[TodaySource]
    next_after: TodayKey | None


def state_counts(connection: Connection, day: date, now: datetime) -> list[StateCount]:
    """Sources by state and platform."""
    needing = case((rank_today(now) <= int(LAST_RANK_NEEDING_ATTENTION), 1), else_=0)
    statement = (
        select(
            state_today().label("state"),
            job_sources.c.platform,
            func.count().label("sources"),
            func.sum(needing).label("attention"),
        )
        .select_from(sources_and_cycles(day))
        # By its label: MariaDB does not recognise the expression again.
        .group_by("state", job_sources.c.platform)
    )
    return [
        StateCount(SourceState(row.state), row.platform, int(row.sources), int(row.attention))
        for row in connection.execute(statement)
    ]


def snapshot_counts(connection: Connection, snapshot_id: int) -> dict[CycleStatus, int]:
    """Sources by their state at the cutoff."""
    statement = (
        select(sla_snapshot_items.c.cycle_status, func.count())
        .where(sla_snapshot_items.c.snapshot_id == snapshot_id)
        .group_by(sla_snapshot_items.c.cycle_status)
    )
    return {CycleStatus(status): int(count) for status, count in connection.execute(statement)}


def today_page(
    connection: Connection,
    day: date,
    now: datetime,
    snapshot_id: int,
    chosen: TodayFilter,
    after: TodayKey | None,
    limit: int,
) -> TodayPage:
    """At most ``limit`` sources behind ``after``; ``now`` is naive UTC, ``day`` its KST day.

    ``snapshot_id``: the day's snapshot, or 0 for none.
    """
    places = _places(connection, day, now, chosen, after, limit + 1)
    shown = places[:limit]
    facts = _facts(connection, day, snapshot_id, [place.source_id for place in shown])
    run_ids = newest_run_ids(
        connection, [row["cycle_id"] for row in facts.values() if row["cycle_id"] is not None]
    )
    rows = [
        _today_source(facts[place.source_id], Rank(place.rank), run_ids)
        for place in shown
        if place.source_id in facts
    ]
    return TodayPage(rows, shown[-1] if len(places) > limit else None)


def _places(
    connection: Connection,
    day: date,
    now: datetime,
    chosen: TodayFilter,
    after: TodayKey | None,
    limit: int,
) -> list[TodayKey]:
    rank = rank_today(now)
    statement = (
        select(rank.label("attention_rank"), job_sources.c.id)
        .select_from(sources_and_cycles(day))
        .order_by(rank, job_sources.c.id)
        .limit(limit)
    )
    if chosen.platform is not None:
        statement = statement.where(job_sources.c.platform == chosen.platform)
    if chosen.state is not None:
        statement = statement.where(state_today() == chosen.state.value)
    if chosen.attention_only:
        statement = statement.where(rank <= int(LAST_RANK_NEEDING_ATTENTION))
    if after is not None:
        behind = and_(rank == after.rank, job_sources.c.id > after.source_id)
        statement = statement.where(or_(rank > after.rank, behind))
    return [TodayKey(int(row.attention_rank), row.id) for row in connection.execute(statement)]


def _facts(
    connection: Connection, day: date, snapshot_id: int, source_ids: list[int]
) -> dict[int, RowMapping]:
    if not source_ids:
        return {}
    item = sla_snapshot_items.c
    in_snapshot = and_(item.job_source_id == job_sources.c.id, item.snapshot_id == snapshot_id)
    statement = (
        select(
            job_sources,
            *CYCLE_FACTS,
            job_source_health.c.abnormal_days,
            job_source_health.c.broken_since,
            item.cycle_status.label("item_status"),
            item.is_complete.label("item_is_complete"),
            item.list_page_count.label("item_list_pages"),
            item.fetched_count.label("item_fetched"),
            item.detail_request_count.label("item_details"),
            item.reason.label("item_reason"),
            item.close_guarded.label("item_close_guarded"),
        )
        .select_from(sources_and_cycles(day))
        .outerjoin(job_source_health, job_source_health.c.job_source_id == job_sources.c.id)
        .outerjoin(sla_snapshot_items, in_snapshot)
        .where(job_sources.c.id.in_(source_ids))
    )
    return {row["id"]: row for row in connection.execute(statement).mappings()}


def _today_source(row: RowMapping, rank: Rank, run_ids: dict[int, str]) -> TodaySource:
    source = source_facts(row)
    cycle = None if row["cycle_id"] is None else cycle_facts(row)
    without = SourceState.NO_CYCLE if source.active else SourceState.OFF
    return TodaySource(
        source=source,
        state=SourceState(cycle.status.value) if cycle else without,
        rank=rank,
        cycle=cycle,
        at_cutoff=None if row["item_status"] is None else _at_cutoff(row),
        dagster_run_id=run_ids.get(cycle.id) if cycle else None,
    )


def _at_cutoff(row: RowMapping) -> AtCutoff:
    return AtCutoff(
        CycleStatus(row["item_status"]),
        bool(row["item_is_complete"]),
        BudgetUse(row["item_list_pages"], row["item_fetched"], row["item_details"]),
        row["item_reason"],
        bool(row["item_close_guarded"]),
    )

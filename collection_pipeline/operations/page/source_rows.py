"""One source of today's table: the cutoff beside now, and what became of it since (R36, R41)."""

from dataclasses import dataclass
from datetime import datetime

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.marks import (
    Badge,
    ErrorWords,
    LongText,
    Meter,
    daily_budget,
    error_words,
    guard_mark,
    kind_words,
    long_text,
    meters,
    off_mark,
    source_marks,
    state_badge,
)
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import Moment, moment, number, run_link
from collection_pipeline.settings import Settings
from collection_pipeline.store.views.today import TodaySource


@dataclass(frozen=True)
class Change:
    """What became of a source since the cutoff; ``is_of_state``: more than a count."""

    words: str
    is_of_state: bool


@dataclass(frozen=True)
class SourceRow:
    """One source; ``change`` is ``None`` where nothing is different from the cutoff."""

    anchor: str
    label: LongText
    href: str
    platform: str
    kind: str
    badge: Badge
    marks: list[Badge]
    at_cutoff: Badge | None
    marks_at_cutoff: list[Badge]
    at_cutoff_fetched: str | None
    change: Change | None
    meters: list[Meter]
    slices: str | None
    run_href: str | None
    error: ErrorWords | None
    next_eligible: Moment | None
    lease: Moment | None
    lease_owner: LongText | None


def source_row(
    row: TodaySource,
    now: datetime,
    settings: Settings,
    texts: Texts,
    links: Links,
    cutoff: str,
) -> SourceRow:
    """The row in words; ``now`` is naive UTC, ``cutoff`` the day's snapshot's in words."""
    source, cycle, noted = row.source, row.cycle, row.at_cutoff
    today = run_date_of(now)
    complete = cycle is None or cycle.is_complete
    running = cycle is not None and cycle.status is CycleStatus.RUNNING
    return SourceRow(
        anchor=f"source-{source.id}",
        label=long_text(source.label) or long_text(f"#{source.id}") or LongText("", None),
        href=links.to(f"/sources/{source.id}"),
        platform=source.platform,
        kind=kind_words(texts, source.source_type),
        badge=state_badge(texts, row.state, is_complete=complete),
        marks=[*source_marks(texts, source, cycle, now), *off_mark(texts, source, row.state)],
        at_cutoff=state_badge(texts, noted.status, is_complete=noted.is_complete)
        if noted
        else None,
        marks_at_cutoff=[guard_mark(texts)] if noted and noted.close_guarded else [],
        at_cutoff_fetched=texts("postings_count", count=number(noted.used.postings))
        if noted
        else None,
        change=_change(row, cutoff, texts),
        meters=meters(texts, cycle.used, daily_budget(settings, source)) if cycle else [],
        slices=number(cycle.slice_count) if cycle else None,
        run_href=run_link(settings.dagster_ui_url, row.dagster_run_id),
        error=error_words(texts, cycle) if cycle else None,
        next_eligible=moment(cycle.next_eligible_at, today) if cycle else None,
        lease=moment(cycle.lease_until, today) if cycle and running else None,
        lease_owner=long_text(cycle.lease_owner) if cycle and running else None,
    )


def _change(row: TodaySource, cutoff: str, texts: Texts) -> Change | None:
    """What is different from the cutoff, where the snapshot has the source."""
    noted, cycle = row.at_cutoff, row.cycle
    if noted is None or cycle is None:
        return None
    more = cycle.used.postings - noted.used.postings
    if (noted.status, noted.is_complete) != (cycle.status, cycle.is_complete):
        key = "changed_since" if more else "changed"
        return Change(texts(key, cutoff=cutoff, more=f"{more:+,}"), is_of_state=True)
    words = texts("moved_on", cutoff=cutoff, more=f"{more:+,}")
    return Change(words, is_of_state=False) if more else None

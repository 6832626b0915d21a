"""A source's page: its last 30 days, its condition and health, its postings (R32a, R33, R43)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.page.asking import PageProblem
from collection_pipeline.operations.page.charts import CHART_HEIGHT, CHART_WIDTH
from collection_pipeline.operations.page.day_rows import (
    DayRow,
    day_bars,
    day_rows,
    first_day,
)
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.marks import (
    Badge,
    LongText,
    daily_budget,
    error_words,
    kind_words,
    long_text,
    meters,
    off_mark,
    reason_words,
    source_marks,
    state_badge,
)
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import (
    Moment,
    duration,
    moment,
    number,
    percent,
    run_link,
)
from collection_pipeline.settings import Settings
from collection_pipeline.store.views.cycle_facts import SliceFacts
from collection_pipeline.store.views.posting_facts import unconfirmed_until
from collection_pipeline.store.views.posting_search import PostingState
from collection_pipeline.store.views.source_days import (
    PostingStanding,
    SourceCard,
    SourceDay,
    newest_slices,
    posting_standing,
    source_card,
    source_days,
)
from collection_pipeline.store.views.source_rank import SourceState


@dataclass(frozen=True)
class SliceRow:
    """One attempt."""

    id: int
    day: str
    ended: Moment | None
    badge: Badge
    reason: str | None
    used: str
    seconds: str
    waited: str
    worker: LongText | None
    run_href: str | None


@dataclass(frozen=True)
class Fact:
    """A number with its name; ``href`` leads to the postings that it counts."""

    words: str
    value: str
    note: str | None = None
    href: str | None = None


@dataclass(frozen=True)
class SourceMonth:
    """What one read brought."""

    now: datetime
    today: date
    card: SourceCard
    days: dict[date, SourceDay]
    slices: list[SliceFacts]
    postings: PostingStanding


def read_source(context: OperationsContext, source_id: int) -> SourceMonth:
    """The source's month; ``PageProblem`` 404 where there is none, or ``DatabaseUnavailable``."""
    after_days = context.settings["UNCONFIRMED_AFTER_DAYS"]

    def reading(connection: Connection) -> SourceMonth:
        now = context.clock.now(connection)
        today = run_date_of(now)
        card = source_card(connection, source_id)
        if card is None:
            raise PageProblem(404, "no_source")
        days = source_days(connection, source_id, first_day(today), today)
        newest_first = [days[day].cycle for day in sorted(days, reverse=True)]
        return SourceMonth(
            now,
            today,
            card,
            days,
            newest_slices(connection, [cycle.id for cycle in newest_first if cycle]),
            posting_standing(connection, source_id, unconfirmed_until(today, after_days), now),
        )

    return context.database.read(reading)


def source_words(
    month: SourceMonth, settings: Settings, texts: Texts, links: Links
) -> Mapping[str, Any]:
    """What the template ``source.html`` shows."""
    source = month.card.facts
    budget = daily_budget(settings, source)
    here = month.days.get(month.today)
    cycle = here.cycle if here else None
    without = SourceState.NO_CYCLE if source.active else SourceState.OFF
    state = SourceState(cycle.status.value) if cycle else without
    rows = day_rows(month.days, month.today, budget, month.now, texts)
    return {
        "now": moment(month.now, month.today),
        "cutoff": _cutoff(rows, settings),
        "label": long_text(source.label) or LongText(f"#{source.id}", None),
        "source": source,
        "kind": kind_words(texts, source.source_type),
        "company": long_text(month.card.company),
        "condition": long_text(_condition(month.card.condition)),
        "badge": state_badge(texts, state, is_complete=cycle is None or cycle.is_complete),
        "marks": [*source_marks(texts, source, cycle, month.now), *off_mark(texts, source, state)],
        "meters": meters(texts, cycle.used, budget) if cycle else [],
        "cycle": cycle,
        "error": error_words(texts, cycle) if cycle else None,
        "next_eligible": moment(cycle.next_eligible_at, month.today) if cycle else None,
        "health": _health(month, texts),
        "postings": _posting_facts(month, settings, texts, links),
        "is_capped": month.postings.is_capped,
        "rows": rows,
        "has_days": any(row.has_trace for row in rows),
        "chart": day_bars(rows),
        "chart_width": CHART_WIDTH,
        "chart_height": CHART_HEIGHT,
        "slices": [_slice_row(one, month.today, settings, texts) for one in month.slices],
        "today_href": links.to("/"),
        "search_href": links.to("/postings", source=source.id),
    }


def _condition(text: str) -> str:
    """``key=value`` in the order stored; what cannot be read is shown as it is."""
    try:
        read = json.loads(text)
        return " · ".join(f"{key}={value}" for key, values in read.items() for value in values)
    except (ValueError, TypeError, AttributeError):
        return text


def _cutoff(rows: list[DayRow], settings: Settings) -> str:
    """The newest snapshot's own cutoff; the configured one speaks only where there is none."""
    noted = [row.at_cutoff.cutoff for row in rows if row.at_cutoff]
    return noted[-1] if noted else f"{settings.sla_cutoff:%H:%M}"


def _health(month: SourceMonth, texts: Texts) -> Badge:
    source = month.card.facts
    if source.broken_since is not None:
        since = f"{source.broken_since:%Y-%m-%d}"
        words = texts("health_broken", since=since, count=source.abnormal_days)
        return Badge("mark-bad", "warning", words)
    if source.abnormal_days:
        words = texts("health_abnormal", count=source.abnormal_days)
        return Badge("mark-warn", "warning", words)
    return Badge("mark-good", "check", texts("health_good"))


def _posting_facts(
    month: SourceMonth, settings: Settings, texts: Texts, links: Links
) -> list[Fact]:
    standing, source_id = month.postings, month.card.facts.id

    def fact(key: str, count: int, state: PostingState, note: str | None = None) -> Fact:
        href = links.to("/postings", source=source_id, state=state.value)
        return Fact(texts(key), number(count), note, href)

    share = texts("share_of_open", share=percent(standing.unconfirmed, standing.open))
    after_days = settings["UNCONFIRMED_AFTER_DAYS"]
    return [
        fact("fact_open", standing.open, PostingState.OPEN),
        fact(
            "fact_unconfirmed",
            standing.unconfirmed,
            PostingState.UNCONFIRMED,
            f"{share} · {texts('unconfirmed_rule', count=after_days)}",
        ),
        fact("fact_deadline_passed", standing.deadline_passed, PostingState.DEADLINE_PASSED),
        fact("fact_missed", standing.missed, PostingState.MISSED),
    ]


def _slice_row(one: SliceFacts, today: date, settings: Settings, texts: Texts) -> SliceRow:
    return SliceRow(
        id=one.id,
        day=f"{one.run_date:%m-%d}",
        ended=moment(one.created_at, today),
        badge=state_badge(texts, one.outcome),
        reason=reason_words(texts, one.reason),
        used=texts(
            "slice_used",
            pages=number(one.used.list_pages),
            postings=number(one.used.postings),
            details=number(one.used.detail_requests),
        ),
        seconds=duration(one.seconds),
        waited=duration(one.seconds_waited),
        worker=long_text(one.worker),
        run_href=run_link(settings.dagster_ui_url, one.dagster_run_id),
    )

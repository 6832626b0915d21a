"""A source's last 30 days as table rows, strip and bars: three views of the same values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.operations.page.charts import Bar, bars, nice_ceiling
from collection_pipeline.operations.page.marks import (
    Badge,
    ErrorWords,
    budget_share,
    cycle_marks,
    error_words,
    guard_mark,
    long_text,
    state_badge,
)
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import cutoff_words, number
from collection_pipeline.store.views.cycle_facts import CycleFacts
from collection_pipeline.store.views.source_days import NotedState, OlderRun, SourceDay

DAYS_SHOWN = 30
NO_TRACE = Badge("none", "dash", "")


@dataclass(frozen=True)
class AtCutoff:
    """What the day's snapshot holds of the source, and its own cutoff in words (R42)."""

    cutoff: str
    badge: Badge
    marks: list[Badge]


@dataclass(frozen=True)
class DayRow:
    """One day; ``None`` stands for what is not known of it, as for a day before the cycles.

    ``fetched_count`` and ``budget_percent`` are what the bars show; ``spoken`` says it all in one
    line.
    """

    day: date
    words: str
    badge: Badge = NO_TRACE
    marks: list[Badge] = field(default_factory=list)
    at_cutoff: AtCutoff | None = None
    fetched_count: int | None = None
    budget_percent: int | None = None
    new: str | None = None
    missed: str | None = None
    closed: str | None = None
    slices: str | None = None
    error: ErrorWords | None = None
    spoken: str = ""

    @property
    def has_trace(self) -> bool:
        """Whether anything is known of the day."""
        return self.badge is not NO_TRACE

    @property
    def fetched(self) -> str | None:
        """The postings that were fetched."""
        return None if self.fetched_count is None else number(self.fetched_count)

    @property
    def budget(self) -> str | None:
        """What was used of the day's budget."""
        return None if self.budget_percent is None else f"{self.budget_percent}%"


@dataclass(frozen=True)
class DayBars:
    """Bars of fetched postings up to ``top``, and of the budget up to 100 %."""

    top: str
    fetched: list[Bar]
    budget: list[Bar]


def first_day(today: date) -> date:
    """The first of the days that are shown."""
    return today - timedelta(days=DAYS_SHOWN - 1)


def day_rows(
    days: Mapping[date, SourceDay],
    today: date,
    budget: CollectionBudget | None,
    now: datetime,
    texts: Texts,
) -> list[DayRow]:
    """One row a day, oldest first, days without a trace included. ``now`` is naive UTC."""
    shown = (first_day(today) + timedelta(days=step) for step in range(DAYS_SHOWN))
    return [_row(day, days.get(day), budget, now, texts) for day in shown]


def day_bars(rows: Sequence[DayRow]) -> DayBars:
    """The bars of ``rows``, in their order."""
    top = nice_ceiling(max([1, *(row.fetched_count or 0 for row in rows)]))
    return DayBars(
        number(top),
        bars([(row.fetched_count, row.badge.kind, row.spoken) for row in rows], top),
        bars(
            [
                (row.budget_percent, "full" if row.budget_percent == 100 else "used", row.spoken)
                for row in rows
            ],
            100,
        ),
    )


def _row(
    day: date, found: SourceDay | None, budget: CollectionBudget | None, now: datetime, texts: Texts
) -> DayRow:
    words = f"{day:%m-%d}"
    if found is None:
        return DayRow(day, words, spoken=f"{words} {texts('no_trace')}")
    at_cutoff = _at_cutoff(found.at_cutoff, texts) if found.at_cutoff else None
    if found.cycle is not None:
        return _of_cycle(found.cycle, words, at_cutoff, budget, now, texts)
    if found.older is not None:
        return _of_older_run(day, words, found.older, texts)
    return DayRow(day, words, at_cutoff=at_cutoff, spoken=f"{words} {texts('no_trace')}")


def _of_cycle(
    cycle: CycleFacts,
    words: str,
    at_cutoff: AtCutoff | None,
    budget: CollectionBudget | None,
    now: datetime,
    texts: Texts,
) -> DayRow:
    badge = state_badge(texts, cycle.status, is_complete=cycle.is_complete)
    fetched = texts("postings_count", count=number(cycle.used.postings))
    share = None if budget is None else budget_share(cycle.used, budget)
    return DayRow(
        day=cycle.run_date,
        words=words,
        badge=badge,
        marks=cycle_marks(texts, cycle, now),
        at_cutoff=at_cutoff,
        fetched_count=cycle.used.postings,
        budget_percent=share,
        new=number(cycle.new_count),
        missed=number(cycle.missed_count),
        closed=number(cycle.closed_count),
        slices=number(cycle.slice_count),
        error=error_words(texts, cycle),
        spoken=f"{words} {badge.words} · {fetched}"
        + ("" if share is None else f" · {texts('budget_short')} {share}%"),
    )


def _at_cutoff(noted: NotedState, texts: Texts) -> AtCutoff:
    return AtCutoff(
        cutoff_words(noted.scheduled_at),
        state_badge(texts, noted.status, is_complete=noted.is_complete),
        [guard_mark(texts)] if noted.close_guarded else [],
    )


def _of_older_run(day: date, words: str, older: OlderRun, texts: Texts) -> DayRow:
    badge = state_badge(texts, older.run_status)
    fetched = texts("postings_count", count=number(older.fetched))
    return DayRow(
        day=day,
        words=words,
        badge=badge,
        fetched_count=older.fetched,
        error=ErrorWords(texts("older_run"), None, long_text(older.reason)),
        spoken=f"{words} {badge.words} · {fetched} · {texts('older_run')}",
    )

"""The page of today: the 09:00 snapshot beside the present state (R40 to R43).

It shows what the database says at one moment; every judgement comes from the domain's truth table.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.page.asking import ATTENTION, TodayQuestion
from collection_pipeline.operations.page.charts import segments
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.marks import (
    Badge,
    LongText,
    capture_badge,
    long_text,
    state_badge,
)
from collection_pipeline.operations.page.source_rows import source_row
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import (
    Moment,
    cutoff_words,
    exact_moment,
    moment,
    number,
)
from collection_pipeline.settings import Settings
from collection_pipeline.store.views.snapshot_view import SnapshotView, snapshot_view
from collection_pipeline.store.views.source_rank import SourceState
from collection_pipeline.store.views.today import (
    StateCount,
    TodayPage,
    snapshot_counts,
    state_counts,
    today_page,
)

SOURCES_PER_PAGE = 100


@dataclass(frozen=True)
class Tile:
    """A state with its number now and at the cutoff (``None``: the snapshot has no such number)."""

    badge: Badge
    now: str
    at_cutoff: str | None
    is_none: bool
    href: str
    is_chosen: bool


@dataclass(frozen=True)
class Chip:
    """A filter that can be chosen; ``name`` tells it from its neighbours, however many."""

    name: str
    words: str
    href: str
    is_chosen: bool


@dataclass(frozen=True)
class SnapshotBox:
    """The day's snapshot in words."""

    badge: Badge
    captured: Moment | None
    late: str | None
    sources: str
    reason: LongText | None
    explanation: str


@dataclass(frozen=True)
class Today:
    """What one read brought."""

    now: datetime
    day: date
    snapshot: SnapshotView
    counts: list[StateCount]
    counts_at_cutoff: dict[CycleStatus, int]
    page: TodayPage

    @property
    def cutoff(self) -> str:
        """The header's own cutoff; the configured one speaks only where there is no header."""
        return cutoff_words(self.snapshot.scheduled_at)


def read_today(
    context: OperationsContext, question: TodayQuestion, limit: int = SOURCES_PER_PAGE
) -> Today:
    """The day as the database has it; raises ``DatabaseUnavailable``."""

    def reading(connection: Connection) -> Today:
        now = context.clock.now(connection)
        day = run_date_of(now)
        snapshot = snapshot_view(
            connection, day, now, context.settings.sla_cutoff, with_items=False
        )
        is_captured = snapshot.status is CaptureStatus.CAPTURED
        snapshot_id = (snapshot.snapshot_id if is_captured else None) or 0
        return Today(
            now,
            day,
            snapshot,
            state_counts(connection, day, now),
            snapshot_counts(connection, snapshot_id) if is_captured else {},
            today_page(connection, day, now, snapshot_id, question.chosen, question.after, limit),
        )

    return context.database.read(reading)


def today_words(
    today: Today, question: TodayQuestion, settings: Settings, texts: Texts, links: Links
) -> Mapping[str, Any]:
    """What the template ``today.html`` shows."""
    by_state = _by_state(today.counts, question.chosen.platform)
    after = today.page.next_after
    query = {"state": question.state_text, "platform": question.chosen.platform}
    return {
        "day": today.day,
        "cutoff": today.cutoff,
        "now": moment(today.now, today.day),
        "tiles": _tiles(today, by_state, question, texts, links),
        "total": texts("sources_total", count=number(by_state.total())),
        "stack": segments(
            [(state.value.lower().replace("_", "-"), by_state[state]) for state in SourceState]
        ),
        "attention": _attention(today, question, texts, links),
        "platforms": _platforms(today.counts, question, texts, links),
        "snapshot": _snapshot_box(today, texts),
        "rows": [
            source_row(row, today.now, settings, texts, links, today.cutoff)
            for row in today.page.rows
        ],
        "has_sources": bool(today.counts),
        "is_filtered": any(query.values()),
        "all_href": links.to("/"),
        "first_href": links.to("/", **query) if question.after else None,
        "next_href": links.to("/", **query, after=f"{after.rank}-{after.source_id}")
        if after
        else None,
    }


def _by_state(counts: list[StateCount], platform: str | None) -> Counter[SourceState]:
    found: Counter[SourceState] = Counter()
    for count in counts:
        if platform in (None, count.platform):
            found[count.state] += count.sources
    return found


def _tiles(
    today: Today,
    by_state: Counter[SourceState],
    question: TodayQuestion,
    texts: Texts,
    links: Links,
) -> list[Tile]:
    # The snapshot's numbers are of all platforms together.
    has_cutoff = today.counts_at_cutoff and question.chosen.platform is None
    chosen = question.chosen.state
    made = []
    for state in SourceState:
        at_cutoff = None
        if has_cutoff and state.value in CycleStatus.__members__:
            count = number(today.counts_at_cutoff.get(CycleStatus(state.value), 0))
            at_cutoff = texts("at_cutoff_number", cutoff=today.cutoff, count=count)
        if not by_state[state] and state in (SourceState.NO_CYCLE, SourceState.OFF):
            continue
        made.append(
            Tile(
                state_badge(texts, state),
                number(by_state[state]),
                at_cutoff,
                by_state[state] == 0,
                links.to("/", state=state.value, platform=question.chosen.platform),
                chosen is state,
            )
        )
    return made


def _attention(today: Today, question: TodayQuestion, texts: Texts, links: Links) -> Chip:
    platform = question.chosen.platform
    count = sum(one.attention for one in today.counts if platform in (None, one.platform))
    return Chip(
        "attention",
        texts("attention_count", count=number(count)),
        links.to("/", state=ATTENTION, platform=platform),
        question.chosen.attention_only,
    )


def _platforms(
    counts: list[StateCount], question: TodayQuestion, texts: Texts, links: Links
) -> list[Chip]:
    state, chosen = question.state_text, question.chosen.platform
    names = sorted({count.platform for count in counts} | ({chosen} if chosen else set()))
    if len(names) < 2 and chosen is None:
        return []
    every = Chip("", texts("all_platforms"), links.to("/", state=state), chosen is None)
    return [
        every,
        *(
            Chip(name, name, links.to("/", state=state, platform=name), name == chosen)
            for name in names
        ),
    ]


def _snapshot_box(today: Today, texts: Texts) -> SnapshotBox:
    snapshot = today.snapshot
    late = snapshot.late_count
    is_captured = snapshot.status is CaptureStatus.CAPTURED
    return SnapshotBox(
        badge=capture_badge(texts, snapshot.status),
        captured=exact_moment(snapshot.captured_at),
        late=None if late is None or not is_captured else number(late),
        sources=number(sum(today.counts_at_cutoff.values())),
        reason=long_text(snapshot.miss_reason),
        explanation=texts(f"capture_{snapshot.status}_explained", cutoff=today.cutoff),
    )

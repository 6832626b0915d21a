"""States, badges and meters as the templates draw them: never by colour alone."""

from dataclasses import dataclass
from datetime import datetime

from collection_pipeline.domain.budget import BudgetUse, CollectionBudget, InvalidBudget
from collection_pipeline.domain.cycle import INCOMPLETE_DETAIL
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.operations.page.texts import Texts
from collection_pipeline.operations.page.wording import number, percent, shortened
from collection_pipeline.settings import Settings
from collection_pipeline.store.views.cycle_facts import CycleFacts, SourceFacts
from collection_pipeline.store.views.source_rank import SourceState

INCOMPLETE = "INCOMPLETE"
"""SUCCESS short of the platform's own total (R23a): a kind of its own beside the states."""
STATE_ICONS = {
    "FAILED": "cross",
    "BUDGET_EXHAUSTED": "hourglass",
    "RUNNING": "play",
    "PENDING": "clock",
    "NOT_STARTED": "circle",
    "SUCCESS": "check",
    INCOMPLETE: "half",
    "NO_CYCLE": "dash",
    "OFF": "slash",
}
BUDGETS = ("list_pages", "postings", "detail_requests")
CAPTURE_ICONS = {
    CaptureStatus.PENDING: "clock",
    CaptureStatus.CAPTURED: "check",
    CaptureStatus.MISSED: "cross",
    CaptureStatus.NOT_APPLICABLE: "dash",
    CaptureStatus.UNAVAILABLE: "dash",
}


@dataclass(frozen=True)
class Badge:
    """``kind`` is its class in the style sheet, ``icon`` its sign, ``words`` what it says."""

    kind: str
    icon: str
    words: str


@dataclass(frozen=True)
class Meter:
    """A budget and what is used of it; ``share`` is 0 to 100, ``limit`` ``None`` if unusable."""

    words: str
    used: str
    limit: str | None
    share: float
    percent: str
    is_full: bool


@dataclass(frozen=True)
class LongText:
    """Text from outside; ``short`` is ``None`` where ``full`` is short enough to be shown."""

    full: str
    short: str | None


@dataclass(frozen=True)
class ErrorWords:
    """Why a cycle ended as it did: in words, as a code, and its redacted detail."""

    words: str | None
    code: str | None
    detail: LongText | None


def long_text(text: str | None) -> LongText | None:
    """``None`` for nothing to show."""
    return LongText(text, shortened(text)) if text else None


def state_badge(texts: Texts, state: str, *, is_complete: bool = True) -> Badge:
    """The badge of a cycle's state, or of why there is no cycle; unknown ones name themselves."""
    if state not in STATE_ICONS:
        return Badge("older", "dash", state)
    if state == CycleStatus.SUCCESS and not is_complete:
        state = INCOMPLETE
    return Badge(_class_of(state), STATE_ICONS[state], texts(f"state_{state}"))


def capture_badge(texts: Texts, status: CaptureStatus) -> Badge:
    """The badge of the day's snapshot."""
    return Badge(_class_of(status.value), CAPTURE_ICONS[status], texts(f"capture_{status}"))


def source_marks(
    texts: Texts, source: SourceFacts, cycle: CycleFacts | None, now: datetime
) -> list[Badge]:
    """What the server says of a source beside its state (R33, R41)."""
    marks = []
    if source.broken_since is not None:
        words = texts("mark_broken", count=source.abnormal_days)
        marks.append(Badge("mark-bad", "warning", words))
    return marks if cycle is None else [*marks, *cycle_marks(texts, cycle, now)]


def cycle_marks(texts: Texts, cycle: CycleFacts, now: datetime) -> list[Badge]:
    """What the server says of one cycle beside its state."""
    marks = []
    if cycle.abnormal:
        marks.append(Badge("mark-bad", "warning", texts("mark_abnormal")))
    if cycle.lease_is_overdue(now):
        marks.append(Badge("mark-warn", "hourglass", texts("mark_lease_overdue")))
    if cycle.close_guarded:
        marks.append(guard_mark(texts))
    return marks


def guard_mark(texts: Texts) -> Badge:
    """Nothing may be closed by what was collected: for what carries ``close_guarded``."""
    return Badge("mark-guard", "shield", texts("mark_close_guarded"))


def off_mark(texts: Texts, source: SourceFacts, state: SourceState) -> list[Badge]:
    """A source that is switched off while today's cycle still stands there."""
    if source.active or state is SourceState.OFF:
        return []
    return [Badge("mark-guard", "slash", texts("state_OFF"))]


def daily_budget(settings: Settings, source: SourceFacts) -> CollectionBudget | None:
    """The day's budget of a source, or ``None`` where its overrides cannot be used (R2)."""
    own = source.overrides
    try:
        return settings.daily_budget(source.platform).overridden(
            own.list_pages, own.postings, own.detail_requests
        )
    except InvalidBudget:
        return None


def meters(texts: Texts, used: BudgetUse, budget: CollectionBudget | None) -> list[Meter]:
    """Pages, postings and details against the day's budget."""
    return [
        _meter(texts(f"budget_{name}"), spent, limit)
        for name, spent, limit in zip(BUDGETS, _spent(used), _limits(budget), strict=True)
    ]


def budget_share(used: BudgetUse, budget: CollectionBudget | None) -> int:
    """How much of the day's budget is gone, in percent: of the limit that is nearest."""
    if budget is None:
        return 0
    pairs = zip(_spent(used), _limits(budget), strict=True)
    return max(min(100, 100 * spent // limit) for spent, limit in pairs if limit is not None)


def reason_words(texts: Texts, reason: str | None) -> str | None:
    """A failure's or a budget's reason in words; a code that is not known stands for itself."""
    if reason is None:
        return None
    key = f"reason_{reason}"
    return texts(key) if key in texts else reason


def error_words(texts: Texts, cycle: CycleFacts) -> ErrorWords | None:
    """``None`` for a cycle with nothing to say; a short total is said in numbers (R23a)."""
    if cycle.reason is None and cycle.detail == INCOMPLETE_DETAIL and cycle.stated_total:
        count, total = number(cycle.used.postings), number(cycle.stated_total)
        return ErrorWords(texts("incomplete_of", count=count, total=total), INCOMPLETE, None)
    if cycle.reason is None and not cycle.detail:
        return None
    return ErrorWords(reason_words(texts, cycle.reason), cycle.reason, long_text(cycle.detail))


def kind_words(texts: Texts, source_type: str) -> str:
    """A source type in words; one that is not known stands for itself."""
    key = f"type_{source_type}"
    return texts(key) if key in texts else source_type


def _spent(used: BudgetUse) -> tuple[int, int, int]:
    return used.list_pages, used.postings, used.detail_requests


def _limits(budget: CollectionBudget | None) -> tuple[int, int, int] | tuple[None, None, None]:
    if budget is None:
        return None, None, None
    return budget.list_pages, budget.postings, budget.detail_requests


def _meter(words: str, used: int, limit: int | None) -> Meter:
    if limit is None:
        return Meter(words, number(used), None, 0, "", is_full=False)
    share = min(100.0, round(100 * used / limit, 1))
    return Meter(
        words, number(used), number(limit), share, percent(used, limit), is_full=used >= limit
    )


def _class_of(state: str) -> str:
    return state.lower().replace("_", "-")

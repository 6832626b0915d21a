"""Numbers, days and instants as a reader in Korea expects them; instants come in as naive UTC."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from collection_pipeline.domain.kst import KST_OFFSET, kst_text

SHORT_CHARS = 80
"""A text longer than this is cut, with the whole of it one step away."""


@dataclass(frozen=True)
class Moment:
    """An instant for a ``<time>``: ISO 8601 with +09:00, and the words shown (KST)."""

    iso: str
    words: str


def number(value: int) -> str:
    """With a comma between thousands."""
    return f"{value:,}"


def percent(part: int, whole: int) -> str:
    """``part`` of ``whole``; more than nothing is never shown as 0 %, nor less than all as 100."""
    if whole <= 0 or part <= 0:
        return "0%"
    if part >= whole:
        return "100%"
    return f"{min(99, max(1, round(100 * part / whole)))}%"


def moment(instant: datetime | None, today: date) -> Moment | None:
    """The time alone on ``today``, else with its day, and its year where that is another."""
    if instant is None:
        return None
    local = instant + KST_OFFSET
    if local.date() == today:
        form = "%H:%M:%S"
    else:
        form = "%m-%d %H:%M" if local.year == today.year else "%Y-%m-%d %H:%M"
    return Moment(kst_text(instant) or "", local.strftime(form))


def cutoff_words(scheduled_at: datetime) -> str:
    """A snapshot's cutoff as ``HH:MM`` in KST."""
    return (scheduled_at + KST_OFFSET).strftime("%H:%M")


def exact_moment(instant: datetime | None) -> Moment | None:
    """Time of day with milliseconds: what the snapshot's capture is judged by."""
    if instant is None:
        return None
    local = instant + KST_OFFSET
    return Moment(kst_text(instant) or "", local.strftime("%H:%M:%S.") + f"{local:%f}"[:3])


def duration(seconds: float) -> str:
    """``12s``, ``3m 05s``, ``2h 10m``."""
    whole = timedelta(seconds=round(seconds))
    minutes, rest = divmod(int(whole.total_seconds()), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes_left:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"


def shortened(text: str) -> str | None:
    """``text`` cut to ``SHORT_CHARS`` with an ellipsis, or ``None`` where it is short enough."""
    if len(text) <= SHORT_CHARS:
        return None
    return text[: SHORT_CHARS - 1].rstrip() + "…"


def safe_link(url: str | None) -> str | None:
    """``url`` if a browser may be sent there: http or https with a host, nothing hidden in it."""
    if url is None or re.search(r"[\s\x00-\x1f\x7f\\]", url):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    fit = parts.scheme in {"http", "https"} and parts.hostname and "@" not in parts.netloc
    return url if fit else None


def run_link(ui_url: str | None, run_id: str | None) -> str | None:
    """The run's page in Dagster; only for what looks like a run id."""
    if ui_url is None or run_id is None or not re.fullmatch(r"[0-9a-f-]{36}", run_id):
        return None
    return f"{ui_url}/runs/{run_id}"

"""The morning report, composed from the snapshot's items alone (R40, R42).

Whatever the cycles have done since the cutoff is not looked at. Most important first: alarms, what
failed, what ran out of budget, what had not ended, then what ended but cannot be trusted to close
postings. Long lists are cut and say so; the counts are always whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_text
from collection_pipeline.domain.notification import (
    LABEL_MAX_CHARS,
    MORNING_REPORT,
    Notification,
    Severity,
    plain_text,
)
from collection_pipeline.domain.snapshot import SnapshotHeader, SnapshotItem
from collection_pipeline.domain.source import SourceType
from collection_pipeline.notification.phrases import (
    STATES,
    counted,
    day_words,
    failure_words,
    kst_clock,
    limit_words,
    source_words,
)

MOST_LATE_SHOWN = 50
MOST_WARNINGS_SHOWN = 50
_LATE_ORDER = (
    CycleStatus.FAILED,
    CycleStatus.BUDGET_EXHAUSTED,
    CycleStatus.NOT_STARTED,
    CycleStatus.PENDING,
    CycleStatus.RUNNING,
)
ALARM, WARNING = "ALARM", "WARNING"
BUDGET, INCOMPLETE, EMPTY = CycleStatus.BUDGET_EXHAUSTED.value, "INCOMPLETE", "EMPTY"


def morning_report(header: SnapshotHeader, items: Sequence[SnapshotItem]) -> Notification:
    """The report of a CAPTURED header over all of its items."""
    late = sorted((item for item in items if item.is_late), key=_urgency)
    exhausted = [item for item in late if item.cycle_status is CycleStatus.BUDGET_EXHAUSTED]
    alarms = [item for item in exhausted if _is_company_bound(item)]
    others = [item for item in late if item.cycle_status is not CycleStatus.BUDGET_EXHAUSTED]
    incomplete = [item for item in items if item.is_incomplete]
    empty = [item for item in items if item.abnormal and not item.is_late]
    lines = [
        *_summary(late, len(items)),
        *_listed(alarms, _alarm_line, MOST_WARNINGS_SHOWN),
        *_listed(others, _late_line, MOST_LATE_SHOWN),
        *_listed([item for item in exhausted if not _is_company_bound(item)], _budget_line),
        *_listed(incomplete, _incomplete_line),
        *_listed(empty, _empty_line),
        _done_line(header, items),
    ]
    return Notification(
        MORNING_REPORT,
        header.snapshot_date,
        _severity(late, alarms, [*incomplete, *empty]),
        _title(header, late, len(items), len(incomplete) + len(empty)),
        tuple(lines),
        _data(header, items, late, exhausted, incomplete, empty),
    )


def _title(header: SnapshotHeader, late: Sequence[SnapshotItem], total: int, doubtful: int) -> str:
    when = f"{kst_clock(header.scheduled_at)} KST, {day_words(header.snapshot_date)}"
    if late:
        return f"Collection at {when}: {len(late):,} of {counted(total, 'source')} late"
    doubt = f", {doubtful:,} with a warning" if doubtful else ""
    return f"Collection at {when}: {_all(total)} on time{doubt}"


def _all(total: int) -> str:
    return {1: "the only source", 2: "both sources"}.get(total, f"all {total:,} sources")


def _severity(
    late: Sequence[SnapshotItem], alarms: Sequence[SnapshotItem], doubtful: Sequence[SnapshotItem]
) -> Severity:
    if alarms:
        return Severity.INCIDENT
    return Severity.WARNING if late or doubtful else Severity.INFO


def _summary(late: Sequence[SnapshotItem], total: int) -> list[str]:
    if not late:
        return []
    counts = Counter(item.cycle_status for item in late)
    said = [f"{counts[one]:,} {STATES[one]}" for one in _LATE_ORDER if counts[one]]
    everything = " That is every source: look at the pipeline first." if len(late) == total else ""
    return [f"Late: {', '.join(said)}.{everything if total > 1 else ''}"]


def _alarm_line(item: SnapshotItem) -> str:
    return f"{ALARM} {_budget_words(item)}; a company's own board should fit into its budget"


def _budget_line(item: SnapshotItem) -> str:
    return f"{WARNING} {_budget_words(item)}"


def _budget_words(item: SnapshotItem) -> str:
    read = f"{counted(item.list_page_count, 'page')} and {counted(item.fetched_count, 'posting')}"
    return (
        f"{BUDGET} {_name(item)}: daily budget of {limit_words(item.reason)} used up after {read}"
    )


def _late_line(item: SnapshotItem) -> str:
    kept = f"; {counted(item.fetched_count, 'posting')} kept" if item.fetched_count else ""
    if item.cycle_status is CycleStatus.FAILED:
        return f"{_name(item)}: {failure_words(item.reason)}{kept}"
    said = {
        CycleStatus.RUNNING: "not finished, still running",
        CycleStatus.PENDING: "not finished, waiting for its turn",
    }.get(item.cycle_status, STATES[item.cycle_status])
    return f"{_name(item)}: {said}{kept}"


def _incomplete_line(item: SnapshotItem) -> str:
    return (
        f"{WARNING} {INCOMPLETE} {_name(item)}: {counted(item.fetched_count, 'posting')} are fewer "
        "than the platform says it has; no posting is closed"
    )


def _empty_line(item: SnapshotItem) -> str:
    return f"{WARNING} {EMPTY} {_name(item)}: its list came back empty; no posting is closed"


def _done_line(header: SnapshotHeader, items: Sequence[SnapshotItem]) -> str:
    done = [item for item in items if not item.is_late]
    postings = sum(item.fetched_count for item in done)
    captured = header.captured_at or header.scheduled_at
    return (
        f"Done: {counted(len(done), 'source')} with {counted(postings, 'posting')}. "
        f"State at {kst_clock(header.scheduled_at, seconds=True)}, "
        f"captured at {kst_clock(captured, seconds=True)} KST."
    )


def _listed(
    items: Sequence[SnapshotItem],
    line: Callable[[SnapshotItem], str],
    most: int = MOST_WARNINGS_SHOWN,
) -> list[str]:
    shown = [f"- {line(item)}" for item in items[:most]]
    left = len(items) - len(shown)
    return [*shown, f"- and {left:,} more like these"] if left else shown


def _data(
    header: SnapshotHeader,
    items: Sequence[SnapshotItem],
    late: Sequence[SnapshotItem],
    exhausted: Sequence[SnapshotItem],
    incomplete: Sequence[SnapshotItem],
    empty: Sequence[SnapshotItem],
) -> dict[str, object]:
    counts = Counter(item.cycle_status for item in items)
    warned = [
        *_warned(exhausted, BUDGET),
        *_warned(incomplete, INCOMPLETE),
        *_warned(empty, EMPTY),
    ]
    return {
        "snapshot_date": header.snapshot_date.isoformat(),
        "capture_status": header.status.value,
        "scheduled_at": utc_text(header.scheduled_at),
        "captured_at": utc_text(header.captured_at),
        "source_count": len(items),
        "late_before_notification_count": len(late),
        "by_status": {status.value: counts[status] for status in CycleStatus},
        "late_sources": [_facts(item) for item in late[:MOST_LATE_SHOWN]],
        "late_sources_left_out": max(0, len(late) - MOST_LATE_SHOWN),
        "budget_exhausted_count": len(exhausted),
        "incomplete_count": len(incomplete),
        "empty_count": len(empty),
        "warnings": warned,
        "warnings_left_out": len(exhausted) + len(incomplete) + len(empty) - len(warned),
    }


def _warned(items: Iterable[SnapshotItem], code: str) -> list[dict[str, object]]:
    chosen = list(items)[:MOST_WARNINGS_SHOWN]
    is_budget = code == BUDGET
    return [
        {
            "code": code,
            "level": ALARM if is_budget and _is_company_bound(item) else WARNING,
            **_facts(item),
        }
        for item in chosen
    ]


def _facts(item: SnapshotItem) -> dict[str, object]:
    return {
        "job_source_id": item.job_source_id,
        "source_label": plain_text(item.source_label, LABEL_MAX_CHARS),
        "platform": item.platform,
        "cycle_status": item.cycle_status.value,
        "reason": item.reason,
        "fetched_count": item.fetched_count,
    }


def _name(item: SnapshotItem) -> str:
    return source_words(item.source_label, item.platform, item.job_source_id)


def _is_company_bound(item: SnapshotItem) -> bool:
    return item.source_type == SourceType.COMPANY_BOUND.value


def _urgency(item: SnapshotItem) -> tuple[int, int, int]:
    is_alarm = item.cycle_status is CycleStatus.BUDGET_EXHAUSTED and _is_company_bound(item)
    return (0 if is_alarm else 1, _LATE_ORDER.index(item.cycle_status), item.job_source_id)

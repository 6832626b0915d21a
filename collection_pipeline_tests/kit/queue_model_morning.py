"""The model of the 09:00 snapshot (R35 to R39)."""

from datetime import date, timedelta

from collection_pipeline_tests.kit.queue_model import QueueModel
from collection_pipeline_tests.kit.queue_rows import CycleRow

TOLERANCE = timedelta(seconds=60)
LATE_START = timedelta(seconds=5)
SETTLED = TOLERANCE + timedelta(seconds=1)


def capture(model: QueueModel, *, dies: bool = False) -> set[str]:
    """A capturing run that comes now; which states its day's header may have then.

    ``dies``: it is killed before its commit, so that recovery has to wait for it.
    """
    model.create_day()
    day, header = model.today, model.headers[model.today]
    since_cutoff = model.now - header.scheduled_at
    if header.capture_status != "PENDING" or since_cutoff < timedelta(0):
        return {header.capture_status}
    if since_cutoff > LATE_START:
        return {"PENDING"} if day in model.waiting_captures else _settled(model, day)
    if dies:
        model.waiting_captures.add(day)
        return {"PENDING"}
    eligible = [one for one in model.sources if model.is_runnable(one, day)]
    if not eligible:
        header.capture_status = "NOT_APPLICABLE"
        return {"NOT_APPLICABLE"}
    for source_id in eligible:
        model.items[day, source_id] = _item(model, source_id, model.cycles[source_id, day])
    header.capture_status, header.captured_at = "CAPTURED", model.now
    return {"CAPTURED"}


def recover_mornings(model: QueueModel) -> dict[date, set[str]]:
    """R38: what nobody can capture any more; the states that each such day may have then."""
    return {
        day: _settled(model, day)
        for day, header in model.headers.items()
        if header.capture_status == "PENDING" and model.now > header.scheduled_at + SETTLED
    }


def _settled(model: QueueModel, day: date) -> set[str]:
    """R37: with the flag off or no source at the cutoff there was nothing to capture.

    Afterwards nobody may know any more that there was no source: then MISSED is allowed too.
    """
    flag_was_on, had_source = model.at_cutoff[day]
    if not flag_was_on:
        return {"NOT_APPLICABLE"}
    return {"MISSED"} if had_source else {"MISSED", "NOT_APPLICABLE"}


def _item(model: QueueModel, source_id: int, cycle: CycleRow) -> dict[str, object]:
    """R36, R41."""
    source = model.sources[source_id]
    is_safe = cycle.cycle_status == "SUCCESS" and cycle.is_complete == 1
    abnormal = cycle.cycle_status == "FAILED" or (is_safe and cycle.fetched_count == 0)
    return {
        "source_label": source.label,
        "platform": source.platform,
        "source_type": "AGGREGATOR" if source.is_aggregator else "COMPANY_BOUND",
        "cycle_status": cycle.cycle_status,
        "is_complete": cycle.is_complete,
        "fetched_count": cycle.fetched_count,
        "list_page_count": cycle.list_page_count,
        "detail_request_count": cycle.detail_request_count,
        "abnormal": int(abnormal),
        "close_guarded": int(not (is_safe and cycle.fetched_count > 0)),
        "reason": cycle.failure_reason or cycle.budget_exhausted_reason,
    }

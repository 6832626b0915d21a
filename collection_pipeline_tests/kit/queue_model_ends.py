"""The model of how an attempt ends: rows, state, delta, runs row, health (R6-R11, R30-R34a)."""

from datetime import timedelta
from math import floor
from typing import TYPE_CHECKING

from collection_pipeline_tests.kit.queue_rows import (
    DETAIL_RESULTS,
    CycleKey,
    CycleRow,
    HealthRow,
    PostingRow,
    SlicePlan,
)

if TYPE_CHECKING:
    from collection_pipeline_tests.kit.queue_model import QueueModel

CLOSE_AFTER = 2
BROKEN_AFTER = 3
NEXT_CURSOR = '{"at":{"offset":100},"v":1}'
RUN_COUNTERS = (
    "fetched_count",
    "new_count",
    "updated_count",
    "missed_count",
    "closed_count",
    "detail_failure_count",
    "failure_reason",
    "started_at",
    "finished_at",
)


def record(model: "QueueModel", key: CycleKey, token: str, plan: SlicePlan) -> None:
    """A slice under a live lease. In this order: failure, complete, budget used up, slice end."""
    cycle = model.cycles[key]
    counts = _store_rows(model, key, plan)
    if plan.end == "failed":
        cycle.failure_reason = plan.reason
        return end_cycle(model, key, "FAILED", plan, counts)
    if plan.end == "complete":
        cycle.is_complete = int(not cycle.has_gap and not _is_short(cycle, plan.tolerance))
        cycle.continuation_cursor = None
        return end_cycle(model, key, "SUCCESS", plan, counts)
    cycle.continuation_cursor = NEXT_CURSOR
    if plan.limit is not None:
        cycle.budget_exhausted_reason = plan.limit
        return end_cycle(model, key, "BUDGET_EXHAUSTED", plan, counts)
    cycle.cycle_status = "PENDING"
    cycle.next_eligible_at = model.now + timedelta(seconds=plan.pause or 0)
    cycle.lease_token = cycle.lease_until = None
    _add_slice(model, token, cycle, plan, counts)
    return None


def end_cycle(
    model: "QueueModel",
    key: CycleKey,
    status: str,
    plan: SlicePlan | None = None,
    counts: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """R30: the terminal transition and everything that belongs to it; R12: it is the last one.

    ``plan`` is ``None`` where no worker held a lease.
    """
    cycle = model.cycles[key]
    token = cycle.lease_token
    cycle.cycle_status, cycle.finished_at = status, model.now
    cycle.lease_token = cycle.lease_until = cycle.next_eligible_at = None
    if status == "SUCCESS" and cycle.is_complete and cycle.fetched_count > 0:
        _apply_delta(model, key)
    cycle.seen.clear()
    if key not in model.runs:
        model.runs[key] = {
            "run_status": "FAILED" if status == "FAILED" else "SUCCESS",
            **{name: getattr(cycle, name) for name in RUN_COUNTERS},
        }
    _judge_health(model, key)
    if token is not None and plan is not None:
        _add_slice(model, token, cycle, plan, counts)


def _store_rows(model: "QueueModel", key: CycleKey, plan: SlicePlan) -> tuple[int, int, int]:
    """R20, R22, R32, R34a: sightings, changes, details; (new to the cycle, new, changed)."""
    source_id, day = key
    cycle, waiting = model.cycles[key], model.sources[source_id].has_details
    new_to_cycle = new = updated = 0
    for row in plan.rows:
        known = model.postings.get((source_id, row.id))
        state = "PENDING" if waiting else "NONE"
        if known is None:
            new += 1
            known = PostingRow(row.title, row.signature, state, day, day, model.now)
            model.postings[source_id, row.id] = known
        elif known.list_signature != row.signature:
            is_changed = known.list_signature.split(":")[0] == row.signature.split(":")[0]
            updated += is_changed
            known.detail_state = state if is_changed else known.detail_state
            known.list_signature, known.title = row.signature, row.title
            known.updated_at = model.now
        if known.last_seen_run_date <= day:
            known.last_seen_run_date = day
            known.status, known.missed_count, known.closed_at = "OPEN", 0, None
        new_to_cycle += row.id not in cycle.seen
        cycle.seen.setdefault(row.id, 0)
    for tried, result in plan.details:
        cycle.seen[tried] = 1
        posting, found = model.postings[source_id, tried], DETAIL_RESULTS[result]
        if found is not None:
            posting.detail_state, posting.updated_at = found, model.now
    _count(cycle, plan, (new_to_cycle, new, updated))
    return new_to_cycle, new, updated


def _count(cycle: CycleRow, plan: SlicePlan, counts: tuple[int, int, int]) -> None:
    cycle.attempt_count += plan.pages + len(plan.details) > 0
    cycle.list_page_count += plan.pages
    cycle.detail_request_count += len(plan.details)
    cycle.detail_failure_count += _failures(plan)
    cycle.fetched_count += counts[0]
    cycle.new_count += counts[1]
    cycle.updated_count += counts[2]
    cycle.stated_total = cycle.stated_total if plan.total is None else plan.total
    cycle.has_gap = cycle.has_gap or plan.gap


def _failures(plan: SlicePlan) -> int:
    return sum(result == "failed" for _, result in plan.details)


def _is_short(cycle: CycleRow, tolerance: float) -> bool:
    """R23a: short of the stated total by more than 3 and more than the platform's share."""
    if cycle.stated_total is None:
        return False
    lacking = cycle.stated_total - cycle.fetched_count
    return lacking > 3 and lacking > floor(cycle.stated_total * tolerance)


def _apply_delta(model: "QueueModel", key: CycleKey) -> None:
    """R7, R17: what a safe cycle did not see and nobody has seen since."""
    source_id, day = key
    cycle = model.cycles[key]
    for (owner, job_id), posting in model.postings.items():
        is_unseen = owner == source_id and job_id not in cycle.seen
        if not is_unseen or posting.status == "CLOSED" or posting.last_seen_run_date > day:
            continue
        posting.missed_count += 1
        if posting.missed_count >= CLOSE_AFTER:
            posting.status, posting.closed_at = "CLOSED", model.now
            cycle.closed_count += 1
        else:
            posting.status = "MISSED"
            cycle.missed_count += 1


def _judge_health(model: "QueueModel", key: CycleKey) -> None:
    """R33: an abnormal day counts, a good one resets, other ends and older dates say nothing."""
    source_id, day = key
    cycle = model.cycles[key]
    health = model.health.setdefault(source_id, HealthRow())
    is_success = cycle.cycle_status == "SUCCESS" and cycle.is_complete
    is_bad = cycle.cycle_status == "FAILED" or (is_success and cycle.fetched_count == 0)
    is_news = health.judged_date is None or health.judged_date < day
    if not is_news or not (is_bad or is_success):
        return
    health.judged_date = day
    health.abnormal_days = health.abnormal_days + 1 if is_bad else 0
    if health.abnormal_days == BROKEN_AFTER:
        health.broken_since = day
    elif health.abnormal_days == 0:
        health.broken_since = None


def _add_slice(
    model: "QueueModel", token: str, cycle: CycleRow, plan: SlicePlan, counts: tuple[int, int, int]
) -> None:
    """R19a: the one row of an attempt."""
    model.slices[token] = {
        "outcome": cycle.cycle_status,
        "reason": cycle.failure_reason or cycle.budget_exhausted_reason,
        "list_page_count": plan.pages,
        "fetched_count": counts[0],
        "new_count": counts[1],
        "updated_count": counts[2],
        "detail_request_count": len(plan.details),
        "detail_failure_count": _failures(plan),
        "created_at": model.now,
    }

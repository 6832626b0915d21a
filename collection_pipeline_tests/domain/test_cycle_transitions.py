"""What each transition of a cycle writes, and when it is refused (R1 to R14, R19 to R21)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle import IllegalTransition, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import Failed, Fetched
from collection_pipeline_tests.kit.cycle_cases import (
    FAILURE,
    LATER,
    NEXT,
    NOW,
    TOKEN,
    Cycle,
    cycle_in,
    slice_complete,
    slice_end,
    slice_exhausted,
    work,
)

RUNNING = CycleStatus.RUNNING


def test_a_prepared_cycle_is_due_at_once_and_knows_its_host() -> None:
    """R1."""
    prepared = cycle_in(CycleStatus.NOT_STARTED).prepare("jobs.example", NOW)
    assert (prepared.request_host, prepared.next_eligible_at) == ("jobs.example", NOW)
    assert prepared.attempt_count == 2


def test_a_rejected_cycle_keeps_its_reason_and_counts_no_attempt() -> None:
    """R2: CONFIG, no request."""
    failure = CollectionFailure(CollectionFailureReason.CONFIG, "query is ignored")
    rejected = cycle_in(CycleStatus.NOT_STARTED).reject(failure, NOW)
    assert rejected.failure_reason is CollectionFailureReason.CONFIG
    assert rejected.failure_detail == "query is ignored"
    assert (rejected.attempt_count, rejected.finished_at) == (2, NOW)


def test_a_claim_leases_the_cycle_with_its_own_token() -> None:
    """R5."""
    claimed = cycle_in(CycleStatus.PENDING).claim("fresh", "host:1", LATER, NOW)
    assert (claimed.lease_token, claimed.lease_owner, claimed.lease_until) == (
        "fresh",
        "host:1",
        LATER,
    )


def test_the_first_claim_starts_the_cycle_and_later_ones_do_not() -> None:
    """R5: ``started_at`` is the first claim's."""
    pending = replace(cycle_in(CycleStatus.PENDING), started_at=None)
    first = pending.claim("one", "worker", LATER, NOW)
    assert first.started_at == NOW
    again = slice_end(replace(first, lease_token=TOKEN)).claim("two", "worker", LATER, LATER)
    assert again.started_at == NOW


@pytest.mark.parametrize(
    ("due", "is_claimed"),
    [
        (NOW - timedelta(microseconds=1), True),
        (NOW, True),
        (NOW + timedelta(microseconds=1), False),
    ],
)
def test_a_cycle_is_claimed_only_when_due(due: datetime, is_claimed: bool) -> None:
    """R5, R26."""
    pending = replace(cycle_in(CycleStatus.PENDING), next_eligible_at=due)
    if is_claimed:
        assert pending.claim("fresh", "worker", LATER, NOW).status is CycleStatus.RUNNING
        return
    with pytest.raises(IllegalTransition):
        pending.claim("fresh", "worker", LATER, NOW)


def test_a_slice_with_more_to_do_goes_to_the_back_of_the_queue() -> None:
    """R6: cursor and counters kept, due now, without a lease."""
    outcome = Fetched(work(3, details=2, failures=1, total=400), NEXT, False)
    ended = cycle_in(RUNNING).record_slice(outcome, StoredCounts(40, 30, 9), TOKEN, NOW)
    assert ended.status is CycleStatus.PENDING
    assert (ended.cursor, ended.next_eligible_at) == (NEXT.encoded(), NOW)
    assert (ended.lease_token, ended.lease_until, ended.lease_owner) == (None, None, None)
    assert ended.consumed == BudgetUse(7, 190, 8)
    assert (ended.new_count, ended.updated_count, ended.detail_failure_count) == (40, 14, 2)
    assert (ended.stated_total, ended.attempt_count, ended.finished_at) == (400, 3, None)


def test_a_paused_slice_is_due_when_its_host_is_free_again() -> None:
    """R6, R26."""
    outcome = Fetched(work(), NEXT, False, resume_at=LATER)
    assert cycle_in(RUNNING).record_slice(outcome, StoredCounts(), TOKEN, NOW).next_eligible_at == (
        LATER
    )


def test_a_slice_that_read_nothing_keeps_cursor_total_and_progress() -> None:
    """R6a, R20: an attempt is a slice that sent a request."""
    before = replace(cycle_in(RUNNING), stated_total=300, progress=CollectionProgress(rows_read=9))
    ended = before.record_slice(
        Fetched(work(0), None, False, resume_at=LATER), StoredCounts(), TOKEN, NOW
    )
    assert (ended.cursor, ended.stated_total) == (before.cursor, 300)
    assert (ended.progress, ended.attempt_count) == (before.progress, before.attempt_count)


def test_a_detail_request_alone_makes_an_attempt() -> None:
    """R20, R22: slices of details only are attempts too."""
    outcome = Fetched(work(0, details=1), Cursor(None), False)
    ended = cycle_in(RUNNING).record_slice(outcome, StoredCounts(), TOKEN, NOW)
    assert ended.attempt_count == 3


def test_success_is_complete_and_without_cursor_or_lease() -> None:
    """R7."""
    ended = slice_complete(cycle_in(RUNNING))
    assert (ended.is_complete, ended.cursor, ended.finished_at) == (True, None, NOW)
    assert (ended.lease_token, ended.lease_until, ended.next_eligible_at) == (None, None, None)
    assert ended.is_safe_to_apply_missed_delta


def test_success_with_nothing_fetched_may_not_close() -> None:
    """R8."""
    ended = slice_complete(replace(cycle_in(RUNNING), fetched_count=0))
    assert (ended.status, ended.is_complete) == (CycleStatus.SUCCESS, True)
    assert not ended.is_safe_to_apply_missed_delta


def test_budget_exhaustion_names_its_limit_keeps_the_cursor_and_may_not_close() -> None:
    """R9."""
    ended = slice_exhausted(cycle_in(RUNNING))
    assert ended.budget_exhausted_reason is CollectionBudgetLimit.LIST_PAGES
    assert (ended.cursor, ended.is_complete) == (NEXT.encoded(), False)
    assert (ended.failure_reason, ended.failure_detail, ended.lease_token) == (None, None, None)
    assert not ended.is_safe_to_apply_missed_delta


def test_a_failed_slice_keeps_what_it_counted_before() -> None:
    """R10, R19: the counters of the earlier pages stay, nothing may close."""
    outcome = Failed(work(3, details=1), FAILURE)
    ended = cycle_in(RUNNING).record_slice(outcome, StoredCounts(20, 15, 2), TOKEN, NOW)
    assert (ended.failure_reason, ended.failure_detail) == (FAILURE.reason, FAILURE.detail)
    assert ended.consumed == BudgetUse(7, 170, 7)
    assert not ended.is_safe_to_apply_missed_delta
    assert not ended.is_complete


def test_complete_comes_before_a_used_up_budget() -> None:
    """R21 and the order of outcomes in one slice."""
    outcome = Fetched(work(), None, True, CollectionBudgetLimit.LIST_PAGES)
    ended = cycle_in(RUNNING).record_slice(outcome, StoredCounts(), TOKEN, NOW)
    assert (ended.status, ended.budget_exhausted_reason) == (CycleStatus.SUCCESS, None)


def test_a_used_up_budget_comes_before_the_end_of_the_slice() -> None:
    """R9 before R6, also when the host asked for a pause."""
    outcome = Fetched(work(), NEXT, False, CollectionBudgetLimit.POSTINGS, resume_at=LATER)
    ended = cycle_in(RUNNING).record_slice(outcome, StoredCounts(), TOKEN, NOW)
    assert ended.status is CycleStatus.BUDGET_EXHAUSTED
    assert ended.next_eligible_at is None


WRITES: dict[str, Callable[[Cycle, str, datetime], Cycle]] = {
    "renew": lambda cycle, token, now: cycle.renew_lease(token, LATER, now),
    "record": lambda cycle, token, now: cycle.record_slice(
        Fetched(work(), NEXT, False), StoredCounts(), token, now
    ),
    "fail": lambda cycle, token, now: cycle.fail(FAILURE, token, now),
}


@pytest.mark.parametrize("write", sorted(WRITES))
@pytest.mark.parametrize(
    ("token", "now"),
    [("other", NOW), (TOKEN, LATER), (TOKEN, LATER + timedelta(seconds=1))],
)
def test_no_write_without_the_live_lease(write: str, token: str, now: datetime) -> None:
    """R14: another token, or a lease at or past its end."""
    with pytest.raises(IllegalTransition):
        WRITES[write](cycle_in(RUNNING), token, now)
    written = WRITES[write](cycle_in(RUNNING), TOKEN, LATER - timedelta(microseconds=1))
    assert written.id == 7


def test_a_lease_never_gets_shorter() -> None:
    """R14, I2."""
    renewed = cycle_in(RUNNING).renew_lease(TOKEN, NOW + timedelta(seconds=1), NOW)
    assert renewed.lease_until == LATER
    longer = LATER + timedelta(seconds=60)
    assert cycle_in(RUNNING).renew_lease(TOKEN, longer, NOW).lease_until == longer


def test_only_an_expired_lease_is_recovered() -> None:
    """R11: at its end the lease is over for the worker and for recovery alike."""
    with pytest.raises(IllegalTransition):
        cycle_in(RUNNING).recover_expired(LATER - timedelta(microseconds=1))
    recovered = cycle_in(RUNNING).recover_expired(LATER)
    assert recovered.failure_reason is CollectionFailureReason.LEASE_EXPIRED
    assert "worker" in (recovered.failure_detail or "")
    assert (recovered.lease_token, recovered.lease_until) == (None, None)


def test_a_stale_result_is_refused_after_recovery() -> None:
    """R11, R14: the token is void."""
    recovered = cycle_in(RUNNING).recover_expired(LATER)
    with pytest.raises(IllegalTransition):
        slice_complete(recovered)


def test_a_failure_detail_is_short() -> None:
    """R10: a short redacted detail."""
    assert len(CollectionFailure(CollectionFailureReason.INTERNAL, "x" * 999).detail) == 300

"""A slice that may send nothing more keeps what it has and goes on later (R6a, R18, R26, R27)."""

from datetime import datetime

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit as Limit
from collection_pipeline.domain.slices import Fetched
from collection_pipeline.platforms.wire.executor import Paused, Stopped
from collection_pipeline_tests.kit.scripted_cycle import NOW, ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedExecutor,
    ScriptedPlatform,
    at,
    pages_of,
)

FREE_AT = datetime(2026, 12, 1, 4, 0)
PAGES = pages_of("a b c", "d e f")
ALL_REQUESTS = ["page 0", "page 1", *(f"detail {job_id}" for job_id in "abcdef")]


def paused_at(name: str) -> ScriptedCycle:
    """A cycle whose host asks for a pause when ``name`` is asked for."""
    return ScriptedCycle(ScriptedPlatform(PAGES), ScriptedExecutor({name: Paused(FREE_AT)}))


@pytest.mark.parametrize("name", ALL_REQUESTS)
def test_a_pause_ends_the_slice_and_the_cycle_is_due_when_the_host_is_free(name: str) -> None:
    """R26: nothing is sent or counted for it, and nothing after it."""
    cycle = paused_at(name)
    outcome = cycle.run_slice()
    before = ALL_REQUESTS[: ALL_REQUESTS.index(name)]
    assert cycle.executor.sent == before
    assert cycle.executor.refused == [name]
    assert isinstance(outcome, Fetched)
    assert outcome.resume_at == FREE_AT
    assert (cycle.cycle.status, cycle.cycle.next_eligible_at) == (CycleStatus.PENDING, FREE_AT)
    assert outcome.work.requests_sent == len(before)


@pytest.mark.parametrize("name", ALL_REQUESTS)
def test_a_paused_cycle_goes_on_without_asking_anything_twice(name: str) -> None:
    """R26, R18: exempt from R23, no page and no detail twice."""
    cycle = paused_at(name)
    cycle.run_slice()
    cycle.run_slice()
    cycle.executor.answers.clear()
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert cycle.executor.sent == ALL_REQUESTS


def test_a_pause_before_the_first_request_makes_no_attempt() -> None:
    """R20, R26: attempt_count is slices that sent a request."""
    cycle = paused_at("page 0")
    outcome = cycle.run_slice()
    assert isinstance(outcome, Fetched)
    assert outcome.next_cursor == Cursor(at(0))
    assert cycle.cycle.attempt_count == 0


@pytest.mark.parametrize("sent", range(len(ALL_REQUESTS)))
def test_a_stopped_slice_keeps_what_it_fetched_and_the_next_goes_on(sent: int) -> None:
    """R18, R27: after any number of requests; due at once; nothing lost, nothing twice."""
    executor = ScriptedExecutor(most_requests=sent)
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), executor)
    outcome = cycle.run_slice()
    assert isinstance(outcome, Fetched)
    assert (outcome.is_complete, outcome.exhausted, outcome.resume_at) == (False, None, None)
    assert (cycle.cycle.status, cycle.cycle.next_eligible_at) == (CycleStatus.PENDING, NOW)
    assert len(cycle.store.seen) == 3 * min(2, sent)
    assert len(executor.refused) == 1
    executor.most_requests = None
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert executor.sent == ALL_REQUESTS


def test_a_slice_stopped_after_its_last_request_is_a_success() -> None:
    """R6a: "SUCCESS if that was the end"."""
    executor = ScriptedExecutor(most_requests=len(ALL_REQUESTS))
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), executor)
    cycle.run_slice()
    assert cycle.cycle.status is CycleStatus.SUCCESS
    assert executor.refused == []


def test_a_stopped_list_asks_for_no_details() -> None:
    """R17, R27: no new request of any kind."""
    executor = ScriptedExecutor({"page 1": Stopped("the run date is over")})
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), executor)
    outcome = cycle.run_slice()
    assert executor.sent == ["page 0"]
    assert executor.refused == ["page 1"]
    assert isinstance(outcome, Fetched)
    assert outcome.next_cursor == Cursor(at(1))


def test_stopped_details_of_a_used_up_day_are_still_exhausted() -> None:
    """R9: the stop does not turn a used-up budget into more work."""
    executor = ScriptedExecutor({"detail b": Stopped("asked to stop")})
    cycle = ScriptedCycle(
        ScriptedPlatform(PAGES), executor, daily_budget=CollectionBudget(1, 100, 100)
    )
    assert cycle.run_to_end() is CycleStatus.BUDGET_EXHAUSTED
    assert cycle.cycle.budget_exhausted_reason is Limit.LIST_PAGES


def test_what_the_executor_measured_goes_with_the_slice() -> None:
    """R19a, R45: seconds waited, least interval, 429s; also of a failed slice."""
    executor = ScriptedExecutor()
    executor.statistics.seconds_waited = 7.5
    executor.statistics.rate_limited_count = 2
    executor.statistics.least_interval_seconds = 1.01
    outcome = ScriptedCycle(ScriptedPlatform(PAGES), executor).run_slice()
    work = outcome.work
    assert (work.seconds_waited, work.rate_limited_count, work.least_interval_seconds) == (
        7.5,
        2,
        1.01,
    )

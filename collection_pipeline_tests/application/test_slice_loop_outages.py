"""The database goes away while a slice is at work: what was fetched is kept (R19a)."""

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.domain.slices import Fetched
from collection_pipeline.platforms.contract import ListPage, PlatformRequest, RequestPolicy
from collection_pipeline.platforms.wire.executor import RequestOutcome
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import (
    ScriptedExecutor,
    ScriptedPlatform,
    at,
    listed,
    pages_of,
)

PAGES = pages_of("a b c", "d e f")
ALL_REQUESTS = ["page 0", "page 1", *(f"detail {job_id}" for job_id in "abcdef")]


class AwayExecutor(ScriptedExecutor):
    """Its throttle and permit cannot reach the database when ``away_at`` is asked for."""

    away_at: str | None = None

    def execute(
        self, request: PlatformRequest, policy: RequestPolicy, delay_seconds: float
    ) -> RequestOutcome:
        """Raises instead of sending."""
        if request.path.strip("/").replace("/", " ") == self.away_at:
            raise DatabaseUnavailable("away")
        return super().execute(request, policy, delay_seconds)


@pytest.mark.parametrize("name", ALL_REQUESTS)
def test_an_outage_before_a_request_ends_the_slice_with_what_it_has(name: str) -> None:
    """R19a, R18: nothing is lost, nothing is asked twice."""
    executor = AwayExecutor()
    executor.away_at = name
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), executor)
    outcome = cycle.run_slice()
    before = ALL_REQUESTS[: ALL_REQUESTS.index(name)]
    assert isinstance(outcome, Fetched)
    assert outcome.work.requests_sent == len(before)
    assert cycle.cycle.status is CycleStatus.PENDING
    executor.away_at = None
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert executor.sent == ALL_REQUESTS


@pytest.mark.parametrize("look_up", ["known_postings", "resolve_companies"])
@pytest.mark.parametrize("page", [0, 1])
def test_a_page_that_was_read_is_kept_though_its_look_up_fails(
    monkeypatch: pytest.MonkeyPatch, look_up: str, page: int
) -> None:
    """R20: no page is read twice, and every row of a page that was read is kept."""
    pages = [
        ListPage([listed("a", company="Gaon"), listed("b"), listed("c")], at(1)),
        ListPage([listed("d", company="Naru"), listed("e"), listed("f")], None),
    ]
    cycle = ScriptedCycle(ScriptedPlatform(pages, has_details=False))
    answer = getattr(cycle.store, look_up)
    calls: list[object] = []

    def failing(names: object) -> object:
        calls.append(names)
        if len(calls) > page:
            raise DatabaseUnavailable("away")
        return answer(names)

    with monkeypatch.context() as away:
        away.setattr(type(cycle.store), look_up, lambda _store, names: failing(names))
        outcome = cycle.run_slice()
    assert len(calls) == page + 1
    assert cycle.executor.pages == list(range(page + 1))
    assert len(outcome.work.postings) == 3 * (page + 1)
    ended = CycleStatus.PENDING if page == 0 else CycleStatus.SUCCESS
    assert cycle.cycle.status is ended
    if page == 0:
        assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert cycle.executor.pages == [0, 1]
    assert set(cycle.store.postings) == set("abcdef")


def test_a_backlog_that_cannot_be_read_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """R22: whether a detail is left is not known, so another slice asks."""
    cycle = ScriptedCycle(ScriptedPlatform(PAGES), ScriptedExecutor(most_requests=2))
    cycle.run_slice()
    cycle.executor.most_requests = None

    def failing(_store: object, _limit: int) -> object:
        raise DatabaseUnavailable("away")

    with monkeypatch.context() as away:
        away.setattr(type(cycle.store), "waiting_details", failing)
        cycle.run_slice()
    assert cycle.cycle.status is CycleStatus.PENDING
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert cycle.executor.details == list("abcdef")

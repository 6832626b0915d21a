"""Any history of a cycle keeps its invariants (R5 to R14, R20, I2)."""

from datetime import date, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from collection_pipeline.domain.budget import CollectionBudget, RemainingBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.cycle import (
    IllegalTransition,
    JobPostingCollectionCycle,
    StoredCounts,
)
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import (
    CollectionBudgetLimit,
    CollectionFailure,
    CollectionFailureReason,
)
from collection_pipeline.domain.slices import Failed, Fetched, SliceWork

BUDGET = CollectionBudget(12, 60, 9)
LEASE = timedelta(seconds=600)
FAILURE = CollectionFailure(CollectionFailureReason.TIMEOUT, "no answer in 30 s")
COUNTERS = (
    "attempt_count",
    "list_page_count",
    "fetched_count",
    "new_count",
    "updated_count",
    "detail_request_count",
    "detail_failure_count",
)
endings = st.sampled_from(["more", "paused", "complete", "exhausted", "failed"])


class CycleMachine(RuleBasedStateMachine):
    """Workers claim, renew, store honest slices, go stale; recovery sweeps; time moves on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 11, 30, 15, 0)
        self.cycle = JobPostingCollectionCycle(id=1, job_source_id=1, run_date=date(2026, 12, 1))
        self.tokens: list[str] = []
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.ended: JobPostingCollectionCycle | None = None

    def _try(self, after: JobPostingCollectionCycle) -> None:
        self.cycle = after
        if after.status.is_terminal and self.ended is None:
            self.ended = after

    @rule(seconds=st.integers(0, 900))
    def time_passes(self, seconds: int) -> None:
        """The database's clock only goes forward."""
        self.now += timedelta(seconds=seconds)

    @rule()
    def prepare(self) -> None:
        """R1."""
        if self.cycle.status is CycleStatus.NOT_STARTED:
            self._try(self.cycle.prepare("jobs.example", self.now))
        else:
            self._is_refused(lambda: self.cycle.prepare("jobs.example", self.now))

    @rule()
    def claim(self) -> None:
        """R5: a fresh token each time."""
        token = f"token-{len(self.tokens)}"
        due = self.cycle.next_eligible_at
        if self.cycle.status is CycleStatus.PENDING and due is not None and due <= self.now:
            self.tokens.append(token)
            self._try(self.cycle.claim(token, "worker", self.now + LEASE, self.now))
        else:
            self._is_refused(lambda: self.cycle.claim(token, "worker", self.now + LEASE, self.now))

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """R14: any worker that ever held a lease tries."""
        token = data.draw(st.sampled_from(self.tokens))
        if self._holds(token):
            self._try(self.cycle.renew_lease(token, self.now + LEASE, self.now))
        else:
            self._is_refused(lambda: self.cycle.renew_lease(token, self.now + LEASE, self.now))

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), ending=endings)
    def store_a_slice(self, data: st.DataObject, ending: str) -> None:
        """R6 to R10, R14: honest work, within what is left; stale workers try too."""
        token = data.draw(st.sampled_from(self.tokens))
        left = RemainingBudget.of(BUDGET, self.cycle.consumed)
        pages = data.draw(st.integers(0, left.list_pages))
        fetched = data.draw(st.integers(0, left.postings)) if pages else 0
        details = data.draw(st.integers(0, left.detail_requests))
        work = SliceWork(
            list_page_count=pages,
            detail_request_count=details,
            detail_failure_count=data.draw(st.integers(0, details)),
        )
        new = data.draw(st.integers(0, fetched))
        counts = StoredCounts(fetched, new, fetched - new)
        outcome = self._outcome(ending, work)
        if self._holds(token):
            self._try(self.cycle.record_slice(outcome, counts, token, self.now))
        else:
            self._is_refused(lambda: self.cycle.record_slice(outcome, counts, token, self.now))

    @rule()
    def recover(self) -> None:
        """R11."""
        until = self.cycle.lease_until
        if until is not None and until <= self.now:
            self._try(self.cycle.recover_expired(self.now))
            assert self.cycle.failure_reason is CollectionFailureReason.LEASE_EXPIRED
        else:
            self._is_refused(lambda: self.cycle.recover_expired(self.now))

    @invariant()
    def budgets_are_never_exceeded(self) -> None:
        """R20."""
        used = self.cycle.consumed
        assert used.list_pages <= BUDGET.list_pages
        assert used.postings <= BUDGET.postings
        assert used.detail_requests <= BUDGET.detail_requests

    @invariant()
    def counters_only_grow(self) -> None:
        """R19, R20: no end of a slice takes anything back."""
        counters = {name: getattr(self.cycle, name) for name in COUNTERS}
        assert all(counters[name] >= self.counters[name] for name in COUNTERS)
        assert counters["attempt_count"] <= len(self.tokens)
        self.counters = counters

    @invariant()
    def terminal_is_final(self) -> None:
        """R12: once ended, the cycle is the very value it ended with."""
        if self.ended is not None:
            assert self.cycle == self.ended
            assert self.cycle.finished_at is not None

    @invariant()
    def a_lease_exists_exactly_while_running(self) -> None:
        """I2, R14: token, end and owner together, and only then."""
        lease = (self.cycle.lease_token, self.cycle.lease_until, self.cycle.lease_owner)
        is_running = self.cycle.status is CycleStatus.RUNNING
        assert [part is not None for part in lease] == [is_running] * 3

    @invariant()
    def only_a_waiting_or_leased_cycle_is_eligible(self) -> None:
        """R5, R12: a terminal cycle has no due time, a PENDING one always has."""
        if self.cycle.status is CycleStatus.PENDING:
            assert self.cycle.next_eligible_at is not None
        if self.cycle.status.is_terminal or self.cycle.status is CycleStatus.NOT_STARTED:
            assert self.cycle.next_eligible_at is None

    @invariant()
    def each_end_has_its_own_traces(self) -> None:
        """R7 to R11: reasons belong to their states."""
        status = self.cycle.status
        assert (self.cycle.failure_reason is not None) == (status is CycleStatus.FAILED)
        exhausted = self.cycle.budget_exhausted_reason is not None
        assert exhausted == (status is CycleStatus.BUDGET_EXHAUSTED)
        assert not self.cycle.is_complete or status is CycleStatus.SUCCESS

    def _holds(self, token: str) -> bool:
        until = self.cycle.lease_until
        return token == self.cycle.lease_token and until is not None and until > self.now

    def _is_refused(self, event: object) -> None:
        assert callable(event)
        try:
            event()
        except IllegalTransition:
            return
        raise AssertionError("the state table has no entry for this event")

    def _outcome(self, ending: str, work: SliceWork) -> Fetched | Failed:
        following = Cursor({"offset": self.counters["list_page_count"]})
        match ending:
            case "failed":
                return Failed(work, FAILURE)
            case "complete":
                return Fetched(work, None, True)
            case "exhausted":
                return Fetched(work, following, False, CollectionBudgetLimit.LIST_PAGES)
            case "paused":
                return Fetched(work, following, False, resume_at=self.now + LEASE)
            case _:
                return Fetched(work, following, False)


TestCycleMachine = CycleMachine.TestCase
TestCycleMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

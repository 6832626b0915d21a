"""Generated days for the slice loop, and an oracle that walks their pages by arithmetic.

The oracle knows nothing of slices, cursors or executors, so that it cannot share their faults.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.posting import (
    DetailState,
    GonePosting,
    ListedPosting,
    PostingDetail,
)
from collection_pipeline.domain.source import Condition, DetailMode
from collection_pipeline.platforms.contract import (
    ListPage,
    PlatformReply,
    Position,
    RequestFailed,
)
from collection_pipeline_tests.kit.scripted_cycle import (
    ScriptedCycle,
    ScriptedStore,
    StoredPosting,
)
from collection_pipeline_tests.kit.scripted_platform import (
    CataloguePlatform,
    ScriptedExecutor,
    failed,
    listed,
    rows_of,
)


@dataclass(frozen=True)
class Plan:
    """One generated day. ``interruptions``: requests that the n-th slices may send."""

    rows: int
    size: int
    size_is_fixed: bool
    states_total: bool
    ends_empty: bool
    whole_board: bool
    has_details: bool
    mode: DetailMode
    slice_budget: CollectionBudget
    daily_budget: CollectionBudget
    known: frozenset[int]
    bad_details: frozenset[int]
    refused_detail: int | None
    failing_offset: int | None
    interruptions: list[int]


@dataclass
class Expected:
    """What the list part must come to."""

    status: CycleStatus
    reason: str | None = None
    offsets: list[int] = field(default_factory=list)
    fetched: int = 0


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Small worlds around their own limits."""
    size = draw(st.integers(1, 6))
    is_fixed = draw(st.booleans())
    rows = draw(st.integers(0, 30))
    numbers = st.frozensets(st.integers(0, 29), max_size=8)
    return Plan(
        rows=rows,
        size=size,
        size_is_fixed=is_fixed,
        states_total=draw(st.booleans()),
        ends_empty=draw(st.booleans()),
        whole_board=draw(st.integers(0, 4)) == 0,
        has_details=draw(st.booleans()),
        mode=draw(st.sampled_from(DetailMode)),
        slice_budget=CollectionBudget(
            draw(st.integers(1, 4)),
            draw(st.integers(size if is_fixed else 1, 20)),
            draw(st.integers(1, 6)),
        ),
        daily_budget=CollectionBudget(
            draw(st.integers(1, 12)), draw(st.integers(1, 36)), draw(st.integers(1, 34))
        ),
        known=draw(numbers),
        bad_details=draw(numbers),
        refused_detail=draw(st.none() | st.integers(0, 29)),
        failing_offset=draw(st.none() | st.none() | st.integers(0, 30)),
        interruptions=draw(st.lists(st.integers(0, 4), max_size=6)),
    )


def job_id(number: int) -> str:
    """The id of a catalogue row."""
    return f"id{number:02}"


def expected_list(plan: Plan) -> Expected:
    """Walk the pages by arithmetic (R19 to R21)."""
    daily = plan.daily_budget
    size = plan.size
    if not plan.size_is_fixed:
        size = min(size, plan.slice_budget.postings, daily.postings)
    walk = Expected(CycleStatus.SUCCESS)
    offset = 0
    while True:
        rows = size
        if plan.states_total and walk.fetched:
            rows = min(size, max(0, plan.rows - offset))
        if len(walk.offsets) == daily.list_pages:
            return _exhausted(walk, "LIST_PAGES")
        if (1 if plan.whole_board else rows) > daily.postings - walk.fetched:
            return _exhausted(walk, "POSTINGS")
        walk.offsets.append(offset)
        if offset == plan.failing_offset:
            walk.status = CycleStatus.FAILED
            return walk
        end = plan.rows if plan.whole_board else min(plan.rows, offset + size)
        found = max(0, end - offset)
        walk.fetched += found
        if plan.whole_board and walk.fetched > daily.postings:
            walk.fetched = daily.postings
            return _exhausted(walk, "POSTINGS")
        offset = end if plan.whole_board else offset + size
        if found == 0 if plan.ends_empty else offset >= plan.rows:
            return walk
        if plan.ends_empty and offset >= plan.rows and len(walk.offsets) == daily.list_pages:
            return walk


def _exhausted(walk: Expected, reason: str) -> Expected:
    walk.status, walk.reason = CycleStatus.BUDGET_EXHAUSTED, reason
    return walk


def prepared(plan: Plan) -> ScriptedCycle:
    """The cycle of a plan; rows ``known`` were stored with their detail on an earlier day."""
    catalogue = rows_of(job_id(number) for number in range(plan.rows))
    refusal = RequestFailed(Reason.RATE_LIMITED, "HTTP 429", status=429)
    details: dict[str, PostingDetail | GonePosting | RequestFailed] = {
        job_id(number): RequestFailed(Reason.HTTP_5XX, "HTTP 500", status=500)
        if number % 2
        else GonePosting()
        for number in plan.bad_details
    }
    if plan.refused_detail is not None:
        details[job_id(plan.refused_detail)] = refusal
    platform = CataloguePlatform(
        details=details,
        size=plan.size,
        has_details=plan.has_details,
        whole_board=plan.whole_board,
        catalogue=catalogue,
        states_total=plan.states_total,
        ends_empty=plan.ends_empty,
        size_is_fixed=plan.size_is_fixed,
    )
    answers = (
        {}
        if plan.failing_offset is None
        else {f"page {plan.failing_offset}": failed(Reason.HTTP_5XX, status=500)}
    )
    state = DetailState.DONE if plan.has_details else DetailState.NONE
    known = {
        row.source_job_id: StoredPosting(row.signature, state)
        for number, row in enumerate(catalogue)
        if number in plan.known
    }
    return ScriptedCycle(
        platform,
        ScriptedExecutor(answers),
        slice_budget=plan.slice_budget,
        daily_budget=plan.daily_budget,
        detail_mode=plan.mode,
        store=ScriptedStore(postings=known),
    )


@dataclass
class ShiftingPlatform(CataloguePlatform):
    """New postings appear at the front before each page is read: ``shifts`` of them."""

    shifts: list[int] = field(default_factory=list)
    appeared: int = 0

    def read_page(self, condition: Condition, position: Position, reply: PlatformReply) -> ListPage:
        """The page of the list as it has become."""
        arriving = self.shifts.pop(0) if self.shifts else 0
        new: list[ListedPosting] = [
            listed(f"new{self.appeared + number}") for number in range(arriving)
        ]
        self.appeared += arriving
        self.catalogue = [*new, *self.catalogue]
        return super().read_page(condition, position, reply)

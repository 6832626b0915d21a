"""What the model of the queue holds: rows with the columns of the real tables, and slices.

Invariant: nothing here imports the project. A field is named like its column, so that a model's row
and a real one are compared by ``vars``; instants are naive UTC.
"""

from dataclasses import dataclass, field
from datetime import date, datetime

CycleKey = tuple[int, date]
"""Source and run date."""
PostingKey = tuple[int, str]
"""Source and the platform's id."""

TERMINAL = frozenset({"SUCCESS", "FAILED", "BUDGET_EXHAUSTED"})


@dataclass
class SourceRow:
    """``host``: where its platform would be asked. ``has_details``: its rows wait for details."""

    id: int
    label: str
    platform: str
    host: str
    is_aggregator: bool = False
    is_supported: bool = True
    is_well_configured: bool = True
    active: bool = True

    @property
    def has_details(self) -> bool:
        """The model's own choice: aggregators have them, boards do not."""
        return self.is_aggregator


@dataclass
class CycleRow:
    """The columns of a cycle; ``seen`` maps sighted ids to "its detail was tried"."""

    cycle_status: str = "NOT_STARTED"
    continuation_cursor: str | None = None
    lease_token: str | None = None
    lease_until: datetime | None = None
    next_eligible_at: datetime | None = None
    request_host: str | None = None
    attempt_count: int = 0
    list_page_count: int = 0
    fetched_count: int = 0
    new_count: int = 0
    updated_count: int = 0
    missed_count: int = 0
    closed_count: int = 0
    detail_request_count: int = 0
    detail_failure_count: int = 0
    is_complete: int = 0
    stated_total: int | None = None
    budget_exhausted_reason: str | None = None
    failure_reason: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    seen: dict[str, int] = field(default_factory=dict)
    has_gap: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether the state table has no way out of it (R12)."""
        return self.cycle_status in TERMINAL


@dataclass
class PostingRow:
    """The columns of a posting that a sighting, a detail or a delta may change."""

    title: str
    list_signature: str
    detail_state: str
    first_seen_run_date: date
    last_seen_run_date: date
    updated_at: datetime
    status: str = "OPEN"
    missed_count: int = 0
    closed_at: datetime | None = None


@dataclass
class HealthRow:
    """R33; a source that was never judged has these defaults."""

    abnormal_days: int = 0
    judged_date: date | None = None
    broken_since: date | None = None


@dataclass
class HeaderRow:
    """A day's snapshot header."""

    scheduled_at: datetime
    capture_status: str = "PENDING"
    captured_at: datetime | None = None


@dataclass(frozen=True)
class ListRow:
    """A row of a list page; ``signature`` is ``version:digest``, ``title`` is no part of it."""

    id: str
    signature: str
    title: str


@dataclass(frozen=True)
class SlicePlan:
    """What a worker brings home; ``end`` is one of ``ENDS``, ``details`` maps ids to their result.

    ``pause``: seconds for which the host asked. ``limit``: a daily budget that is used up, also in
    a slice that fails or completes.
    """

    end: str
    rows: tuple[ListRow, ...] = ()
    pages: int = 1
    details: tuple[tuple[str, str], ...] = ()
    total: int | None = None
    tolerance: float = 0.0
    gap: bool = False
    pause: int | None = None
    limit: str | None = None
    reason: str = "HTTP_5XX"


ENDS = ("more", "complete", "failed")
DETAIL_RESULTS = {"done": "DONE", "gone": "GONE", "failed": None}

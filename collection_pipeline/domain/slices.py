"""Between a slice's worker and a platform: what goes in, what comes out (R20 to R23)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Protocol

from collection_pipeline.domain.budget import BudgetUse, CollectionBudget
from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailure
from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp
from collection_pipeline.domain.posting import (
    DetailTarget,
    GonePosting,
    KnownPosting,
    ListedPosting,
    PostingDetail,
)
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.source import JobSource


class PostingLookup(Protocol):
    """Short reads that end before the next request is sent (R22a, R25)."""

    def known_postings(self, source_job_ids: Sequence[str]) -> Mapping[str, KnownPosting]:
        """Signature and detail state of the ids that are stored; unknown ids are absent."""

    def waiting_details(self, limit: int) -> list[DetailTarget]:
        """At most ``limit`` postings sighted by earlier slices of this cycle whose detail waits."""

    def resolve_companies(self, names: Sequence[str]) -> Mapping[str, int]:
        """Ids of the companies named on a page, found or registered; empty for company boards."""


@dataclass(frozen=True)
class CollectionSliceDescriptor:
    """Everything a platform needs to collect one slice, and nothing of how leases are kept."""

    source: JobSource
    run_date: date
    cursor: Cursor | None
    consumed: BudgetUse
    daily_budget: CollectionBudget
    slice_budget: CollectionBudget
    progress: CollectionProgress
    stated_total: int | None
    min_delay_seconds: float
    lookup: PostingLookup

    @property
    def job_source_id(self) -> int:
        """The source's id."""
        return self.source.id


@dataclass(frozen=True)
class SightedPosting:
    """A distinct list row of this slice; ``position`` counts rows of the cycle from 0."""

    listed: ListedPosting
    position: int
    known: KnownPosting | None
    wants_detail: bool

    @property
    def is_unchanged(self) -> bool:
        """Whether it is stored as it is listed; never so where nothing is known of it.

        Nobody but the holder of this source's lease writes its listed columns, so this holds until
        the slice is stored.
        """
        known = self.known
        return (
            known is not None
            and known.signature == self.listed.signature
            and not known.body_trimmed
        )

    @property
    def unparsed(self) -> tuple[str, ...]:
        """Fields that do not parse; of an unchanged row as noted when it was read."""
        if self.known is not None and self.is_unchanged:
            return self.known.unparsed
        return self.listed.unparsed


@dataclass(frozen=True)
class TriedDetail:
    """One detail request: stored, gone, or (``None``) failed. None of them is tried again today."""

    source_job_id: str
    result: PostingDetail | GonePosting | None


@dataclass
class SliceWork:
    """What a slice has fetched so far; it is stored also when the slice fails (R19)."""

    postings: list[SightedPosting] = field(default_factory=list)
    details: list[TriedDetail] = field(default_factory=list)
    company_ids: dict[str, int] = field(default_factory=dict)
    list_page_count: int = 0
    detail_request_count: int = 0
    detail_failure_count: int = 0
    new_to_cycle: int = 0
    progress: CollectionProgress | None = None
    stated_total: int | None = None
    drift: Counter[str] = field(default_factory=Counter)
    seconds_waited: float = 0.0
    least_interval_seconds: float | None = None
    rate_limited_count: int = 0

    @property
    def used(self) -> BudgetUse:
        """What this slice has spent."""
        return BudgetUse(self.list_page_count, self.new_to_cycle, self.detail_request_count)

    @property
    def requests_sent(self) -> int:
        """List and detail requests together, failed ones included."""
        return self.list_page_count + self.detail_request_count


@dataclass(frozen=True)
class Fetched:
    """The slice ended well.

    ``is_complete``: the list has ended and no detail is left to try (R22). Otherwise ``exhausted``
    names a daily limit that forbids going on, or the cycle continues at ``next_cursor``, not
    before ``resume_at`` (naive UTC) when the host asked for a pause (R26).
    ``total_tolerance`` is the share by which the platform's total may lie (R23a).
    """

    work: SliceWork
    next_cursor: Cursor | None
    is_complete: bool
    exhausted: CollectionBudgetLimit | None = None
    resume_at: datetime | None = None
    total_tolerance: float = 0.0

    @property
    def postings(self) -> list[SightedPosting]:
        """Distinct rows of this slice, in list order."""
        return self.work.postings

    @property
    def list_page_count(self) -> int:
        """List requests sent."""
        return self.work.list_page_count

    @property
    def detail_request_count(self) -> int:
        """Detail requests sent, failed ones included."""
        return self.work.detail_request_count

    @property
    def detail_failure_count(self) -> int:
        """Detail requests that failed."""
        return self.work.detail_failure_count


@dataclass(frozen=True)
class Failed:
    """A list request failed, or the descriptor was bad; ``work`` holds what came before (R19)."""

    work: SliceWork
    failure: CollectionFailure


SourceCollectionSliceOutcome = Fetched | Failed


class SlicePermit(Protocol):
    """Asked between requests: may this slice go on? (R17, R18, R27, and trust in the lease)"""

    def stop_reason(self) -> str | None:
        """Why nothing more may be sent, or ``None``; reads the database in a short transaction."""

    def seconds_left(self) -> float:
        """Seconds until the slice's end or the end of trust in its lease, whichever is first."""

    def wait(self, seconds: float) -> bool:
        """Wait for ``seconds``; False at once when the process is asked to stop (R18)."""


class JobSourceGateway(Protocol):
    """Reads one slice from a platform; writes nothing."""

    def collect_slice(
        self, descriptor: CollectionSliceDescriptor, permit: SlicePermit
    ) -> SourceCollectionSliceOutcome:
        """Collect until a budget, the permit, the list's end or a failure ends the slice."""


@dataclass(frozen=True)
class ThrottleSlot:
    """A reserved moment: seconds from now until the request may be sent.

    "Now" was read between the monotonic times ``read_between``, where the throttle can tell them.
    ``span``: the moment, and the one from which others may send (naive UTC).
    """

    wait_seconds: float
    read_between: tuple[float, float] | None = field(default=None, compare=False)
    span: tuple[datetime, datetime] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ThrottleRefusal:
    """Nothing was reserved: the host's next free moment, naive UTC, lies too far away (R26)."""

    not_before: datetime


class HostRequestThrottleGateway(Protocol):
    """The pace of one host over all processes (R26)."""

    def reserve(
        self,
        host: str,
        delay_seconds: float,
        longest_wait_seconds: float,
        quota: KeyQuota | None = None,
        missed: ThrottleSlot | None = None,
    ) -> ThrottleSlot | ThrottleRefusal | KeyQuotaUsedUp:
        """Reserve the host's next moment atomically, unless it lies beyond the longest wait.

        With ``quota`` the moment comes with one call of the key, or neither is taken (R20). A slot
        in which nothing was sent is handed back as ``missed``.
        """

    def hold_back(self, host: str, seconds: float) -> None:
        """Let nobody send to the host for ``seconds`` from now (a ``Retry-After``)."""

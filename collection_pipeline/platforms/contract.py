"""What an adapter knows of its platform, and nothing of budgets, leases or sockets (R20 to R28).

An adapter is pure: it makes requests from positions and turns replies into pages. The loop decides
whether a request may be sent and the executor sends it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from collection_pipeline.domain.failure import CollectionFailure, CollectionFailureReason
from collection_pipeline.domain.posting import GonePosting, ListedPosting, PostingDetail
from collection_pipeline.domain.source import Condition, Platform

Position = dict[str, str | int]
"""Where a list page begins, in the platform's own terms; JSON, it becomes the cursor."""


class InvalidCondition(ValueError):
    """A search condition that the platform does not know or silently ignores (R2, R23b).

    The message names the key and says what to write instead.
    """


class MissingCredential(ValueError):
    """The platform needs a key that is not configured; the message names the setting (R2)."""


class RequestFailed(Exception):
    """A request that did not bring the platform's answer; its text is redacted (R10, R29)."""

    def __init__(
        self,
        reason: CollectionFailureReason,
        detail: str,
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        self.failure = CollectionFailure(reason, detail)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class BadResponse(RequestFailed):
    """HTTP went well, but the body is not the platform's answer (BAD_RESPONSE)."""

    def __init__(self, detail: str) -> None:
        super().__init__(CollectionFailureReason.BAD_RESPONSE, detail)


@dataclass(frozen=True)
class PlatformRequest:
    """One GET. ``params`` keeps order and repeats; ``secret_params`` are sent but never shown.

    ``accepted_statuses`` are the HTTP statuses whose body the adapter reads by itself.
    """

    base_url: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    secret_params: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    accepted_statuses: frozenset[int] = frozenset({200})


@dataclass(frozen=True)
class RequestPolicy:
    """What may be sent to a platform and how much may come back (R28).

    ``path_pattern`` is a full-match regular expression; ``page_size_params`` maps the names of
    page-size parameters to their largest value.
    """

    path_pattern: str
    page_size_params: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PlatformReply:
    """A decoded answer: ``body`` within the size limit, header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ListPage:
    """A list page that was read.

    ``next_position`` is ``None`` at the end. ``refused_link`` says why the platform's next link
    must not be followed (POLICY); the page's rows are kept all the same (R20). ``stated_total`` is
    the platform's count of results on this page, if it states one. ``reaches_total`` is True when
    the rows up to here cover the stated total, although the platform's own end sign (an empty
    page) is still to come (R21).
    """

    rows: Sequence[ListedPosting]
    next_position: Position | None
    stated_total: int | None = None
    refused_link: str | None = None
    reaches_total: bool = False


class PlatformAdapter(Protocol):
    """One platform. Every method is pure and may raise ``InvalidCondition`` or ``BadResponse``."""

    platform: Platform
    policy: RequestPolicy
    has_details: bool
    whole_board: bool
    total_tolerance: float

    def check(self, condition: Condition) -> None:
        """Raise ``InvalidCondition`` or ``MissingCredential`` before anything is sent."""

    def base_url(self, condition: Condition) -> str:
        """Scheme, host and port for this condition, from the settings."""

    def first_position(self, condition: Condition, page_rows: int) -> Position:
        """The newest first page, with at most ``page_rows`` rows where the size can be chosen."""

    def page_rows(self, position: Position) -> int:
        """The most rows that the page at ``position`` can bring."""

    def rows_before(self, position: Position) -> int | None:
        """How many rows lie before ``position`` by the platform's own count, if it can tell."""

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """The request for the page at ``position``."""

    def read_page(self, condition: Condition, position: Position, reply: PlatformReply) -> ListPage:
        """The page in ``reply``; ``BadResponse`` for anything that is not the platform's list."""

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """The request for one posting's detail; only where ``has_details``."""

    def read_detail(
        self, condition: Condition, source_job_id: str, reply: PlatformReply
    ) -> PostingDetail | GonePosting:
        """The detail in ``reply``, or that the posting is gone."""


class RequestSender(Protocol):
    """Sends one request under the platform's policy; the executor in production."""

    def send(
        self, request: PlatformRequest, policy: RequestPolicy, deadline_seconds: float
    ) -> PlatformReply:
        """The reply, or ``RequestFailed``. Never retries, never follows a redirect."""

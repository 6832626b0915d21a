"""Why a cycle failed or ran out of budget: the closed vocabularies of the state table (R9, R10)."""

from dataclasses import dataclass
from enum import StrEnum

FAILURE_DETAIL_MAX_CHARS = 300


class CollectionFailureReason(StrEnum):
    """Why a cycle ended FAILED (spec section 4). Each travels with a short redacted detail."""

    CONFIG = "CONFIG"
    FORBIDDEN = "FORBIDDEN"
    RATE_LIMITED = "RATE_LIMITED"
    HTTP_3XX = "HTTP_3XX"
    HTTP_4XX = "HTTP_4XX"
    HTTP_5XX = "HTTP_5XX"
    TIMEOUT = "TIMEOUT"
    CONNECTION = "CONNECTION"
    POLICY = "POLICY"
    BAD_RESPONSE = "BAD_RESPONSE"
    QUOTA = "QUOTA"
    LEASE_EXPIRED = "LEASE_EXPIRED"
    INTERNAL = "INTERNAL"


class CollectionBudgetLimit(StrEnum):
    """Which daily budget ran out; declared in the order in which they are reported (R20)."""

    LIST_PAGES = "LIST_PAGES"
    POSTINGS = "POSTINGS"
    DETAIL_REQUESTS = "DETAIL_REQUESTS"
    KEY_QUOTA = "KEY_QUOTA"


@dataclass(frozen=True)
class CollectionFailure:
    """A failure with its redacted detail, cut to ``FAILURE_DETAIL_MAX_CHARS`` characters."""

    reason: CollectionFailureReason
    detail: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", self.detail[:FAILURE_DETAIL_MAX_CHARS])

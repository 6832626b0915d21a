"""How the closed vocabularies are said to a person in the morning: plain English, the code beside.

An unknown word (a newer release wrote the item) is shown as it is.
"""

from datetime import date, datetime

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit as Limit
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.kst import KST_OFFSET
from collection_pipeline.domain.notification import LABEL_MAX_CHARS, plain_text

FAILURES: dict[str, str] = {
    Reason.CONFIG: "its configuration is refused",
    Reason.FORBIDDEN: "the platform refuses us",
    Reason.RATE_LIMITED: "the platform asks us to slow down",
    Reason.HTTP_3XX: "the platform redirects elsewhere",
    Reason.HTTP_4XX: "the platform refuses the request",
    Reason.HTTP_5XX: "the platform has an error of its own",
    Reason.TIMEOUT: "the platform did not answer in time",
    Reason.CONNECTION: "the connection failed or broke off",
    Reason.POLICY: "the next request was not allowed by policy",
    Reason.BAD_RESPONSE: "the answer is not the platform's usual one",
    Reason.QUOTA: "the platform says that the quota is used up",
    Reason.LEASE_EXPIRED: "its worker died or hung",
    Reason.INTERNAL: "an error of this program",
}
LIMITS: dict[str, str] = {
    Limit.LIST_PAGES: "list pages",
    Limit.POSTINGS: "postings",
    Limit.DETAIL_REQUESTS: "detail requests",
    Limit.KEY_QUOTA: "the access key's requests",
}
STATES: dict[CycleStatus, str] = {
    CycleStatus.FAILED: "failed",
    CycleStatus.BUDGET_EXHAUSTED: "out of budget",
    CycleStatus.RUNNING: "running",
    CycleStatus.PENDING: "waiting",
    CycleStatus.NOT_STARTED: "not started",
    CycleStatus.SUCCESS: "done",
}


def failure_words(reason: str | None) -> str:
    """``failed: the platform has an error of its own (HTTP_5XX)``."""
    if not reason:
        return "failed"
    said = FAILURES.get(reason)
    return f"failed: {said} ({reason})" if said else f"failed ({plain_text(reason, 20)})"


def limit_words(reason: str | None) -> str:
    """What ran out: ``list pages``."""
    return LIMITS.get(reason or "", plain_text(reason or "", 20) or "requests or postings")


def source_words(label: str, platform: str | None, job_source_id: int) -> str:
    """``원티드 백엔드 (wanted, source 3)``; the label as the operator wrote it, made harmless."""
    shown = plain_text(label, LABEL_MAX_CHARS)
    where = f"{platform}, source {job_source_id}" if platform else f"source {job_source_id}"
    return f"{shown} ({where})" if shown else where


def day_words(day: date) -> str:
    """``Tue 2026-12-01``, whatever the machine's locale."""
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    return f"{names[day.weekday()]} {day.isoformat()}"


def kst_clock(instant: datetime, *, seconds: bool = False) -> str:
    """``09:00`` of a naive UTC instant in KST."""
    return f"{instant + KST_OFFSET:%H:%M:%S}" if seconds else f"{instant + KST_OFFSET:%H:%M}"


def counted(count: int, one: str, several: str | None = None) -> str:
    """``1 source``, ``1,200 sources``."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"

"""What each fault of the simulator must come to, on each platform: written from the rules by hand.

Invariant: nothing here is derived from the code under test. A fault without a row, or a row without
a platform, fails the test that reads the table, so a new fault is judged before it is used.

Words: a name of ``CollectionFailureReason`` is a cycle that ends FAILED for it. ``COMPLETE`` may
judge what was not listed; ``INCOMPLETE`` and ``ZERO`` are SUCCESS and judge nothing. ``SHORTER`` is
a list that is shorter by the platform's own rules: nobody can tell it from one that lost postings,
so it may miss them once, and the next day opens them again. ``NONE``: the fault needs something
that this platform has not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from collection_pipeline.domain.source import Condition

FORMS = ("wanted v4", "wanted chaos", "saramin", "jumpit", "greenhouse", "lever")
"""Every list that is read; Wanted has two."""
DETAIL_FORMS = ("wanted v4", "wanted chaos", "jumpit")
COMPLETE, INCOMPLETE, ZERO, SHORTER, NONE = "COMPLETE", "INCOMPLETE", "ZERO", "SHORTER", "NONE"
EXHAUSTED = "LIST_PAGES"
"""The daily budget that ends a list without an end."""
SAFE = frozenset({COMPLETE, SHORTER})
DONE, FAILED, REFUSED, GONE = "DONE", "FAILED", "REFUSED", "GONE"

ONE_PAGE, THREE_PAGES = 12, 40
MAX_RESPONSE_BYTES, OVERSIZE = 500_000, 600_000


@dataclass(frozen=True)
class ListFault:
    """A fault on list requests: its settings, the rows of the list, and the word of each form."""

    name: str
    ends: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int = ONE_PAGE

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{k}={v}" for k, v in self.settings.items())])


@dataclass(frozen=True)
class DetailFault:
    """A fault on one posting's detail: what becomes of that detail."""

    name: str
    ends: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{k}={v}" for k, v in self.settings.items())])


F = TypeVar("F", ListFault, DetailFault)


def platform_of(form: str) -> str:
    """The platform of a list's form."""
    return form.split()[0]


def form_condition(form: str, key: str) -> Condition | None:
    """The condition of a form that is not its platform's usual one."""
    return {"form": ["chaos"], "job_group_id": [key]} if form == "wanted chaos" else None


def ends_in(cycle: Mapping[str, Any]) -> str:
    """How a terminal cycle ended, in the table's words."""
    if cycle["cycle_status"] != "SUCCESS":
        return str(cycle["failure_reason"] or cycle["budget_exhausted_reason"])
    if not cycle["is_complete"]:
        return INCOMPLETE
    return COMPLETE if cycle["fetched_count"] else ZERO


def each(word: str, **others: str) -> dict[str, str]:
    """``word`` for every form but those named; a form's space is written as an underscore."""
    return {form: others.get(form.replace(" ", "_"), word) for form in FORMS}


def wanted(word: str, other: str) -> dict[str, str]:
    """``word`` for Wanted's two forms, ``other`` for the rest."""
    return {form: word if form.startswith("wanted") else other for form in FORMS}


def first_of_each(faults: Sequence[F]) -> list[F]:
    """The first row of each fault: the fast set, its further settings are the long one's."""
    return list({fault.name: fault for fault in reversed(faults)}.values())[::-1]


def detail(v4: str, chaos: str, jumpit: str) -> dict[str, str]:
    """The three platforms with details."""
    return dict(zip(DETAIL_FORMS, (v4, chaos, jumpit), strict=True))


_BAD = each("BAD_RESPONSE")
_SECOND = {"page": 1}
LIST_FAULTS = (
    # Section 4: what a status means.
    ListFault("http_403", each("FORBIDDEN")),
    ListFault("http_404", each("HTTP_4XX")),
    ListFault("http_429", each("RATE_LIMITED")),
    ListFault("http_429", each("RATE_LIMITED"), {"retry_after": "0"}),
    ListFault("http_429", each("RATE_LIMITED"), {"retry_after": "-5"}),
    ListFault("http_500", each("HTTP_5XX")),
    ListFault("http_503", each("HTTP_5XX")),
    ListFault("http_status", each("HTTP_5XX")),
    ListFault("http_status", each("HTTP_4XX"), {"status": 418}),
    ListFault("http_status", each("BAD_RESPONSE"), {"status": 204}),
    ListFault("redirect", each("HTTP_3XX")),
    # R10: not the platform's answer.
    ListFault("captcha", _BAD),
    ListFault("empty_body", _BAD),
    ListFault("broken_json", _BAD),
    ListFault("changed_envelope", _BAD),
    ListFault("missing_id", _BAD),
    ListFault("missing_title", _BAD),
    ListFault("missing_id", _BAD, {"form": "empty"}),
    ListFault("missing_title", _BAD, {"form": "empty"}),
    # Only Saramin states errors by code: 4 is the quota, 2 the key.
    ListFault("error_body", each("BAD_RESPONSE", saramin="QUOTA")),
    ListFault("error_body", each("BAD_RESPONSE", saramin="QUOTA"), {"carrier": "error"}),
    ListFault("error_body", each("BAD_RESPONSE", saramin="QUOTA"), {"carrier": "result"}),
    ListFault("error_body", each("BAD_RESPONSE", saramin="QUOTA"), {"carrier": "jobs_error"}),
    ListFault("error_body", _BAD, {"carrier": "null"}),
    ListFault("error_body", _BAD, {"carrier": "empty"}),
    ListFault("error_body", _BAD, {"carrier": "xml"}),
    ListFault("key_echo", each("BAD_RESPONSE", saramin="CONFIG")),
    ListFault("key_echo", each("BAD_RESPONSE", saramin="CONFIG"), {"encoding": "percent"}),
    ListFault("key_echo", each("BAD_RESPONSE", saramin="CONFIG"), {"encoding": "double"}),
    # Section 3 and 4: coding, size, time, connection.
    ListFault("truncated_gzip", each("CONNECTION")),
    ListFault("wrong_encoding", _BAD),
    ListFault("wrong_encoding", _BAD, {"label": "br"}),
    ListFault("wrong_encoding", _BAD, {"label": "unlabelled"}),
    ListFault("oversize", each("POLICY"), {"size": OVERSIZE}),
    ListFault("oversize", each("POLICY"), {"size": OVERSIZE, "packed": False}),
    ListFault("timeout", each("TIMEOUT")),
    ListFault("slow", each("TIMEOUT")),
    ListFault("slow", each("TIMEOUT"), {"part": "headers"}),
    ListFault("delay", each(COMPLETE), {"seconds": 0.1}),
    ListFault("reset", each("CONNECTION")),
    ListFault("reset_midbody", each("CONNECTION")),
    # R23: pages that repeat are refused, pages that shift are not. A whole board has one page.
    ListFault("offset_ignored", each("BAD_RESPONSE", greenhouse=COMPLETE), rows=THREE_PAGES),
    ListFault("shifting", each(COMPLETE), rows=THREE_PAGES),
    # The head leaves while pages are read: rows are skipped, and the total shrinks with them.
    ListFault("vanish", each(SHORTER, greenhouse=COMPLETE), rows=THREE_PAGES),
    ListFault("zero_results", each(ZERO)),
    # Where a total contradicts it is refused; Wanted's link goes on behind a hole, which proves
    # nothing; Lever's empty page is its end.
    ListFault(
        "empty_page_with_next",
        each(
            "BAD_RESPONSE",
            wanted_v4=INCOMPLETE,
            wanted_chaos=INCOMPLETE,
            lever=SHORTER,
            greenhouse=NONE,
        ),
        _SECOND,
        rows=THREE_PAGES,
    ),
    # Links from empty page to empty page without an end: the day's pages bound it (R23).
    ListFault(
        "empty_page_with_next",
        each("BAD_RESPONSE", wanted_v4=EXHAUSTED, wanted_chaos=EXHAUSTED, lever=ZERO),
    ),
    # Two rows short of a total of 40 are within its tolerance of 3 (Jumpit: 10 %).
    ListFault(
        "short_pages",
        each(COMPLETE, wanted_v4=SHORTER, wanted_chaos=SHORTER, lever=SHORTER),
        rows=THREE_PAGES,
    ),
    # R23a: 5 and more rows short of the last total. Wanted and Lever state none.
    ListFault(
        "changing_total",
        each(INCOMPLETE, wanted_v4=COMPLETE, wanted_chaos=COMPLETE, lever=COMPLETE),
        rows=THREE_PAGES,
    ),
    # A page beyond its own total is refused; Jumpit's pages tell no more than their own size.
    ListFault(
        "total_shrunk",
        each(COMPLETE, saramin="BAD_RESPONSE", greenhouse="BAD_RESPONSE"),
        rows=THREE_PAGES,
    ),
    # R23, R28: only Wanted links.
    ListFault("next_self", wanted("BAD_RESPONSE", NONE), rows=THREE_PAGES),
    ListFault("next_back", wanted("BAD_RESPONSE", NONE), _SECOND, rows=THREE_PAGES),
    ListFault("next_foreign", wanted("POLICY", NONE), rows=THREE_PAGES),
    ListFault("next_absolute", wanted(COMPLETE, NONE), rows=THREE_PAGES),
)
_FAILED = detail(FAILED, FAILED, FAILED)
DETAIL_FAULTS = (
    DetailFault("http_403", detail(REFUSED, REFUSED, REFUSED)),
    DetailFault("http_429", detail(REFUSED, REFUSED, REFUSED)),
    # R22: gone is what the platform's own sign says; 404 is one at Wanted only.
    DetailFault("http_404", detail(GONE, GONE, FAILED)),
    DetailFault("detail_gone", detail(GONE, GONE, GONE)),
    DetailFault("http_500", _FAILED),
    DetailFault("http_503", _FAILED),
    DetailFault("http_status", _FAILED),
    DetailFault("http_status", _FAILED, {"status": 400}),
    DetailFault("redirect", _FAILED),
    DetailFault("captcha", _FAILED),
    DetailFault("error_body", _FAILED),
    DetailFault("error_body", _FAILED, {"carrier": "null"}),
    DetailFault("error_body", _FAILED, {"carrier": "xml"}),
    DetailFault("key_echo", _FAILED),
    DetailFault("empty_body", _FAILED),
    DetailFault("broken_json", _FAILED),
    DetailFault("changed_envelope", _FAILED),
    DetailFault("truncated_gzip", _FAILED),
    DetailFault("wrong_encoding", _FAILED),
    DetailFault("oversize", _FAILED, {"size": OVERSIZE}),
    DetailFault("timeout", _FAILED),
    DetailFault("slow", _FAILED),
    DetailFault("delay", detail(DONE, DONE, DONE), {"seconds": 0.1}),
    DetailFault("reset", _FAILED),
    DetailFault("reset_midbody", _FAILED),
)

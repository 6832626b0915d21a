"""Each fault of a platform against the state table: reason, what is kept, nothing judged.

Day 1 is clean; on day 2 the platform has lost some postings, so that a delta would show, and the
fault is on.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.scenario.conftest import OpenStack

REMOVED = 5
SECOND_PAGE = 1
FIRST_KEY = "9000"
DEADLINE_SECONDS = 2
COUNTS = {"saramin": 230, "wanted": 310, "jumpit": 40, "greenhouse": 45, "lever": 210}


@dataclass(frozen=True)
class Case:
    """A fault that ends a cycle FAILED with ``reason``: pages requested, and how many are kept."""

    platform: str
    fault: dict[str, Any]
    reason: str
    kept: int = 1
    pages: int = 2

    def __str__(self) -> str:
        told = [
            str(self.fault[name])
            for name in ("code", "carrier", "status", "label", "form")
            if name in self.fault
        ]
        return "-".join([self.platform, self.fault["name"], *told])


def fault(name: str, page: int | None = SECOND_PAGE, **settings: Any) -> dict[str, Any]:
    """The fault on every request for the second page, unless told otherwise."""
    return {"name": name, **({} if page is None else {"page": page}), **settings}


FAILING = [
    Case("saramin", fault("http_403"), "FORBIDDEN"),
    Case("lever", fault("http_429", retry_after="2"), "RATE_LIMITED"),
    Case("wanted", fault("http_404"), "HTTP_4XX"),
    Case("saramin", fault("http_500"), "HTTP_5XX"),
    Case("jumpit", fault("http_503"), "HTTP_5XX"),
    Case("lever", fault("http_status", status=418), "HTTP_4XX"),
    Case("lever", fault("http_status", status=204), "BAD_RESPONSE"),
    Case("saramin", fault("redirect"), "HTTP_3XX"),
    Case("wanted", fault("redirect", status=308, location="/api/v4/jobs?offset=0"), "HTTP_3XX"),
    Case("lever", fault("timeout"), "TIMEOUT"),
    Case("jumpit", fault("slow", seconds=0.2), "TIMEOUT"),
    Case("saramin", fault("slow", seconds=0.2, part="headers"), "TIMEOUT"),
    Case("lever", fault("reset"), "CONNECTION"),
    Case("wanted", fault("reset_midbody"), "CONNECTION"),
    Case("saramin", fault("truncated_gzip"), "CONNECTION"),
    Case("saramin", fault("wrong_encoding"), "BAD_RESPONSE"),
    Case("lever", fault("wrong_encoding", label="br"), "BAD_RESPONSE"),
    Case("jumpit", fault("wrong_encoding", label="unlabelled"), "BAD_RESPONSE"),
    Case("saramin", fault("oversize"), "POLICY"),
    Case("lever", fault("oversize", packed=False), "POLICY"),
    *(
        Case(platform, fault(name), "BAD_RESPONSE")
        for platform in ("saramin", "wanted", "jumpit", "lever")
        for name in (
            "captcha",
            "empty_body",
            "broken_json",
            "changed_envelope",
            "missing_id",
            "missing_title",
        )
    ),
    *(
        Case("greenhouse", fault(name, page=None), "BAD_RESPONSE", kept=0, pages=1)
        for name in ("captcha", "changed_envelope", "missing_id", "broken_json")
    ),
    *(
        Case("saramin", fault("error_body", carrier=carrier), "QUOTA")
        for carrier in ("flat", "error", "result", "jobs_error")
    ),
    Case("saramin", fault("error_body", code=4, status=400), "QUOTA"),
    Case("saramin", fault("error_body", code=2), "CONFIG"),
    Case("saramin", fault("error_body", code=99), "BAD_RESPONSE"),
    Case("saramin", fault("error_body", carrier="null"), "BAD_RESPONSE"),
    Case("saramin", fault("error_body", carrier="empty"), "BAD_RESPONSE"),
    Case("saramin", fault("error_body", carrier="xml"), "BAD_RESPONSE"),
    Case("jumpit", fault("error_body"), "BAD_RESPONSE"),
    Case("lever", fault("error_body"), "BAD_RESPONSE"),
    Case("saramin", fault("empty_page_with_next"), "BAD_RESPONSE"),
    Case("jumpit", fault("empty_page_with_next"), "BAD_RESPONSE"),
    # The page of a refused or looping link is kept whole (R20).
    Case("wanted", fault("next_self"), "BAD_RESPONSE", kept=2),
    Case("wanted", fault("next_back"), "BAD_RESPONSE", kept=2),
    Case("wanted", fault("next_back", page=3, to_page=1), "BAD_RESPONSE", kept=4, pages=4),
    Case("wanted", fault("next_foreign"), "POLICY", kept=2),
    # One repeated page is forgiven, since pages shift; the second one is not (R23).
    Case("wanted", fault("offset_ignored", page=None), "BAD_RESPONSE", pages=3),
    Case("saramin", fault("offset_ignored", page=None), "BAD_RESPONSE", pages=3),
    Case("lever", fault("offset_ignored", page=None), "BAD_RESPONSE", pages=3),
    Case("jumpit", fault("offset_ignored", page=None), "BAD_RESPONSE", pages=3),
    Case("saramin", fault("total_shrunk", page=SECOND_PAGE, total=150), "BAD_RESPONSE"),
]


def lost_on_day_2(platform: str, key: str) -> dict[str, Any]:
    """A catalogue from which postings go before day 2, so that a delta would show."""
    return source(platform, key, COUNTS[platform], changes={"2": {"remove": REMOVED}})


def stack_of(open_stack: OpenStack, platform: str) -> tuple[Stack, int]:
    """A stack whose one source was collected on day 1 and lost postings before day 2."""
    key = FIRST_KEY
    stack = open_stack(lost_on_day_2(platform, key), HOST_MIN_DELAY_MS=1)
    source_id = stack.add(platform, key, detail_mode="off")
    stack.tick()
    assert stack.end_of(source_id, 1) == ("SUCCESS", None)
    stack.set_clock(2)
    return stack, source_id


@pytest.mark.parametrize("platform", COUNTS)
def test_a_failed_list_request_ends_the_day_and_judges_nothing(
    open_stack: OpenStack, platform: str
) -> None:
    """R10: its reason and no further request. R19: earlier pages stay. I4: no delta.

    Each fault has a source of its own; all of a platform's run at once.
    """
    cases = {
        str(int(FIRST_KEY) + number): case
        for number, case in enumerate(case for case in FAILING if case.platform == platform)
    }
    stack = open_stack(
        *(lost_on_day_2(platform, key) for key in cases),
        HOST_MIN_DELAY_MS=1,
        REQUEST_DEADLINE_SECONDS=DEADLINE_SECONDS,
    )
    sources = {stack.add(platform, key, detail_mode="off"): key for key in cases}
    stack.tick()
    assert {stack.end_of(source_id) for source_id in sources} == {("SUCCESS", None)}
    before = {source_id: judged(stack, source_id) for source_id in sources}
    stack.set_clock(2)
    for key, case in cases.items():
        stack.simulator.add_fault({**case.fault, "key": key})

    stack.tick()
    assert stack.tick().slices == 0
    wrong = {
        str(cases[key]): found
        for source_id, key in sources.items()
        if (found := differences(stack, source_id, cases[key], before[source_id]))
    }
    assert not wrong
    assert_invariants(stack, bodies_as_logged=False)


def differences(
    stack: Stack, source_id: int, case: Case, before: dict[str, dict[str, Any]]
) -> dict[str, tuple[object, object]]:
    """What the case's day 2 should be and is, where these differ."""
    cycle = stack.cycle(source_id, 2)
    postings = stack.postings(source_id)
    kept = [set(record["ids"]) for record in stack.requests(source_id, 2)][: case.kept]
    sighted = {key for key, row in postings.items() if row["last_seen_run_date"] == stack.day(2)}
    assert_nothing_was_judged(before, judged(stack, source_id))
    pairs: dict[str, tuple[object, object]] = {
        "end": (("FAILED", case.reason), stack.end_of(source_id, 2)),
        "detail": (True, bool(cycle["failure_detail"])),
        "requests": (list(range(case.pages)), stack.pages(source_id, 2)),
        "pages": (case.pages, cycle["list_page_count"]),
        "kept": (set[str]().union(*kept), sighted),
        "fetched": (len(sighted), cycle["fetched_count"]),
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize(
    ("platform", "harmless"),
    [
        ("saramin", {"name": "shifting", "rows": 1}),
        ("wanted", {"name": "shifting", "rows": 3}),
        ("lever", {"name": "shifting", "rows": 1}),
        ("jumpit", {"name": "shifting", "rows": 1}),
        ("jumpit", {"name": "short_pages", "rows": 1}),
        ("saramin", {"name": "changing_total", "delta": 1}),
        ("wanted", {"name": "next_absolute"}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_what_platforms_do_every_day_is_no_failure(
    open_stack: OpenStack, platform: str, harmless: dict[str, Any]
) -> None:
    """R23, R28: pages that shift, are short or link absolutely; every posting alive stays open."""
    stack, source_id = stack_of(open_stack, platform)
    stack.simulator.add_fault(harmless)

    stack.tick()

    cycle = stack.cycle(source_id, 2)
    assert (cycle["cycle_status"], cycle["is_complete"]) == ("SUCCESS", 1)
    alive = stack.catalogue(source_id, 2)
    unseen = alive & {
        key for key, row in stack.postings(source_id).items() if row["status"] != "OPEN"
    }
    short = 0 if harmless["name"] != "short_pages" else 2
    assert len(unseen) <= short
    assert cycle["missed_count"] == REMOVED + len(unseen)
    assert_invariants(stack)


@pytest.mark.parametrize(
    ("platform", "lossy"),
    [
        ("greenhouse", {"name": "total_shrunk", "total": 60}),
        ("jumpit", {"name": "short_pages", "rows": 9}),
        ("saramin", {"name": "changing_total", "delta": 40}),
        ("jumpit", {"name": "offset_ignored", "page": 1, "count": 1}),
        ("saramin", {"name": "offset_ignored", "page": 1, "count": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_a_cycle_well_short_of_the_stated_total_is_not_complete(
    open_stack: OpenStack, platform: str, lossy: dict[str, Any]
) -> None:
    """R23a: SUCCESS with is_complete false, INCOMPLETE told, nothing missed or closed."""
    stack, source_id = stack_of(open_stack, platform)
    before = judged(stack, source_id)
    stack.simulator.add_fault(lossy)

    stack.tick()

    cycle = stack.cycle(source_id, 2)
    if cycle["cycle_status"] == "SUCCESS":
        assert cycle["is_complete"] == 0
        assert cycle["failure_detail"].startswith("INCOMPLETE")
    else:
        assert stack.end_of(source_id, 2) == ("FAILED", "BAD_RESPONSE")
    assert_nothing_was_judged(before, judged(stack, source_id))
    assert_invariants(stack)


@pytest.mark.parametrize("platform", ["saramin", "wanted", "jumpit", "lever"])
def test_rows_skipped_while_others_vanish_are_missed_once_and_open_again(
    open_stack: OpenStack, platform: str
) -> None:
    """CLOSE_AFTER_MISSED_CYCLES: offset paging skips rows; one such day closes no live posting."""
    stack, source_id = stack_of(open_stack, platform)
    stack.simulator.add_fault({"name": "vanish", "rows": 1})
    stack.tick()
    assert stack.end_of(source_id, 2) == ("SUCCESS", None)
    assert stack.cycle(source_id, 2)["missed_count"] > REMOVED
    assert "CLOSED" not in {row["status"] for row in stack.postings(source_id).values()}
    stack.simulator.clear_faults()
    stack.set_clock(3)

    stack.tick()

    alive = stack.catalogue(source_id, 3)
    assert {
        key for key, row in stack.postings(source_id).items() if row["status"] == "OPEN"
    } == alive
    assert stack.cycle(source_id, 3)["closed_count"] == REMOVED
    assert_invariants(stack)


def test_an_empty_page_with_a_next_link_is_not_the_end(open_stack: OpenStack) -> None:
    """R23: where no total contradicts, the list is read on behind it."""
    stack, source_id = stack_of(open_stack, "wanted")
    stack.simulator.add_fault(fault("empty_page_with_next"))

    stack.tick()

    assert stack.pages(source_id, 2) == [0, 1, 2, 3]
    assert_invariants(stack)


@pytest.mark.parametrize("platform", ["saramin", "wanted", "jumpit", "greenhouse", "lever"])
def test_a_platform_that_suddenly_has_nothing_closes_nothing(
    open_stack: OpenStack, platform: str
) -> None:
    """R8: a blocked crawl may look like "no jobs"."""
    stack, source_id = stack_of(open_stack, platform)
    before = judged(stack, source_id)
    stack.simulator.add_fault({"name": "zero_results"})

    stack.tick()

    cycle = stack.cycle(source_id, 2)
    assert (cycle["cycle_status"], cycle["fetched_count"]) == ("SUCCESS", 0)
    assert_nothing_was_judged(before, judged(stack, source_id))
    assert_invariants(stack)

"""Every fault of the simulator on every platform, list and detail, through whole ticks.

Day 1 is clean; on day 2 the platform has lost postings, so that a delta would show, and each fault
has a source of its own. All of them run in one tick.
"""

from typing import Any

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.simulator.fault_plan import FAULTS, LIBRARY_FAULTS, LISTING_FAULTS
from collection_pipeline_tests.kit.fault_table import (
    COMPLETE,
    DETAIL_FAULTS,
    DETAIL_FORMS,
    DONE,
    EXHAUSTED,
    FAILED,
    FORMS,
    GONE,
    INCOMPLETE,
    LIST_FAULTS,
    MAX_RESPONSE_BYTES,
    NONE,
    REFUSED,
    SAFE,
    SHORTER,
    ZERO,
    ListFault,
    ends_in,
    first_of_each,
    form_condition,
    platform_of,
)
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.proof import is_long, record
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack

REMOVED = 2
PAGE_ROWS = 16
DETAIL_ROWS = 2
LIST_PAGES = 6
DEADLINE_SECONDS = 3
CLEAN_DEADLINE_SECONDS = 20
"""For a day without faults on a machine that has other work."""
FIRST_KEY = 7000
TOLERATED = 3
JUMPIT_TOLERATED = 4
PROMISE = "Hostile platform"
WORDS = {COMPLETE, INCOMPLETE, ZERO, SHORTER, NONE, EXHAUSTED, *CollectionFailureReason}


def test_every_fault_of_the_simulator_has_its_rows() -> None:
    """A new fault is judged by hand before anything relies on it."""
    on_lists = set(FAULTS) - set(LIBRARY_FAULTS) - {"detail_gone"}
    assert {fault.name for fault in LIST_FAULTS} == on_lists
    assert {fault.name for fault in DETAIL_FAULTS} == (on_lists - set(LISTING_FAULTS)) | {
        "detail_gone"
    }
    for fault in LIST_FAULTS:
        assert set(fault.ends) == set(FORMS), fault
        assert set(fault.ends.values()) <= WORDS, fault
    for of_detail in DETAIL_FAULTS:
        assert set(of_detail.ends) == set(DETAIL_FORMS), of_detail
        assert set(of_detail.ends.values()) <= {DONE, FAILED, REFUSED, GONE}, of_detail


def added(stack: Stack, form: str, key: str, detail_mode: str) -> int:
    """A source of that form whose catalogue is ``key``."""
    condition = form_condition(form, key)
    return stack.add(platform_of(form), key, condition=condition, detail_mode=detail_mode)


@pytest.mark.timeout(1_000)
def test_every_fault_on_a_list_ends_as_the_table_says(store_url: str) -> None:
    """R8, R10, R23, R23a, R28; I4: after an unsafe end the judged columns are as before."""
    cases = {
        str(FIRST_KEY + number): (fault, form)
        for number, (fault, form) in enumerate(
            (fault, form)
            for fault in (LIST_FAULTS if is_long() else first_of_each(LIST_FAULTS))
            for form in FORMS
            if fault.ends[form] != NONE
        )
    }
    catalogues = [
        source(platform_of(form), key, fault.rows, changes={"2": {"remove": REMOVED}})
        for key, (fault, form) in cases.items()
    ]
    settings: dict[str, Any] = {
        "HOST_MIN_DELAY_MS": 1,
        "SLICE_MAX_POSTINGS": PAGE_ROWS,
        "REQUEST_DEADLINE_SECONDS": DEADLINE_SECONDS,
        "MAX_RESPONSE_BYTES": MAX_RESPONSE_BYTES,
        "DAILY_MAX_LIST_PAGES": LIST_PAGES,
    }
    with opened_stack(store_url, catalogues, **settings) as stack:
        sources = {added(stack, form, key, "off"): key for key, (_, form) in cases.items()}
        # In one slice each: only the faults need lists of several pages.
        clean: dict[str, Any] = {
            "SLICE_MAX_POSTINGS": 500,
            "REQUEST_DEADLINE_SECONDS": CLEAN_DEADLINE_SECONDS,
        }
        stack.tick(pipeline=stack.open_pipeline(**clean))
        assert {stack.end_of(source_id) for source_id in sources} == {("SUCCESS", None)}
        before = {source_id: judged(stack, source_id) for source_id in sources}
        stack.set_clock(2)
        for key, (fault, _) in cases.items():
            stack.simulator.add_fault({"name": fault.name, "key": key, **fault.settings})

        stack.tick()

        assert stack.tick().slices == 0
        wrong = [
            f"{fault} on {form}: {told}"
            for source_id, key in sources.items()
            for fault, form in [cases[key]]
            if (told := list_difference(stack, source_id, fault, form, before[source_id]))
        ]
        assert not wrong, "\n".join(wrong)
        assert_invariants(stack, bodies_as_logged=False, secrets=[stack.simulator.access_key])
        unsafe = sum(fault.ends[form] not in SAFE for fault, form in cases.values())
        record(PROMISE, fault_cases=len(cases), unsafe_ends=unsafe)


def test_every_fault_on_a_detail_costs_its_posting_a_day_at_most(store_url: str) -> None:
    """R22: the cycle ends SUCCESS; the detail is done, failed, gone, or the last one asked for."""
    rows = DETAIL_FAULTS if is_long() else first_of_each(DETAIL_FAULTS)
    cases = {
        str(FIRST_KEY + number): (fault, form)
        for number, (fault, form) in enumerate((f, form) for f in rows for form in DETAIL_FORMS)
    }
    catalogues = [source(platform_of(form), key, DETAIL_ROWS) for key, (_, form) in cases.items()]
    settings: dict[str, Any] = {
        "HOST_MIN_DELAY_MS": 1,
        "REQUEST_DEADLINE_SECONDS": DEADLINE_SECONDS,
        "MAX_RESPONSE_BYTES": MAX_RESPONSE_BYTES,
    }
    with opened_stack(store_url, catalogues, **settings) as stack:
        sources = {added(stack, form, key, "required"): key for key, (_, form) in cases.items()}
        for key, (fault, _) in cases.items():
            about = {"name": fault.name, "key": key, "kind": "detail", "count": 1}
            stack.simulator.add_fault({**about, **fault.settings})

        stack.tick()

        assert stack.tick().slices == 0
        wrong = [
            f"{fault} on {form}: {told}"
            for source_id, key in sources.items()
            for fault, form in [cases[key]]
            if (told := detail_difference(stack, source_id, fault.ends[form]))
        ]
        assert not wrong, "\n".join(wrong)
        assert_invariants(stack, secrets=[stack.simulator.access_key])
        record(PROMISE, fault_cases=len(cases))


def detail_difference(stack: Stack, source_id: int, wanted: str) -> str | None:
    """Where the day differs from the table, in words; the first detail met the fault."""
    if stack.end_of(source_id) != ("SUCCESS", None):
        return f"the cycle ended {stack.end_of(source_id)}"
    cycle, postings = stack.cycle(source_id), stack.postings(source_id)
    if {row["status"] for row in postings.values()} != {"OPEN"} or not cycle["is_complete"]:
        return "a detail judged postings"
    asked = [record["item_id"] for record in stack.requests(source_id, kind="detail")]
    states = [postings[item]["detail_state"] for item in asked]
    waiting = sum(row["detail_state"] == "PENDING" for row in postings.values())
    failures = cycle["detail_failure_count"]
    expected = {
        DONE: (["DONE"] * DETAIL_ROWS, 0, 0),
        GONE: (["GONE", *["DONE"] * (DETAIL_ROWS - 1)], 0, 0),
        FAILED: (["PENDING", *["DONE"] * (DETAIL_ROWS - 1)], 1, 1),
        REFUSED: (["PENDING"], DETAIL_ROWS, 1),
    }[wanted]
    found = (states, waiting, failures)
    return None if found == expected else f"{found} instead of {expected}"


def list_difference(
    stack: Stack,
    source_id: int,
    fault: ListFault,
    form: str,
    before: dict[str, dict[str, Any]],
) -> str | None:
    """Where day 2 differs from the table, in words."""
    wanted = fault.ends[form]
    cycle = stack.cycle(source_id, 2)
    after = judged(stack, source_id)
    found = ends_in(cycle)
    if found != (COMPLETE if wanted == SHORTER else wanted):
        return f"{found} ({cycle['failure_detail']}) instead of {wanted}"
    if wanted not in SAFE:
        assert_nothing_was_judged(before, after)
        return None
    alive = stack.catalogue(source_id, 2)
    hurt = {key for key in before if key in alive and after[key]["status"] != "OPEN"}
    closed = [key for key, row in after.items() if row["status"] == "CLOSED"]
    tolerated = JUMPIT_TOLERATED if form == "jumpit" else TOLERATED
    if closed:
        return f"closed {closed} on one day"
    if wanted == COMPLETE and len(hurt) > tolerated:
        return f"missed {len(hurt)} postings that are still there"
    if cycle["missed_count"] < REMOVED:
        return f"missed {cycle['missed_count']}: no delta, so nothing was tried"
    return None

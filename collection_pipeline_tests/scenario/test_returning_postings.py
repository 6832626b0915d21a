"""A posting that returns after its body was trimmed is whole again, on both kinds of platform."""

from datetime import date, datetime, time
from typing import Any

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Row, Stack
from collection_pipeline_tests.scenario.conftest import OpenStack

POSTINGS, GONE = 4, 2
CHANGES = {"2": {"remove": GONE}, "6": {"restore": GONE}}
BODY = ("raw_list", "raw_detail", "body_trimmed_at")


def run_day(stack: Stack, number: int) -> None:
    """Day ``number`` with all that is due."""
    if number > 1:
        stack.set_clock(number)
    stack.tick()


def content(row: Row) -> dict[str, Any]:
    """What a platform said of a posting, dates of our own aside."""
    return {name: value for name, value in row.items() if not isinstance(value, date | datetime)}


def assert_trimmed(before: dict[str, Row], after: dict[str, Row]) -> set[str]:
    """Of the closed postings only the body is gone, of the others nothing; returns their ids."""
    closed = {name for name, row in before.items() if row["status"] == "CLOSED"}
    assert len(closed) == GONE
    for name, row in before.items():
        gone = BODY if name in closed else ()
        assert {column: value for column, value in row.items() if column not in gone}.items() <= (
            after[name].items()
        )
    assert {name for name, row in after.items() if row["raw_list"] is None} == closed
    assert not any(after[name]["raw_detail"] for name in closed)
    return closed


def test_a_trimmed_posting_is_whole_again_on_the_day_it_returns(open_stack: OpenStack) -> None:
    """R34a, R22: its list row is stored, and its detail asked for once, though nothing changed."""
    stack = open_stack(
        source("greenhouse", "acme", POSTINGS, changes=CHANGES),
        source("wanted", "518", POSTINGS, changes=CHANGES),
        RAW_BODY_DAYS=2,
        HOST_MIN_DELAY_MS=2,
    )
    details = {stack.add("greenhouse", "acme"): 0, stack.add("wanted", "518"): GONE}
    run_day(stack, 1)
    whole = {one: stack.postings(one) for one in details}
    run_day(stack, 2)
    run_day(stack, 3)
    closed = {one: stack.postings(one) for one in details}

    stack.set_clock(5, time(4, 45))
    stack.pipeline.retention.apply().require_success()
    trimmed = {one: assert_trimmed(closed[one], stack.postings(one)) for one in details}

    for number in (6, 7):
        run_day(stack, number)
        for one, asked in details.items():
            assert stack.end_of(one, number) == ("SUCCESS", None)
            rows = stack.postings(one)
            for name in trimmed[one]:
                assert rows[name]["status"] == "OPEN"
                assert content(rows[name]) == content(whole[one][name])
                assert bool(rows[name]["raw_detail"]) == bool(asked)
            is_return = number == 6
            assert stack.cycle(one, number)["detail_request_count"] == asked * is_return
            assert stack.cycle(one, number)["updated_count"] == GONE * is_return
    assert_invariants(stack)

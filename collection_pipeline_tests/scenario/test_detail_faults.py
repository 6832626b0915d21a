"""A failing detail costs its posting a day, not its cycle (R22)."""

from typing import Any

import pytest

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.scenario.conftest import OpenStack

SUCCESS = ("SUCCESS", None)
COUNT = 12
PLATFORMS = {"jumpit": "1", "wanted": "518"}
FAILING: list[dict[str, Any]] = [
    {"name": "http_500"},
    {"name": "reset"},
    {"name": "captcha"},
    {"name": "changed_envelope"},
    {"name": "empty_body"},
    {"name": "truncated_gzip"},
    {"name": "redirect"},
]
GONE = [
    ("jumpit", None),
    ("wanted", "404"),
    ("wanted", "close"),
    ("wanted", "draft"),
]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_failed_detail_is_counted_and_tried_again_on_the_next_day_only(
    open_stack: OpenStack, platform: str
) -> None:
    """R22: every kind of failure at once; the day is SUCCESS, the postings wait."""
    stack = open_stack(source(platform, PLATFORMS[platform], COUNT), SLICE_MAX_DETAIL_REQUESTS=4)
    source_id = stack.add(platform, PLATFORMS[platform])
    unlucky = sorted(stack.catalogue(source_id))[: len(FAILING)]
    for one, fault in zip(unlucky, FAILING, strict=True):
        stack.simulator.add_fault({**fault, "kind": "detail", "id": one})

    stack.tick()
    assert stack.tick().slices == 0

    assert stack.end_of(source_id) == SUCCESS
    cycle = stack.cycle(source_id)
    assert (cycle["detail_request_count"], cycle["detail_failure_count"]) == (COUNT, len(FAILING))
    waiting = {
        k for k, row in stack.postings(source_id).items() if row["detail_state"] == "PENDING"
    }
    assert waiting == set(unlucky)
    assert_invariants(stack)

    stack.simulator.clear_faults()
    stack.set_clock(2)
    stack.tick()
    asked = [record["item_id"] for record in stack.requests(source_id, 2, "detail")]
    assert sorted(asked) == unlucky
    assert {row["detail_state"] for row in stack.postings(source_id).values()} == {"DONE"}
    assert_invariants(stack)


@pytest.mark.parametrize(("platform", "form"), GONE)
def test_a_posting_that_its_detail_calls_gone_is_no_failure_and_not_closed_by_it(
    open_stack: OpenStack, platform: str, form: str | None
) -> None:
    """R22, R32: 404, code C003 or a closing status; it stays open until it is missed."""
    stack = open_stack(source(platform, PLATFORMS[platform], COUNT))
    source_id = stack.add(platform, PLATFORMS[platform])
    gone = min(stack.catalogue(source_id))
    stack.simulator.add_fault({"name": "detail_gone", "id": gone, "form": form})

    stack.tick()

    assert stack.end_of(source_id) == SUCCESS
    assert stack.cycle(source_id)["detail_failure_count"] == 0
    posting = stack.postings(source_id)[gone]
    assert (posting["status"], posting["detail_state"]) == ("OPEN", "GONE")
    stack.set_clock(2)
    stack.tick()
    assert not stack.requests(source_id, 2, "detail")
    assert_invariants(stack)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize(
    ("fault", "pause"),
    [
        ({"name": "http_403"}, 0),
        ({"name": "http_429", "retry_after": "900"}, 890),
        ({"name": "http_429"}, 0),
    ],
)
def test_a_refused_detail_ends_the_details_of_the_cycle_and_moves_the_host(
    open_stack: OpenStack, platform: str, fault: dict[str, Any], pause: int
) -> None:
    """R22, R26: no further detail that day; the list's day is not lost."""
    stack = open_stack(
        source(platform, PLATFORMS[platform], 20, changes={"2": {"remove": 3}}),
        SLICE_MAX_DETAIL_REQUESTS=5,
        HOST_MIN_DELAY_MS=20,
    )
    source_id = stack.add(platform, PLATFORMS[platform])
    stack.simulator.add_fault({**fault, "kind": "detail", "from": 7, "count": 1})

    stack.tick()

    assert stack.end_of(source_id) == SUCCESS
    cycle = stack.cycle(source_id)
    assert (cycle["detail_request_count"], cycle["detail_failure_count"]) == (7, 1)
    assert len(stack.requests(source_id, kind="detail")) == 7
    assert cycle["fetched_count"] == 20
    moved = stack.value(
        "SELECT TIMESTAMPDIFF(MICROSECOND, updated_at, next_allowed_at)"
        " FROM external_request_host_limits"
    )
    assert moved >= max(pause * 1_000_000, 10 * 20_000)
    assert stack.tick().slices == 0
    assert_invariants(stack)

    stack.set_clock(2)
    stack.tick()
    assert stack.end_of(source_id, 2) == SUCCESS
    assert stack.cycle(source_id, 2)["missed_count"] == 3
    assert stack.cycle(source_id, 2)["detail_request_count"] >= 20 - 7 - 3
    assert_invariants(stack)

"""A source that is broken for days and heals: shown, told once, tried every day (R33)."""

from datetime import time

from collection_pipeline.store.views import measures
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.scenario.conftest import OpenStack

FAILED = ("FAILED", "BAD_RESPONSE")


def told(stack: Stack) -> list[object]:
    """The payloads of the messages about broken sources, in order."""
    rows = stack.rows(
        "SELECT payload FROM notification_outbox WHERE kind LIKE 'SOURCES_BROKEN%' ORDER BY id"
    )
    return [row["payload"] for row in rows]


def health(stack: Stack, source_id: int) -> tuple[int, object]:
    """Abnormal days in a row, and since when the source is broken."""
    (row,) = stack.rows(
        "SELECT abnormal_days, broken_since FROM job_source_health WHERE job_source_id = :source",
        source=source_id,
    )
    return row["abnormal_days"], row["broken_since"]


def test_a_broken_source_is_told_once_tried_daily_and_heals_by_itself(
    open_stack: OpenStack,
) -> None:
    """R33: five days through the real services; the healthy source beside it is never named."""
    stack = open_stack(
        source("lever", "acme", 12, changes={"5": {"remove": 2}}), source("saramin", "well", 12)
    )
    ill, well = stack.add("lever", "acme", detail_mode="off"), stack.add("saramin", "well")
    stack.simulator.add_fault({"name": "captcha", "platform": "lever", "key": "acme"})
    seen: list[tuple[int, object]] = []
    messages: list[int] = []
    shown: list[int] = []
    for number in range(1, 6):
        if number == 5:
            stack.simulator.clear_faults()
        # The second tick of a day would tell it again.
        for at in (time(1), time(7)):
            stack.set_clock(number, at)
            stack.tick()
        seen.append(health(stack, ill))
        messages.append(len(told(stack)))
        shown.append(stack.run(measures.broken_sources))

    since = stack.day(3)
    assert seen == [(1, None), (2, None), (3, since), (4, since), (0, None)]
    assert messages == [0, 0, 1, 1, 1]
    assert shown == [0, 0, 1, 1, 0]
    assert "lever acme" in str(told(stack)[0])
    assert "saramin well" not in str(told(stack))
    ends = [stack.end_of(ill, number) for number in range(1, 6)]
    assert ends == [FAILED] * 4 + [("SUCCESS", None)]
    assert [len(stack.requests(ill, number)) for number in range(1, 5)] == [1] * 4
    assert set(stack.postings(ill)) == stack.catalogue(ill, 5)
    assert health(stack, well) == (0, None)
    assert_invariants(stack)

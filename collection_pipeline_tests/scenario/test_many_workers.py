"""Worker processes over one queue: each cycle once at a time, each request once (I2, I6)."""

import json
import signal
from collections import Counter
from typing import Any

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.worker_entry import STARTED
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

CYCLES = 200
DELAY_MS = 15


def drained_by_two(stack: Stack) -> list[dict[str, Any]]:
    """What two processes told that began together."""
    started = {"crash_at": STARTED, "crash_signal": signal.SIGSTOP}
    with (
        WorkerProcess(stack.environment, **started) as one,  # type: ignore[arg-type]  # by name
        WorkerProcess(stack.environment, **started) as other,  # type: ignore[arg-type]  # by name
    ):
        both = (one, other)
        for worker in both:
            worker.wait_until_stopped()
        for worker in both:
            worker.send(signal.SIGCONT)
        for worker in both:
            assert worker.wait() == 0, worker.output
        return [json.loads(worker.printed) for worker in both]


def test_two_processes_drain_a_queue_without_doing_anything_twice(open_stack: OpenStack) -> None:
    """R5, R26, I2, I6: 200 cycles on two hosts; the receiver's stamps judge the spacing."""
    stack = open_stack(separate_ports=True, HOST_MIN_DELAY_MS=DELAY_MS, TICK_CLAIM_LIMIT=4)
    for number in range(CYCLES // 2):
        stack.add("greenhouse", f"board{number}-{number % 7}")
        stack.add("lever", f"site{number}-{number % 5 + 1}")

    told = drained_by_two(stack)

    assert sum(summary["slices"] for summary in told) == CYCLES
    assert all(summary["slices"] > CYCLES // 10 for summary in told), "only one of them worked"
    assert sum(summary["lost"] for summary in told) == 0
    ended = Counter(stack.end_of(source_id) for source_id in stack.sources)
    assert ended == {("SUCCESS", None): CYCLES}
    asked = Counter((r["platform"], r["search_key"], r["page"]) for r in stack.requests())
    assert set(asked.values()) == {1}
    assert len(asked) == CYCLES
    assert_invariants(stack)


def test_slices_of_one_cycle_never_overlap_between_processes(open_stack: OpenStack) -> None:
    """I2, R6: cycles of many slices pass from process to process, page after page."""
    stack = open_stack(
        *(source("saramin", f"search{number}", 330) for number in range(6)),
        SLICE_MAX_LIST_PAGES=1,
        TICK_CLAIM_LIMIT=3,
    )
    sources = [stack.add("saramin", f"search{number}") for number in range(6)]

    told = drained_by_two(stack)

    assert sum(summary["slices"] for summary in told) == 18
    assert all(summary["slices"] > 0 for summary in told)
    for source_id in sources:
        assert stack.pages(source_id) == [0, 1, 2]
        assert len(stack.slices(source_id)) == 3
    assert_invariants(stack)

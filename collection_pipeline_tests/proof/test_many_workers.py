"""A day of many processes that die, freeze or have a wrong clock (I1 to I8, R11, R14, R15, R36)."""

import json
import signal
from collections import Counter
from collections.abc import Callable
from datetime import date, time, timedelta
from typing import Any

import pytest

from collection_pipeline import checkpoints
from collection_pipeline_tests.kit.crowd import Crowd
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.proof import is_long, record, tries
from collection_pipeline_tests.kit.shifted_worker import CLOCK_IS_WRONG, SHIFT_SECONDS
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.stack_fixtures import OpenStack
from collection_pipeline_tests.kit.worker_process import WorkerProcess

PROCESSES = 4
KILLS, FREEZES = tries(4, long=10), tries(1, long=2)
BOARDS = tries(36, long=460)
SEARCHES = tries(4, long=40)
"""Of several slices each, and with a day before."""
HOUR = 3_600
TERMINAL = "('SUCCESS', 'FAILED', 'BUDGET_EXHAUSTED')"
CHANGES = {"2": {"remove": 7, "add": 2}}
LONG_SECONDS = 1_200


@pytest.fixture
def crowded(open_stack: OpenStack) -> Callable[[], Stack]:
    """Searches that had a day before, and boards that are new on the second."""

    def opening() -> Stack:
        stack = open_stack(
            *(source("saramin", f"search{one}", 330, changes=CHANGES) for one in range(SEARCHES)),
            separate_ports=True,
            HOST_MIN_DELAY_MS=5,
            SLICE_MAX_LIST_PAGES=1,
            TICK_CLAIM_LIMIT=3,
            SLA_LATE_START_SECONDS=50,
        )
        for one in range(SEARCHES):
            stack.add("saramin", f"search{one}")
        stack.tick()
        for one in range(BOARDS // 2):
            stack.add("greenhouse", f"board{one}-{one % 7}")
            stack.add("lever", f"site{one}-{one % 5 + 1}")
        return stack

    return opening


@pytest.mark.timeout(LONG_SECONDS)
@pytest.mark.parametrize("seed", range(tries(1, long=20)))
def test_a_crowd_that_dies_and_freezes_breaks_no_invariant(
    crowded: Callable[[], Stack], seed: int
) -> None:
    """I1 to I8, R11, R14, R36: four processes at a time, and a capture in the midst of them."""
    stack = crowded()
    before = {one: judged(stack, one) for one in stack.sources}
    day = stack.set_clock(2, time(8, 59, 58))
    crowd = Crowd(stack, seed, processes=PROCESSES, kills=KILLS, freezes=FREEZES)
    capturing = stack.open_pipeline()

    crowd.work(lambda: capturing.snapshots.capture_at_nine(worker="capturer"))
    stack.pass_time(seconds=int(stack.pipeline.settings["LEASE_SECONDS"]) + 1)
    stack.tick()

    ends = Counter(stack.end_of(one, 2) for one in stack.sources)
    assert set(ends) <= {("SUCCESS", None), ("FAILED", "LEASE_EXPIRED")}, ends
    assert crowd.happened["killed"] > 0 and crowd.happened["frozen"] > 0, crowd.happened
    assert_invariants(stack)
    for one in stack.sources:
        if stack.end_of(one, 2)[0] == "FAILED":
            assert_nothing_was_judged(before[one], judged(stack, one))
        elif before[one]:
            assert stack.cycle(one, 2)["missed_count"] == 7
    assert items_against_the_commits(stack, day) == []
    record(
        "many workers",
        cycles=len(stack.sources),
        lost_cycles=ends["FAILED", "LEASE_EXPIRED"],
        **crowd.happened,
    )


def items_against_the_commits(stack: Stack, day: date) -> list[dict[str, Any]]:
    """I7: items that differ from what was committed before the capture, by the clock of both.

    A write before the capture read the clock before it, one after it afterwards (R13, R15).
    """
    headers = "SELECT * FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :d"
    assert [row["capture_status"] for row in stack.rows(headers, d=day)] == ["CAPTURED"]
    return stack.rows(
        "SELECT i.*, c.cycle_status AS later, c.finished_at, h.captured_at"
        " FROM job_posting_collection_sla_snapshots h"
        " JOIN job_posting_collection_sla_snapshot_items i ON i.snapshot_id = h.id"
        " JOIN job_posting_collection_cycles c"
        " ON c.job_source_id = i.job_source_id AND c.run_date = h.snapshot_date"
        f" WHERE h.snapshot_date = :d AND ((i.cycle_status IN {TERMINAL})"
        f" <> (c.cycle_status IN {TERMINAL} AND c.finished_at < h.captured_at)"
        f" OR (i.cycle_status IN {TERMINAL} AND i.cycle_status <> c.cycle_status)"
        " OR i.fetched_count <> (SELECT COALESCE(SUM(s.fetched_count), 0) FROM collection_slices s"
        " WHERE s.cycle_id = c.id AND s.created_at < h.captured_at))",
        d=day,
    )


@pytest.mark.parametrize("shift", [HOUR, -HOUR])
def test_a_worker_whose_clock_is_an_hour_off_changes_nothing(
    open_stack: OpenStack, shift: int
) -> None:
    """R15: half an hour before midnight it neither ends a live lease nor begins another day."""
    stack = open_stack(separate_ports=True, TICK_CLAIM_LIMIT=1)
    frozen_source = stack.add("greenhouse", "board0-3")
    at = time(23, 30) if shift > 0 else time(0, 30)
    day = stack.set_clock(1, at)
    begin = stack.now()
    frozen = {"crash_at": checkpoints.BEFORE_STORE, "crash_signal": signal.SIGSTOP}

    with WorkerProcess(stack.environment, **frozen) as holder:  # type: ignore[arg-type]  # by name
        holder.wait_until_stopped()
        others = [stack.add("lever", f"site{one}-{one + 1}") for one in range(3)]
        environment = {**stack.environment, SHIFT_SECONDS: str(shift)}
        with WorkerProcess(
            environment, module="collection_pipeline_tests.kit.shifted_worker"
        ) as worker:
            worker.wait_for(CLOCK_IS_WRONG)
            assert worker.wait() == 0, worker.output
            told = json.loads(worker.printed)
        assert (told["recovered"], told["slices"]) == (0, len(others))
        holder.send(signal.SIGCONT)
        assert holder.wait() == 0, holder.output

    assert {stack.end_of(one) for one in (frozen_source, *others)} == {("SUCCESS", None)}
    assert {row["run_date"] for row in stack.rows("SELECT run_date FROM collection_slices")} == {
        day
    }
    assert instants_outside(stack, begin - timedelta(seconds=1)) == []
    assert_invariants(stack)


def instants_outside(stack: Stack, begin: Any) -> list[str]:
    """Instants of the queue's rows that lie before ``begin`` or in the future."""
    end = stack.now()
    moments = {
        "job_posting_collection_cycles": ("started_at", "finished_at"),
        "collection_slices": ("created_at",),
        "collection_ticks": ("started_at", "finished_at"),
        "job_posting_collection_runs": ("started_at", "finished_at"),
    }
    return [
        f"{table}.{column}: {row[column]}"
        for table, columns in moments.items()
        for row in stack.rows(f"SELECT * FROM {table}")
        for column in columns
        if not begin <= row[column] <= end
    ]


def test_the_long_set_has_twenty_days_of_five_hundred_cycles() -> None:
    """The figures of the page are no smaller than promised where the long set runs."""
    wanted = (500, 4, 10) if is_long() else (40, 4, 4)
    assert wanted == (BOARDS + SEARCHES, PROCESSES, KILLS)

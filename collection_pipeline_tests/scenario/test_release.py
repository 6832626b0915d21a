"""Taking over from an older collector, as ``docs/release.md`` tells it (R34, R44).

One database goes through every step of the page with the simulated clock: release 0.1.0 and an
older collector wrote into it before. The page's own commands are done, and show what it promises.
"""

import json
import signal
from collections.abc import Iterator
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.older_collector import (
    RUNS,
    everything,
    older_rows,
    older_system_runs,
    with_old_columns,
)
from collection_pipeline_tests.kit.older_release import OlderRelease
from collection_pipeline_tests.kit.release_walk import TOP, Walk
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "release.md"
OFF, DARK, UNDO = "Switch the older schedulers off", "Dark deploy", "Roll back"
AHEAD_SECONDS = 0.05
"""Before the cutoff, so that a capture has it before it and does not wait long."""
KILLED_WITHIN_SECONDS = 10.0
PAUSE_SECONDS = 4.0
LATE_START_SECONDS = 30
"""A busy machine is no reason to miss a morning here."""
STABLE_FROM, TOO_FEW_DAYS = 7, 29
FEW_THREADS = 2
CATALOGUES = (
    source("greenhouse", "acme", 12),
    source("saramin", "backend", 300),
    *(source("greenhouse", key, 5) for key in ("early", "midway", "late", "fresh")),
)


@pytest.fixture
def older(database_url: str, first_release: Path) -> OlderRelease:
    """Release 0.1.0 over an empty database, which it has migrated."""
    made = OlderRelease(first_release, {"COLLECTION_DATABASE_URL": database_url})
    assert made("db", "migrate").out == "the schema is at revision 0004\n"
    return made


@pytest.fixture
def stack(older: OlderRelease, database_url: str) -> Iterator[Stack]:
    """Day 1, 00:05; nothing is switched on."""
    with opened_stack(
        database_url,
        CATALOGUES,
        TICK_CLAIM_LIMIT=FEW_THREADS,
        SLA_LATE_START_SECONDS=LATE_START_SECONDS,
    ) as opened:
        opened.set_flags(enabled=False)
        yield opened


def captured(stack: Stack, number: int) -> dict[int, str]:
    """Captures that morning; returns each item's status by source."""
    nine = utc_of_kst(stack.day(number), time(9))
    stack.move_clock_to(nine - timedelta(seconds=AHEAD_SECONDS))
    report = stack.pipeline.snapshots.capture_at_nine(worker="here")
    return {
        row["job_source_id"]: row["cycle_status"]
        for row in stack.rows(
            "SELECT * FROM job_posting_collection_sla_snapshot_items WHERE snapshot_id = :id",
            id=report.header.snapshot_id,
        )
    }


def has_cycle(stack: Stack, source_id: int, number: int) -> bool:
    """Whether the source has a cycle of that day."""
    return bool(
        stack.value(
            "SELECT COUNT(*) FROM job_posting_collection_cycles"
            " WHERE job_source_id = :source AND run_date = :day",
            source=source_id,
            day=stack.day(number),
        )
    )


def told(stack: Stack) -> Any:
    """``release --json``."""
    return CommandLine(stack.environment)("release", "--json").json


def a_day_of_release_0_1_0(stack: Stack, older: OlderRelease) -> tuple[int, int]:
    """It collects a board, and is killed in the middle of a search."""
    older = OlderRelease(older.place, stack.environment)
    adding = ["sources", "add", "--json", "--platform"]
    board, search, *flags = older.all(
        [
            [*adding, "greenhouse", "--label", "a", "--condition", "board=acme"],
            [*adding, "saramin", "--label", "b", "--condition", "keywords=backend"],
            ["flags", "set", "posting.collection-dispatch-v2", "on", "--by", "older"],
            ["flags", "set", "aggregator.collection", "on", "--by", "older"],
        ]
    )
    assert [said.code for said in flags] == [0, 0]
    ids = (board.json["id"], search.json["id"])
    stack.sources |= {ids[0]: ("greenhouse", "acme"), ids[1]: ("saramin", "backend")}
    stack.simulator.add_fault({"name": "delay", "page": 1, "seconds": KILLED_WITHIN_SECONDS})
    process = older.process("tick", "--drain")
    wait_until("a page of the search is in flight", lambda: stack.pages(ids[1]) == [0, 1])
    wait_until("the board has ended", lambda: stack.end_of(ids[0]) == ("SUCCESS", None))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert stack.cycle(ids[1])["cycle_status"] == "RUNNING"
    stack.set_flags(enabled=False)
    return ids


@pytest.mark.timeout(600)  # 37 days, on a machine that may be busy
def test_every_step_of_the_page_is_done_in_order(stack: Stack, older: OlderRelease) -> None:
    """R34, R44, R6a, R11, R35 to R37, I1 to I8: expand to contract, with a roll back between."""
    walk = Walk(PAGE, stack)
    board, search = a_day_of_release_0_1_0(stack, older)
    early = stack.add("greenhouse", "early")
    older_system_runs(stack, 1, early)

    stack.set_clock(2)
    older_system_runs(stack, 2, early, board)
    before = everything(stack)
    walk.next(TOP)
    walk.next("Expand")
    assert with_old_columns(everything(stack), before) == before, "R34: a row was changed"
    walk.next("Expand")

    shown = walk.next(DARK)
    assert "recovered 1" in shown, "R44: recovery goes on while the flag is off"
    assert stack.end_of(search, 1) == ("FAILED", "LEASE_EXPIRED")
    assert captured(stack, 2) == {}
    walk.next(DARK)
    walk.next(OFF)
    assert not any(has_cycle(stack, one, 2) for one in (board, search, early))
    assert not stack.requests(number=2)
    assert told(stack)["older_system_may_run_from"] == stack.day(2).isoformat()

    stack.set_clock(3)
    walk.next(OFF)
    ids = _activated_on_a_day_that_an_older_system_began(stack, walk, board, search, early)

    stack.set_clock(4)
    stack.tick()
    assert {stack.end_of(one, 4) for one in stack.sources} == {("SUCCESS", None)}
    assert set(captured(stack, 4)) == set(stack.sources)
    shown = walk.next("Observe")
    assert f"{stack.day(3)}: 3 source(s) run by an older system" in shown
    walk.next("Observe")
    overtaken = [stack.cycle(ids[0], 3)["id"]]
    assert_invariants(stack, run_elsewhere=overtaken)

    cut = _rolled_back_in_the_middle_of_a_slice(stack, walk, search)
    stack.set_clock(6)
    assert told(stack)["older_system_may_run_from"] == stack.day(6).isoformat()
    older_system_runs(stack, 6, *stack.sources)
    assert stack.tick().claimed == 0
    assert captured(stack, 6) == {}
    assert not any(has_cycle(stack, one, 6) for one in stack.sources)

    _stable_until_contract(stack, walk, (search, early, *ids))
    assert stack.cycle(search, 5) == cut, "R16: a past day went on"
    assert not stack.requests(number=6)
    assert walk.left == [], "the page has a block that nobody does"
    first = [row for row in before[RUNS] if row["fetched_count"] == 7]
    assert older_rows(stack)[: len(first)] == first, "history was dropped"
    assert_invariants(stack, run_elsewhere=overtaken)


def _activated_on_a_day_that_an_older_system_began(
    stack: Stack, walk: Walk, board: int, search: int, early: int
) -> tuple[int, ...]:
    """R44 at midnight, tick, claim, fill and capture: who it ran is left alone, whenever it did."""
    midway = stack.add("greenhouse", "midway")
    older_system_runs(stack, 3, early)
    walk.next("Activate")
    cli = CommandLine(stack.environment)
    assert cli("create-cycles").code == 0
    assert not has_cycle(stack, early, 3)
    stack.pipeline.dispatch.make_ready()
    assert stack.cycle(midway, 3)["cycle_status"] == "PENDING"
    older_system_runs(stack, 3, midway)
    walk.next("Activate")
    assert [stack.end_of(one, 3)[0] for one in (board, search)] == ["SUCCESS"] * 2
    late, fresh = stack.add("greenhouse", "late"), stack.add("greenhouse", "fresh")
    older_system_runs(stack, 3, late)

    items = captured(stack, 3)

    assert items == {board: "SUCCESS", search: "SUCCESS", fresh: "NOT_STARTED"}
    stack.tick()
    assert stack.end_of(fresh, 3) == ("SUCCESS", None)
    assert stack.cycle(midway, 3)["cycle_status"] == "PENDING"
    for left_alone in (early, midway, late):
        assert not stack.requests(left_alone, 3)
    assert not any(has_cycle(stack, one, 3) for one in (early, late))
    return midway, late, fresh


def _rolled_back_in_the_middle_of_a_slice(stack: Stack, walk: Walk, search: int) -> dict[str, Any]:
    """R6a, R44: the request in flight is kept, no other is sent; returns the cycle as it stays."""
    stack.set_clock(5)
    stack.simulator.add_fault({"name": "delay", "page": 0, "seconds": 1.0})
    with stack.ticking() as ticking:
        wait_until("page 0 is asked for", lambda: stack.pages(search, 5) == [0])
        stack.hold_next_request(search, PAUSE_SECONDS)
        walk.next(UNDO)
        summary = ticking.result()
    assert summary.lost == 0
    cut = stack.cycle(search, 5)
    assert (cut["cycle_status"], cut["lease_token"], cut["fetched_count"]) == ("PENDING", None, 110)
    assert stack.pages(search, 5) == [0]
    walk.next(UNDO)
    walk.next(UNDO)
    assert told(stack)["older_system_may_run_from"] == stack.day(6).isoformat()
    assert stack.tick().claimed == 0
    return cut


def _stable_until_contract(stack: Stack, walk: Walk, spared: tuple[int, ...]) -> None:
    """Days through the real services; 29 are not enough, 30 are, and one older run ends it."""
    stack.set_clock(STABLE_FROM)
    walk.again("Activate")
    stack.tick()
    assert {stack.end_of(one, STABLE_FROM) for one in stack.sources} == {("SUCCESS", None)}
    for one in spared:
        stack.switch(one, active=False)
    kept = older_rows(stack)
    last = STABLE_FROM + TOO_FEW_DAYS
    for number in range(STABLE_FROM, last + 1):
        stack.set_clock(number, time(8, 50))
        stack.tick(drain=False)
        if number == last:
            said = told(stack)
            assert (said["step"], said["stable_days"]) == ("OBSERVE", TOO_FEW_DAYS)
            assert said["broken_by"]["run_date"] == stack.day(6).isoformat()
        assert set(captured(stack, number).values()) == {"SUCCESS"}
    stack.set_clock(last + 1)
    walk.next("Contract")
    walk.next("Contract")
    assert told(stack)["broken_by"] is None
    assert older_rows(stack) == kept
    older_system_runs(stack, last, spared[0])
    said = told(stack)
    assert (said["step"], said["stable_days"]) == ("OBSERVE", 0)
    assert "an older system still runs" in json.dumps(said["attention"])

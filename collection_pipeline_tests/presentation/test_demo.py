"""The demo checks its own figures.

The commands themselves, with all their processes, run in ``test_outbound_connections``.
"""

import os
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console

from collection_pipeline.demo import summary
from collection_pipeline.demo.dagster_runs import DagsterRunFailed, DagsterRuns
from collection_pipeline.demo.days import simulated_days
from collection_pipeline.demo.display import standing_table
from collection_pipeline.demo.sources import NOTHING, DemoSource
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.demo.standing import standings
from collection_pipeline.demo.summary import DemoDiffers, check_demo
from collection_pipeline_tests.kit.dagster_world import ROOT, dagster_environment
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
RUNS = Counter({"collection_dispatch": 3})
SOURCES = (
    DemoSource(
        "board",
        "board",
        {"platform": "greenhouse", "condition": {"board": "board"}},
        ("SUCCESS", "SUCCESS", "SUCCESS"),
    ),
    DemoSource(
        "capped",
        "capped",
        {"platform": "saramin", "condition": {"keywords": "capped"}},
        ("BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED", "BUDGET_EXHAUSTED"),
    ),
    DemoSource(
        "off",
        "off-3",
        {"platform": "saramin", "condition": {"keywords": "off-3"}},
        (NOTHING, NOTHING, NOTHING),
        active=False,
    ),
)


@pytest.fixture
def three_days(open_stack: OpenStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stack:
    """Three small days as the demo runs them: one board that changes, one source above its cap."""
    changes = {"2": {"remove": 2, "add": 1}, "3": {"restore": 1}}
    stack = open_stack(
        source("greenhouse", "board", 9, changes=changes), source("saramin", "capped", 300)
    )
    stack.add("greenhouse", "board")
    stack.add("saramin", "capped", list_pages=1)
    stack.add("saramin", "off-3", active=False)
    stack.tick()
    for number in (2, 3):
        stack.set_clock(number)
        stack.tick()
    monkeypatch.setattr(summary, "DEMO_SOURCES", SOURCES)
    return stack


def _demo_stack(stack: Stack, folder: Path = Path("unused")) -> DemoStack:
    return DemoStack(stack.pipeline, stack.simulator, stack.environment, folder, "a server")


def _checked(stack: Stack, found: Counter[str] = RUNS) -> int:
    return check_demo(_demo_stack(stack), [stack.day(n) for n in (1, 2, 3)], RUNS, found)


def test_true_figures_are_all_compared(three_days: Stack) -> None:
    """Runs, states, pages, details, postings; open, missed and closed."""
    per_day = len(SOURCES) * 4
    assert _checked(three_days) == 1 + 3 * per_day + 3 + 1


FALSE_FIGURES = {
    "a state": "UPDATE job_posting_collection_cycles SET cycle_status = 'FAILED' LIMIT 1",
    "list pages": "UPDATE job_posting_collection_cycles SET list_page_count = list_page_count + 1",
    "details": "UPDATE job_posting_collection_cycles SET detail_request_count = 7 LIMIT 1",
    "distinct postings": "UPDATE job_posting_collection_cycles SET fetched_count = 8 LIMIT 1",
    "an open posting": "UPDATE job_postings SET status = 'MISSED' WHERE status = 'OPEN' LIMIT 1",
    "a missed posting": "UPDATE job_postings SET status = 'OPEN' WHERE status <> 'OPEN' LIMIT 1",
    "a posting that went": "DELETE FROM job_postings WHERE job_source_id = :board LIMIT 1",
    "a closing after an unsafe end": (
        "UPDATE job_postings SET status = 'CLOSED' WHERE job_source_id <> :board LIMIT 1"
    ),
}


@pytest.mark.parametrize("changed", FALSE_FIGURES)
def test_one_false_figure_ends_the_demo(three_days: Stack, changed: str) -> None:
    """Any table that differs from what the simulator served is an error."""
    (board,) = [one for one, key in three_days.sources.items() if key[1] == "board"]
    statement = FALSE_FIGURES[changed]
    values = {"board": board} if ":board" in statement else {}
    assert three_days.write(statement, **values) >= 1
    with pytest.raises(DemoDiffers, match="expected"):
        _checked(three_days)


def test_a_request_that_nobody_counted_ends_the_demo(three_days: Stack) -> None:
    """I8: the simulator's log has one page more than the cycle says."""
    address = three_days.simulator.exports()["COLLECTION_GREENHOUSE_BASE_URL"]
    urllib.request.urlopen(f"{address}/v1/boards/board/jobs?content=true", timeout=5).close()
    with pytest.raises(DemoDiffers, match="list pages"):
        _checked(three_days)


def test_a_snapshot_that_tells_another_story_ends_the_demo(three_days: Stack) -> None:
    """R36: where `sla_snapshot` ran, each day was captured as it had to end."""
    executed = RUNS + Counter({"sla_snapshot": 3})
    days = [three_days.day(number) for number in (1, 2, 3)]
    with pytest.raises(DemoDiffers, match="snapshot"):
        check_demo(_demo_stack(three_days), days, executed, executed)


def test_a_run_that_dagster_does_not_know_ends_the_demo(three_days: Stack) -> None:
    """The days are Dagster runs, by Dagster's own table."""
    with pytest.raises(DemoDiffers, match="successful Dagster runs of collection_dispatch"):
        _checked(three_days, Counter({"collection_dispatch": 2}))


def test_the_table_shows_each_sources_standing(three_days: Stack) -> None:
    """What is printed is what is in the tables."""
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    console.print(standing_table(standings(_demo_stack(three_days), three_days.day(3)), 200))
    console.file.close()
    shown = console.export_text()
    assert "BUDGET_EXHAUSTED" in shown
    assert "LIST_PAGES" in shown
    assert NOTHING in shown


def test_days_follow_each_other() -> None:
    """Three run dates in a row."""
    assert simulated_days(date(2026, 12, 31)) == [
        date(2026, 12, 31),
        date(2027, 1, 1),
        date(2027, 1, 2),
    ]


def test_a_dagster_run_that_fails_ends_the_demo(three_days: Stack, tmp_path: Path) -> None:
    """A job that ends badly is no day; the message names its log."""
    stack = _demo_stack(three_days, tmp_path)
    environment = {
        **dagster_environment(three_days.environment, "mysql+pymysql://127.0.0.1:1/d", ROOT)
    }
    runs = DagsterRuns(replace(stack, environment=environment))
    process = runs.start("no_such_job", {"drain": True})
    with pytest.raises(DagsterRunFailed, match=r"dagster\.log"):
        runs.finish("no_such_job", process)
    assert runs.log.stat().st_size > 0
    assert runs.executed == Counter({"no_such_job": 1})

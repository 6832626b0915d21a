"""The demo checks its own figures, and ends every process that it started (acceptance 8, R18)."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from urllib.error import HTTPError

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
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    ROOT,
    dagster_environment,
    descendants,
    is_alive,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, wait_until

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
    """Acceptance 8: runs, states, pages, details, postings; open, missed and closed."""
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
    """Acceptance 8: any table that differs from what the simulator served is an error."""
    (board,) = [one for one, key in three_days.sources.items() if key[1] == "board"]
    statement = FALSE_FIGURES[changed]
    values = {"board": board} if ":board" in statement else {}
    assert three_days.write(statement, **values) >= 1
    with pytest.raises(DemoDiffers, match="expected"):
        _checked(three_days)


def test_a_request_that_nobody_counted_ends_the_demo(three_days: Stack) -> None:
    """Acceptance 8, I8: the simulator's log has one page more than the cycle says."""
    address = three_days.simulator.exports()["COLLECTION_GREENHOUSE_BASE_URL"]
    urllib.request.urlopen(f"{address}/v1/boards/board/jobs?content=true", timeout=5).close()
    with pytest.raises(DemoDiffers, match="list pages"):
        _checked(three_days)


def test_a_snapshot_that_tells_another_story_ends_the_demo(three_days: Stack) -> None:
    """Acceptance 8, R36: where `sla_snapshot` ran, each day was captured as it had to end."""
    executed = RUNS + Counter({"sla_snapshot": 3})
    days = [three_days.day(number) for number in (1, 2, 3)]
    with pytest.raises(DemoDiffers, match="snapshot"):
        check_demo(_demo_stack(three_days), days, executed, executed)


def test_a_run_that_dagster_does_not_know_ends_the_demo(three_days: Stack) -> None:
    """Acceptance 8: the days are Dagster runs, by Dagster's own table."""
    with pytest.raises(DemoDiffers, match="successful Dagster runs of collection_dispatch"):
        _checked(three_days, Counter({"collection_dispatch": 2}))


def test_the_table_shows_each_sources_standing(three_days: Stack) -> None:
    """Acceptance 8: what is printed is what is in the tables."""
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    console.print(standing_table(standings(_demo_stack(three_days), three_days.day(3)), 200))
    console.file.close()
    shown = console.export_text()
    assert "BUDGET_EXHAUSTED" in shown
    assert "LIST_PAGES" in shown
    assert NOTHING in shown


def test_days_follow_each_other() -> None:
    """Acceptance 8: three run dates in a row."""
    assert simulated_days(date(2026, 12, 31)) == [
        date(2026, 12, 31),
        date(2027, 1, 1),
        date(2027, 1, 2),
    ]


def test_a_dagster_run_that_fails_ends_the_demo(three_days: Stack, tmp_path: Path) -> None:
    """Acceptance 8: a job that ends badly is no day; the message names its log."""
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


SERVE = """
import os, sys
from pathlib import Path
from collection_pipeline.collection.assembly import assemble
from collection_pipeline.demo.services import serve_until_stopped
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.settings import load_settings
from collection_pipeline.simulator.server import SimulatorServer

with SimulatorServer(separate_ports=True) as simulator:
    environment = {**os.environ, **simulator.exports()}
    pipeline = assemble(load_settings(environment), os.environ["COLLECTION_DATABASE_URL"])
    stack = DemoStack(pipeline, simulator, environment, Path(sys.argv[1]), "a server")
    serve_until_stopped(stack, lambda line: print(line, flush=True))
    pipeline.close()
"""


@pytest.fixture
def serving(store_url: str, dagster_url: str, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that keeps all three services running; ended with all of its descendants."""
    collection = {"COLLECTION_DATABASE_URL": store_url, "COLLECTION_SIMULATION": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(tmp_path)],
        env=dagster_environment(collection, dagster_url, ROOT),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    started = {process.pid}
    try:
        yield process
    finally:
        if process.poll() is None:
            started |= descendants(process.pid)
            process.kill()
        process.communicate()
        for pid in started:
            if is_alive(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_the_services_end_with_everything_that_they_started(
    serving: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    """Spec section 3: after SIGTERM no page, webserver, daemon or code server is left."""
    assert serving.stdout is not None
    asked = {"operations page": "/healthz", "Dagster UI": "/server_info"}
    for name, path in asked.items():
        line = serving.stdout.readline()
        assert line.startswith(f"{name}: http://127.0.0.1:"), line
        address = line.split(": ", 1)[1].strip()
        with suppress(HTTPError), urllib.request.urlopen(address + path, timeout=10) as answer:
            assert answer.status == 200
    names = ("dagster_webserver", "dagster._daemon", "api", "operations")

    def all_are_there() -> bool:
        lines = [_command_of(pid) for pid in descendants(serving.pid)]
        return all(any(name in line for line in lines) for name in names)

    wait_until("page, webserver, daemon and code server run", all_are_there)
    started = descendants(serving.pid)
    serving.terminate()
    serving.communicate(timeout=PATIENCE_SECONDS)
    assert serving.returncode == 0
    wait_until("all of them are gone", lambda: not any(map(is_alive, started)))


def _command_of(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")
    return ""

"""The service key comes back nowhere, whatever the portal answers to a command (R29, R47)."""

import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.invariants import secrets_in
from collection_pipeline_tests.kit.library_leaks import (
    CARRIERS,
    CORE,
    ENCODED,
    KEY,
    leaks_in,
    opened_portal,
    portal_settings,
)
from collection_pipeline_tests.kit.library_stack import ingest_runs
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack
from collection_pipeline_tests.scenario.test_secrets import password_of

INGEST = ("ingest", "--deactivate-stale", "--json")


@pytest.fixture
def portal() -> Iterator[SimulatorServer]:
    """A register that accepts the planted key only."""
    with opened_portal() as server:
        yield server


@pytest.fixture
def stack(open_stack: OpenStack, portal: SimulatorServer) -> Stack:
    """Settings that point to it, with the key in its encoded form."""
    return open_stack(**portal_settings(portal, ENCODED))


def test_the_search_finds_every_spelling() -> None:
    """The checks below can fail."""
    for planted in (KEY, ENCODED, quote(ENCODED), quote(KEY), KEY.replace("+", " "), CORE):
        assert leaks_in([f"x{planted}y"]), planted
    assert not leaks_in(["nothing", {"serviceKey": "[redacted]"}])


def test_the_key_is_in_no_output_log_or_table_after_any_carrier(
    stack: Stack, portal: SimulatorServer, caplog: pytest.LogCaptureFixture
) -> None:
    """R29, I9: every library logs all it can; the database's password comes back neither."""
    for name in ("", "urllib3", "requests"):
        caplog.set_level(logging.DEBUG, name)
    cli = CommandLine(stack.environment)
    said = [cli(*INGEST), cli("ingest"), cli("ingest", "--status", "--json")]
    for fault in CARRIERS:
        portal.add_fault(fault)
        said.append(cli(*INGEST))
        assert said[-1].code in (4, 75), fault
        portal.clear_faults()
    ends = [run["run_status"] for run in ingest_runs(stack)]
    assert ends == ["SUCCESS"] * 2 + ["FAILED"] * len(CARRIERS)
    assert all(record["key_ok"] for record in portal.records()), "the key was not really sent"
    assert "urllib3" in caplog.text
    logged = [caplog.text, *(record.__dict__ for record in caplog.records)]
    written = [*(one.out + one.err for one in said), *logged, stack.tables(), portal.records()]
    assert leaks_in(written) == []
    assert not secrets_in(written, [password_of(stack.url)])


def test_a_process_that_logs_everything_shows_no_key(stack: Stack, portal: SimulatorServer) -> None:
    """R29, R47: the key's other form, and a refusal that repeats it."""
    portal.add_fault({"name": "key_echo", "encoding": "raw", "status": 500})
    environment = {**stack.environment, "COLLECTION_LIBRARY_SERVICE_KEY": KEY}
    with WorkerProcess(environment, INGEST, log_level="DEBUG") as worker:
        assert worker.wait() == 4, worker.output
        output = worker.output
    assert "urllib3" in output
    assert portal.records()[0]["key_ok"]
    assert leaks_in([output, stack.tables()]) == []

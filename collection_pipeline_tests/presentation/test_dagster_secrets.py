"""A planted key fails in every way through real Dagster runs: in no table, in no log (I9)."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import dagster as dg
import pytest

from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_world import (
    PATIENCE_SECONDS,
    dagster_environment,
    dagster_process,
)
from collection_pipeline_tests.kit.leak_search import assert_no_secret
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
CORE = "pl4ntedCORE"
KEY = f"{CORE}+/with%odd &chars=="
ENCODED = quote(KEY, safe="")
EXECUTE = ("dagster", "job", "execute", "-m", "collection_pipeline.definitions", "-j")
FAULTS: dict[str, dict[str, object]] = {
    "raw": {"name": "key_echo", "encoding": "raw"},
    "percent": {"name": "key_echo", "encoding": "percent"},
    "double": {"name": "key_echo", "encoding": "double"},
    "refused": {"name": "key_echo", "encoding": "percent", "status": 401},
    "broken": {"name": "key_echo", "encoding": "raw", "status": 500},
    "redirect": {"name": "redirect", "location": f"/elsewhere?access-key={ENCODED}"},
    "reset": {"name": "reset"},
    "silent": {"name": "timeout"},
    "cut": {"name": "reset_midbody"},
}
FAST = {"SLICE_MAX_SECONDS": 30, "REQUEST_DEADLINE_SECONDS": 1, "CONNECT_TIMEOUT_SECONDS": 1}


def _failing_everywhere(open_stack: OpenStack) -> tuple[Stack, dict[str, int]]:
    catalogues = [source("saramin", name, 5) for name in FAULTS]
    stack = open_stack(*catalogues, access_key=KEY, **FAST)
    sources = {name: stack.add("saramin", name) for name in FAULTS}
    for name, fault in FAULTS.items():
        stack.simulator.add_fault({**fault, "platform": "saramin", "key": name})
    return stack, sources


def test_no_key_is_in_any_table_or_log_of_failing_runs(
    open_stack: OpenStack,
    open_instance: OpenInstance,
    store_url: str,
    dagster_url: str,
    tmp_path: Path,
) -> None:
    """R29, I9: raw, percent-encoded, doubly encoded; Dagster's tables, ours, and the run's log."""
    stack, sources = _failing_everywhere(open_stack)
    instance = open_instance(stack)
    log = tmp_path / "log"
    environment = dagster_environment(stack.environment, dagster_url, tmp_path / "home")
    config = tmp_path / "drain.yaml"
    config.write_text("drain: true\n", encoding="utf-8")
    command = (*EXECUTE, "collection_dispatch", "-c", str(config))
    process = dagster_process(environment, *command, output=log)
    assert process.wait(PATIENCE_SECONDS) == 0
    assert {name: stack.end_of(one)[0] for name, one in sources.items()} == dict.fromkeys(
        FAULTS, "FAILED"
    )
    assert all(stack.requests(one) for one in sources.values())

    environment["COLLECTION_DATABASE_URL"] = store_url.replace(
        store_url.rsplit("/", 1)[1], "no_such_database"
    )
    broken = dagster_process(environment, *command, output=log)
    assert broken.wait(PATIENCE_SECONDS) != 0
    statuses = {run.status for run in instance.get_runs()}
    assert statuses == {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE}

    password = store_url.split(":")[2].split("@")[0]
    shown = log.read_text(encoding="utf-8")
    assert "dispatch_slices" in shown
    secrets = {"the key": KEY, "the password": password}
    assert_no_secret(secrets, databases=(store_url, dagster_url), texts={"the run's log": shown})


def test_no_key_is_in_what_the_command_line_says(
    open_stack: OpenStack, store_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """R29, I9: the same failures by hand, from a key in a file; with every command that shows."""
    stack, _ = _failing_everywhere(open_stack)
    cli = CommandLine(stack.environment)
    said = [cli("tick", "--drain", "--json")]
    assert said[0].json["ended"]["FAILED"] == len(FAULTS)
    said += [
        cli(*command)
        for command in (("cycles", "--json"), ("cycles",), ("check", "--json"), ("sources", "list"))
    ]
    printed = "".join(one.out + one.err for one in said) + "".join(capfd.readouterr())
    assert_no_secret({"the key": KEY}, databases=[store_url], texts={"the commands": printed})

"""The installed console entry as a process: exit codes, signals, nothing left behind (R18, R29)."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.command_line import CommandLine, finished
from collection_pipeline_tests.kit.servers import place_data_folder, wanted_kind
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, wait_until

OpenStack = Callable[..., Stack]


def _lines_until(stream: IO[str] | None, last: str) -> list[str]:
    assert stream is not None
    lines: list[str] = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if last in line:
            return lines
    raise AssertionError(f"it ended before it said {last}: {lines}")


def test_the_console_entry_keeps_the_exit_codes(cli: CommandLine, tmp_path: Path) -> None:
    """Spec section 3: 0, 2 and 3 reach the shell; errors go to standard error only."""
    done = cli.in_process_of_its_own("tick", "--json")
    assert (done.code, json.loads(done.out)["slices"], done.err) == (0, 0, "")
    refused = cli.in_process_of_its_own("sources", "enable", 4711)
    assert (refused.code, refused.out) == (2, "")
    assert "4711" in refused.sentence
    lost = cli.in_process_of_its_own("check", DATABASE_URL="mysql://me:hidden-word@127.0.0.1:1/q")
    assert (lost.code, lost.out) == (3, "")
    assert "hidden-word" not in lost.sentence


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_tick_that_is_asked_to_stop_stores_what_it_has(
    open_stack: OpenStack, number: signal.Signals
) -> None:
    """R18: it ends well after the request in flight; the next tick fetches no page twice."""
    stack = open_stack(source("saramin", "long", 500), HOST_MIN_DELAY_MS=400)
    long = stack.add("saramin", "long")
    cli = CommandLine(stack.environment)
    process = cli.process("tick", "--drain", "--json")
    try:
        wait_until("a page was fetched", lambda: len(stack.requests(long)) >= 1)
        process.send_signal(number)
    finally:
        said = finished(process)
    assert said.json["continued"] == 1
    cycle = stack.cycle(long)
    assert (cycle["cycle_status"], cycle["lease_token"]) == ("PENDING", None)
    pages = stack.pages(long)
    assert cycle["list_page_count"] == len(pages) < 5
    assert cli("tick", "--drain", "--json", HOST_MIN_DELAY_MS="10").json["ended"]["SUCCESS"] == 1
    assert stack.pages(long) == [0, 1, 2, 3, 4]
    assert set(stack.postings(long)) == stack.catalogue(long)


def test_the_simulator_prints_exports_and_ends_on_sigterm(cli: CommandLine, tmp_path: Path) -> None:
    """Spec section 3: its exports point a shell at it; a tick of that shell collects from it."""
    log = tmp_path / "requests.jsonl"
    process = cli.process("simulator", "--log", log)
    try:
        lines = _lines_until(process.stdout, "COLLECTION_SARAMIN_ACCESS_KEY")
        exports = dict(
            line.removeprefix("export COLLECTION_").split("=", 1)
            for line in lines
            if line.startswith("export ")
        )
        for name in ("posting.collection-dispatch-v2", "aggregator.collection"):
            cli("flags", "set", name, "on", "--by", "test")
        condition = ("--condition", "keywords=single")
        cli("sources", "add", "--platform", "saramin", "--label", "one", *condition)
        assert cli("tick", "--json", **exports).json["ended"]["SUCCESS"] == 1
    finally:
        process.terminate()
        ended = finished(process)
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(log.read_text(encoding="utf-8").splitlines()[0])["search_key"] == "single"


@pytest.mark.timeout(60)  # one that serves after all would go on for ever
def test_a_simulator_that_cannot_serve_says_why(cli: CommandLine, tmp_path: Path) -> None:
    """Spec section 3: exit code 2 for a taken port, a missing, broken or misspelt scenario."""
    misspelt, broken = tmp_path / "misspelt.json", tmp_path / "broken.json"
    misspelt.write_text('{"surces": []}', encoding="utf-8")
    broken.write_text("{", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        calls: list[tuple[object, ...]] = [
            ("--port", port),
            ("--scenario", tmp_path / "missing.json"),
            ("--scenario", broken),
            ("--scenario", misspelt),
            ("--scenario", "no-such-name"),
            ("--log", broken / "log"),
        ]
        for options in calls:
            refused = cli("simulator", *options)
            assert refused.code == 2, options
            assert "simulator cannot serve" in refused.sentence


@pytest.fixture
def home(tmp_path: Path) -> Iterator[CommandLine]:
    """A command line whose private server has its data folder in place; stopped afterwards."""
    server = PrivateServer(tmp_path / "db" / wanted_kind(), prefer=wanted_kind())
    place_data_folder(server)
    (tmp_path / "db").chmod(0o700)
    state = tmp_path / "db" / "state.json"
    environment = {"COLLECTION_HOME": str(tmp_path)}
    if wanted_kind() == "mariadb":
        environment["PATH"] = os.pathsep.join(
            [str(server.binary.command[0]).rsplit("/", 1)[0], os.environ["PATH"]]
        )
    cli = CommandLine(environment)
    try:
        yield cli
    finally:
        if state.exists():
            cli("local-db", "stop")
        shutil.rmtree(tmp_path / "db", ignore_errors=True)


def test_the_private_server_is_started_looked_at_and_stopped(home: CommandLine) -> None:
    """Spec section 3: one JSON document each, no password; nothing else is to be set."""
    nothing = {"running": False, "kind": None, "version": None, "port": None, "pid": None}
    assert home("local-db", "status", "--json").json == nothing
    started = home.in_process_of_its_own("local-db", "start", "--json").json
    assert started["running"] is True
    assert started["kind"] in ("mysql", "mariadb")
    assert home("local-db", "start", "--json").json == started
    assert home("local-db", "status", "--json").json == started
    with socket.create_connection(("127.0.0.1", started["port"]), timeout=5):
        pass
    assert home("db", "migrate").code == 0
    assert home("check", "--json").json["database_version"] == started["version"]
    exports = home("env").out
    password = exports.split("://collection:")[1].split("@")[0]
    assert f"127.0.0.1:{started['port']}/collection_dagster" in exports
    assert password not in "".join(
        home(*command).out for command in (("local-db", "status"), ("check",))
    )
    assert home("local-db", "stop", "--json").json == {"stopped": True}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", started["port"]), timeout=5)
    assert home("local-db", "stop", "--json").json == {"stopped": False}
    assert home("tick").code == 3


def test_a_named_database_needs_no_private_server(cli: CommandLine, tmp_path: Path) -> None:
    """Spec section 3: with COLLECTION_DATABASE_URL nothing is started."""
    document = cli("local-db", "start", "--json", HOME=str(tmp_path)).json
    assert (document["running"], document["pid"]) == (True, None)
    assert list(tmp_path.iterdir()) == []
    assert "not needed" in cli("local-db", "status", HOME=str(tmp_path)).out

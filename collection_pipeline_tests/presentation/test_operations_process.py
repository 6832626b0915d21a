"""``collection-pipeline operations`` as the process that a shell or a supervisor starts."""

import signal
import socket
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from collection_pipeline_tests.kit.command_line import CommandLine, finished
from collection_pipeline_tests.kit.operations_client import RUNS_PATH

TOKEN = "planted-token-4711"


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """Loads no certificates, which takes a while and is not needed on loopback."""
    with httpx.Client(verify=False, timeout=20) as opened:
        yield opened


def address_of(process: "subprocess.Popen[str]") -> str:
    """What it prints once it listens."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("operations: http://"), line
    return line.removeprefix("operations: ").strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_well(
    cli: CommandLine, client: httpx.Client, number: signal.Signals
) -> None:
    """Section 3: exit code 0 after either signal; nothing of what was asked is logged."""
    process = cli.process("operations", "--port", "0", OPERATIONS_TOKEN=TOKEN)
    try:
        address = address_of(process)
        assert address.startswith("http://127.0.0.1:")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = client.get(f"{address}{RUNS_PATH}", headers=headers)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert client.get(f"{address}/nowhere?{TOKEN}", headers=headers).status_code == 404
        assert client.get(address).status_code == 401
        assert client.request("FOO", address).status_code == 405
        process.send_signal(number)
    finally:
        said = finished(process)
    assert (said.code, said.out, said.err) == (0, "", "")


def test_it_serves_without_a_database(cli: CommandLine, client: httpx.Client) -> None:
    """It starts and reports: the monitor must learn of the outage from somebody."""
    url = "mysql://me:hidden-word@127.0.0.1:1/queue"
    process = cli.process("operations", "--port", "0", "--host", "localhost", DATABASE_URL=url)
    try:
        address = address_of(process)
        assert client.get(f"{address}/healthz").json()["status"] == "down"
        assert client.get(f"{address}{RUNS_PATH}").status_code == 503
        process.terminate()
    finally:
        said = finished(process)
    assert (said.code, said.out) == (0, "")
    assert "hidden-word" not in said.err


def test_what_keeps_it_from_serving_is_one_sentence(cli: CommandLine) -> None:
    """Section 3: exit code 3 for configuration: no token beyond loopback, a taken port, a URL."""
    refused = cli("operations", "--host", "0.0.0.0", "--port", 0)
    assert refused.code == 3
    assert "COLLECTION_OPERATIONS_TOKEN" in refused.sentence
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = cli("operations", "--port", taken.getsockname()[1])
    assert busy.code == 3
    assert "in use" in busy.sentence
    nowhere = cli("operations", "--host", "192.0.2.1", "--port", 0, OPERATIONS_TOKEN=TOKEN)
    assert nowhere.code == 3
    assert TOKEN not in nowhere.sentence
    for empty in ("", " "):
        refused = cli("operations", "--host", empty, "--port", 0, OPERATIONS_TOKEN=TOKEN)
        assert refused.code == 3
        assert "--host is empty" in refused.sentence
    assert cli("operations", DATABASE_URL="postgres://x/y").code == 3
    assert cli("operations", LEASE_SECONDS="0").code == 3
    assert cli("operations", "--port", 65536).code == 2

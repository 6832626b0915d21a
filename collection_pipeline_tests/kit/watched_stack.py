"""What a network of its own is watched for: ``demo`` and ``up``, or a tick at the real addresses.

Started as ``python -m <this module> REPORT DAYS`` (0: at the real addresses, after an earlier demo)
inside ``lonely_network``. It reports as JSON and judges nothing: the test does.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self
from unittest.mock import patch
from urllib.parse import urlsplit

from collection_pipeline.demo import days as demo_days
from collection_pipeline.demo import stack as demo_stack
from collection_pipeline.demo.services import DAGSTER_PORT, OPERATIONS_PORT
from collection_pipeline.local_db.persistent import start_local
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.command_line import CONSOLE_ENTRY, CommandLine
from collection_pipeline_tests.kit.dagster_world import PATIENCE_SECONDS, descendants, is_alive
from collection_pipeline_tests.kit.servers import wanted_kind
from collection_pipeline_tests.kit.simulator_calls import Answer, call
from collection_pipeline_tests.kit.stack import wait_until

OPERATIONS = f"http://127.0.0.1:{OPERATIONS_PORT}"
DAGSTER = f"http://127.0.0.1:{DAGSTER_PORT}"
PAGES = ("/", "/postings", "/healthz", "/metrics", "/api/operations/collection-runs")
DAEMONS = "{instance {daemonHealth {allDaemonStatuses {daemonType required healthy}}}}"
LOCATIONS = "{workspaceOrError {... on Workspace {locationEntries {loadStatus name}}}}"
SERVICES = ("dagster_webserver", "dagster._daemon", "dagster api", "operations")
HOOK = "https://hooks.example.test/services/planted-path"
REAL_SETTINGS = {
    "SIMULATION": "1",
    "HOST_MIN_DELAY_MS": "10",
    "SARAMIN_ACCESS_KEY": "an-access-key",
    "LIBRARY_SERVICE_KEY": "a-service-key",
    "WEBHOOK_URL": HOOK,
}
Part = dict[str, Any]


class ToldSimulator(SimulatorServer):
    """Leaves the ports at which the demo's platforms are reached."""

    ports: ClassVar[dict[str, int]] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        self.ports.update(ports_in(self.exports()))
        return self


def run_demo(number_of_days: int) -> Part:
    """The command itself, with fewer days where the run is to be short."""
    named = {name: os.environ[name] for name in ("COLLECTION_HOME", "DAGSTER_HOME")}
    with (
        patch.object(demo_days, "DAYS", number_of_days),
        patch.object(demo_stack, "start_local", partial(start_local, wanted_kind())),
        patch.object(demo_stack, "SimulatorServer", ToldSimulator),
    ):
        said = CommandLine(named)("demo")
    return {"code": said.code, "out": said.out, "err": said.err, "ports": ToldSimulator.ports}


def serve_and_ask() -> Part:
    """``up`` until page, Dagster's UI, daemon and code server all have answered; then SIGTERM."""
    process = subprocess.Popen([CONSOLE_ENTRY, "up"], stdout=subprocess.PIPE, text=True)
    started: set[int] = set()
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        wait_until("all services run", partial(_are_there, process.pid))
        wait_until("the code is loaded", partial(_says, LOCATIONS, _is_loaded))
        wait_until("every daemon is healthy", partial(_says, DAEMONS, _is_healthy))
        ports = ports_in(_environment_of(process.pid))
        pages = {path: call(OPERATIONS, path).status for path in PAGES}
        interface = call(DAGSTER, "/").text
        started = descendants(process.pid)
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
        with suppress(AssertionError):
            wait_until("all of them are gone", lambda: not any(map(is_alive, started)))
        left = [*filter(is_alive, started)]
    finally:
        if process.poll() is None:
            started |= descendants(process.pid)
            process.kill()
            process.communicate()
        for pid in filter(is_alive, started):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return {
        "code": process.returncode,
        "lines": lines,
        "pages": pages,
        "ports": ports,
        "left": left,
        "telemetry_is_off": '"telemetryEnabled": false' in interface,
    }


def work_at_the_real_addresses() -> Part:
    """The morning after: a tick and an ingest with no address set but the webhook's."""
    home = str(Path(os.environ["COLLECTION_HOME"]) / "demo")
    cli = CommandLine({"COLLECTION_HOME": home})
    settings = dict(REAL_SETTINGS)
    part: Part = {"start": cli("local-db", "start").code}
    try:
        shown = datetime.fromisoformat(cli("clock", "show", **settings).out.strip())
        morning = shown.replace(hour=9, minute=30) + timedelta(days=1)
        part["clock"] = cli("clock", "set", morning.isoformat(), **settings).code
        part["tick"] = cli("tick", "--drain", "--json", **settings).json
        part["ingest"] = cli("ingest", "--json", **settings).code
    finally:
        cli("local-db", "stop")
    return part


def ports_in(environment: Mapping[str, str]) -> dict[str, int]:
    """The ports of the addresses that are configured in it, by the setting's name."""
    urls = ((name, text) for name, text in environment.items() if name.endswith("_URL"))
    return {name: port for name, url in urls if (port := urlsplit(url).port) is not None}


def main(report: str, number_of_days: str) -> None:
    """The parts by name."""
    if number_of_days == "0":
        parts = {"real": work_at_the_real_addresses()}
    else:
        parts = {"demo": run_demo(int(number_of_days)), "up": serve_and_ask()}
    Path(report).write_text(json.dumps(parts), encoding="utf-8")


def _are_there(pid: int) -> bool:
    lines = [_command_of(one) for one in descendants(pid)]
    return all(any(name in line for line in lines) for name in SERVICES)


def _says(query: str, judge: Callable[[Any], bool]) -> bool:
    answer: Answer = call(
        DAGSTER,
        "/graphql",
        {"Content-Type": "application/json"},
        method="POST",
        body={"query": query},
    )
    return answer.status == 200 and judge(answer.json["data"])


def _is_loaded(data: Any) -> bool:
    entries = data["workspaceOrError"]["locationEntries"]
    return bool(entries) and all(entry["loadStatus"] == "LOADED" for entry in entries)


def _is_healthy(data: Any) -> bool:
    statuses = data["instance"]["daemonHealth"]["allDaemonStatuses"]
    return bool(statuses) and all(one["healthy"] for one in statuses if one["required"])


def _environment_of(pid: int) -> dict[str, str]:
    """What the operations page below ``pid`` was told: the addresses of the whole stack."""
    (page,) = [one for one in descendants(pid) if " operations --host" in _command_of(one)]
    pairs = Path(f"/proc/{page}/environ").read_text("utf-8").split("\0")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _command_of(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8").replace("\0", " ")
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])

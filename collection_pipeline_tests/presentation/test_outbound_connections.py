"""Nothing of the whole stack connects anywhere but to what is configured, and telemetry is off.

The stack runs in a network that has nothing but loopback and in which the kernel counts every
packet that finds no way out. So the answer is complete, whatever process asked in whatever
language; the Python processes add who it was and for which name. Before each test of silence stands
one that shows that the watch hears.
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from collection_pipeline.demo.services import DAGSTER_PORT, OPERATIONS_PORT
from collection_pipeline.settings import PLATFORM_BASE_URLS
from collection_pipeline_tests.kit import watched_stack
from collection_pipeline_tests.kit.dagster_world import ROOT
from collection_pipeline_tests.kit.proof import record, tries
from collection_pipeline_tests.kit.servers import wanted_kind
from collection_pipeline_tests.kit.socket_watch import Watched, watched

pytestmark = pytest.mark.timeout(900)

SECONDS = 800.0
"""The long set runs the demo's three days; the fast one the first of them."""
SILENCE: dict[str, int] = {}
TALKERS = {
    "an address": (
        "import socket; socket.create_connection(('192.0.2.1', 443), 2)",
        {"192.0.2.1"},
    ),
    "an address over IPv6": (
        "import socket; socket.create_connection(('2001:db8::1', 443), 2)",
        {"2001:db8::1"},
    ),
    "a name": (
        "import urllib.request as r; r.urlopen('https://telemetry.example.test/', timeout=2)",
        {"telemetry.example.test"},
    ),
    "a datagram": (
        "import socket as s; s.socket(type=s.SOCK_DGRAM).sendto(b'x', ('192.0.2.9', 8125))",
        {"192.0.2.9"},
    ),
    "a process without the witness": (
        "import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', "
        "\"import socket; socket.create_connection(('192.0.2.1', 443), 2)\"])",
        set(),
    ),
}
UPLOAD = """
import threading, dagster
from dagster._core.telemetry import START_DAGSTER_WEBSERVER, log_action
from dagster._core.telemetry_upload import upload_logs

class Once(threading.Event):
    def wait(self, timeout=None):
        self.set()

with dagster.DagsterInstance.get() as instance:
    log_action(instance, START_DAGSTER_WEBSERVER)
upload_logs(Once())
"""


@dataclass(frozen=True)
class Run:
    """The watched demo with what it left, and its folder."""

    watched: Watched
    parts: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """``demo``, then ``up`` with every service asked, in one network."""
    folder = tmp_path_factory.mktemp("watched")
    for name in ("dagster.yaml", "workspace.yaml"):
        shutil.copy(ROOT / name, folder)
    seen = watched(
        _stack(folder, "demo.json", tries(1, long=3)), _environment(folder), folder, SECONDS
    )
    assert seen.code == 0, seen.output
    return Run(seen, json.loads((folder / "demo.json").read_text("utf-8")), folder)


@pytest.mark.parametrize("talker", TALKERS)
def test_the_watch_hears_whoever_calls_out(tmp_path: Path, talker: str) -> None:
    """A watch that could hear nothing would prove nothing."""
    program, named = TALKERS[talker]
    seen = watched((sys.executable, "-c", program), _environment(tmp_path), tmp_path, 60)
    assert seen.interfaces == ["lo"]
    assert seen.heard != SILENCE
    assert seen.strangers == named


def test_a_stack_at_work_and_in_service_connects_to_nothing_else(demo: Run) -> None:
    """No telemetry, no look-up, no packet: from the first process to the last one's end."""
    done, served = demo.parts["demo"], demo.parts["up"]
    assert done["code"] == 0, done["err"]
    assert "no difference" in done["out"]
    assert (served["code"], set(served["pages"].values())) == (0, {200})
    assert demo.watched.interfaces == ["lo"]
    assert demo.watched.heard == SILENCE
    assert demo.watched.strangers == set()
    record("outbound connections", watched_connects=len(demo.watched.talks))


def test_each_process_connects_only_to_what_it_was_told(demo: Run) -> None:
    """Platforms, database, and the stack's own two services; every platform's port was used."""
    state = json.loads((demo.folder / "home/demo/db/state.json").read_text("utf-8"))
    database, own = {state["port"]}, {DAGSTER_PORT, OPERATIONS_PORT}
    simulated: dict[str, int] = demo.parts["demo"]["ports"]
    platforms = {port for name, port in simulated.items() if "LIBRARY" not in name}
    assert len(platforms) == len(PLATFORM_BASE_URLS) - 1, "each platform has a port of its own"
    assert _ports(demo.watched, "dagster job execute") == database | platforms
    told = database | own | platforms | set(demo.parts["up"]["ports"].values())
    assert _ports(demo.watched, "") <= told
    assert _ports(demo.watched, "dagster_webserver") == database
    assert _ports(demo.watched, "dagster._daemon") == database
    assert _ports(demo.watched, "cli.main operations") == database


def test_at_the_real_addresses_only_those_are_asked_for(demo: Run) -> None:
    """Nothing but the configured platforms and the webhook is looked up by a tick and an ingest."""
    folder = demo.folder / "real"
    folder.mkdir()
    seen = watched(_stack(demo.folder, "real.json", 0), _environment(demo.folder), folder, SECONDS)
    assert seen.code == 0, seen.output
    part = json.loads((demo.folder / "real.json").read_text("utf-8"))["real"]
    assert (part["start"], part["clock"], part["ingest"]) == (0, 0, 75)
    assert part["tick"]["ended"]["FAILED"] == part["tick"]["claimed"] > 0
    hosts = {urlsplit(url).hostname for url in PLATFORM_BASE_URLS.values()}
    assert seen.strangers == hosts | {urlsplit(watched_stack.HOOK).hostname}
    assert seen.heard != SILENCE


@pytest.mark.parametrize("enabled", [True, False])
def test_dagsters_own_telemetry_is_off_in_its_file(tmp_path: Path, enabled: bool) -> None:
    """Also without the variable that the demo sets: what its services send as they start.

    With the switch turned on in a copy, the same program calls out: so it is the file that counts.
    """
    found = yaml.safe_load((ROOT / "dagster.yaml").read_text("utf-8"))
    own_storage = {name: value for name, value in found.items() if name != "storage"}
    if enabled:
        own_storage["telemetry"] = {"enabled": True}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(own_storage), encoding="utf-8")
    environment = {**_environment(tmp_path), "HOME": str(tmp_path)}
    seen = watched((sys.executable, "-c", UPLOAD), environment, tmp_path, 60)
    assert seen.code == 0, seen.output
    assert (seen.heard != SILENCE) is enabled
    assert seen.strangers == ({"telemetry.dagster.io"} if enabled else set())


def test_dagsters_page_is_told_to_send_nothing(demo: Run) -> None:
    """The browser's part of the telemetry follows the same switch."""
    assert demo.parts["up"]["telemetry_is_off"]


def test_the_services_ended_with_everything_that_they_started(demo: Run) -> None:
    """Spec section 3: after SIGTERM no page, webserver, daemon or code server is left."""
    assert demo.parts["up"]["left"] == []
    assert demo.parts["up"]["lines"][1:] == [
        f"operations page: {watched_stack.OPERATIONS}\n",
        f"Dagster UI: {watched_stack.DAGSTER}\n",
    ]


def _stack(folder: Path, report: str, days: int) -> tuple[str, ...]:
    return (sys.executable, "-m", watched_stack.__name__, str(folder / report), str(days))


def _environment(folder: Path) -> dict[str, str]:
    """The machine's, with homes below ``folder`` and no switch against telemetry."""
    foreign = ("COLLECTION_", "DAGSTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {
        **kept,
        "COLLECTION_TEST_SERVER": wanted_kind(),
        "COLLECTION_HOME": str(folder / "home"),
        "DAGSTER_HOME": str(folder),
        "PYTHONWARNINGS": "ignore",
    }


def _ports(seen: Watched, word: str) -> set[int]:
    return {address[1] for address in seen.asked_by(word) if isinstance(address, tuple)}

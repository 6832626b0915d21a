"""The simulator as a process: prints its addresses, ends on a signal, loses no line."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collection_pipeline_tests.kit.simulator_calls import call, saramin

COMMAND = [sys.executable, "-m", "collection_pipeline.simulator"]


def start(*options: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """The process and its exports, once it serves."""
    process = subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    exports: dict[str, str] = {}
    for line in process.stdout:
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").strip().partition("=")
            exports[name] = value
        if "COLLECTION_LEVER_EU_BASE_URL" in line:
            break
    return process, exports


def finish(process: subprocess.Popen[str], number: int) -> int:
    """Send a signal and give the exit code."""
    process.send_signal(number)
    code = process.wait(10)
    assert process.stdout is not None
    process.stdout.close()
    return code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_well(number: int) -> None:
    process, exports = start("--access-key", "own-key")
    try:
        total = call(
            exports["COLLECTION_SARAMIN_BASE_URL"], saramin("backend", key="own-key")
        ).json["jobs"]["total"]
        euro = call(
            exports["COLLECTION_LEVER_EU_BASE_URL"], "/v0/postings/euro-demo?mode=json"
        ).json
    finally:
        code = finish(process, number)
    assert (total, len(euro), code) == ("2594", 12, 0)
    assert "COLLECTION_SARAMIN_ACCESS_KEY" not in exports
    assert {
        f"COLLECTION_{name}_BASE_URL" for name in ("WANTED", "JUMPIT", "GREENHOUSE", "LEVER")
    } <= set(exports)


def test_killing_the_process_loses_no_answered_request(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"default_count": 40}), encoding="utf-8")
    process, exports = start("--scenario", str(scenario), "--log", str(path))
    try:
        for number in range(5):
            call(exports["COLLECTION_SARAMIN_BASE_URL"], saramin("any", number))
    finally:
        finish(process, signal.SIGKILL)
    pages = [json.loads(line)["page"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert pages == [0, 1, 2, 3, 4]


def test_a_bad_scenario_ends_the_process_with_a_usage_error(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"surces": []}', encoding="utf-8")
    ended = subprocess.run(
        [*COMMAND, "--scenario", str(scenario)], capture_output=True, text=True, timeout=20
    )
    assert ended.returncode == 2
    assert "surces" in ended.stderr

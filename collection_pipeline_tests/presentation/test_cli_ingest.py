"""``ingest`` by hand and from outside: exit codes, counts, CSV lines, status (R46 to R51)."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline_tests.kit.command_line import CommandLine, Said, finished
from collection_pipeline_tests.kit.deploy_rules import LIBRARY_COMMAND
from collection_pipeline_tests.kit.library_rows import csv_text, library_rows
from collection_pipeline_tests.kit.library_stack import (
    SERVICE_KEY,
    SMALL,
    THREE_PAGES,
    active_libraries,
    add_library_fault,
    ends,
    ingest_runs,
    library_requests,
    register_locked,
    serve_libraries,
    switch_schedule,
)
from collection_pipeline_tests.kit.stack import Stack, wait_until

OpenStack = Callable[..., Stack]
COUNTS = ("fetched", "upserted", "added", "changed", "reactivated", "deactivated", "unkeyable")
FULL = ("ingest", "--deactivate-stale", "--json")


@pytest.fixture
def stack(open_stack: OpenStack) -> Stack:
    """A register of 60 libraries behind the portal, an empty one in the database."""
    return serve_libraries(open_stack())


@pytest.fixture
def run(stack: Stack) -> CommandLine:
    """The command line with the stack's settings."""
    return CommandLine(stack.environment)


def _counts(document: dict[str, Any]) -> tuple[int, ...]:
    return tuple(document[name] for name in COUNTS)


def _failed(said: Said, code: int) -> dict[str, Any]:
    assert (said.code, said.err) == (code, "")
    document: dict[str, Any] = json.loads(said.out)
    assert document["status"] == "FAILED"
    return document


def test_a_run_tells_its_counts_and_the_same_again_changes_nothing(
    run: CommandLine, stack: Stack
) -> None:
    """R51: one JSON document, zeros present; the row says who started it and what was asked."""
    document = run(*FULL).json
    assert _counts(document) == (SMALL, SMALL, SMALL, 0, 0, 0, 0)
    assert (document["status"], document["reason"], document["problems"]) == ("SUCCESS", None, [])
    assert (document["source"], document["trigger"]) == ("library", "manual")
    assert (document["stated_total"], document["unparsed"]) == (SMALL, 0)
    (row,) = ingest_runs(stack)
    assert row["id"] == document["ingest_run_id"] and row["dagster_run_id"] is None
    assert (row["deactivate_stale"], row["allow_shrink"]) == (1, 0)
    assert _counts(run(*FULL).json) == (SMALL, SMALL, 0, 0, 0, 0, 0)
    assert active_libraries(stack) == SMALL


def test_the_command_of_the_deploy_files_brings_what_changed(
    run: CommandLine, stack: Stack
) -> None:
    """Contract of deploy/: rows go away, come and change; the text names every count."""
    serve_libraries(stack, changes={"2": {"remove": 6, "add": 9, "edit": 5}})
    assert run(*LIBRARY_COMMAND).code == 0
    stack.set_clock(2)
    said = run(*LIBRARY_COMMAND)
    assert said.code == 0
    assert "SUCCESS: fetched 63 of 63, upserted 63, added 9, changed 5, " in said.out
    assert "reactivated 0, deactivated 6, unkeyable 0, unparsed 0, " in said.out
    assert [end[1] for end in ends(stack)] == ["external", "external"]
    assert active_libraries(stack) == SMALL + 3


def test_stale_rows_stay_and_a_small_register_is_refused_unless_asked_for(
    run: CommandLine, stack: Stack
) -> None:
    """R46, R49: both options are off by default and reach the service."""
    run("ingest")
    serve_libraries(stack, count=50)
    assert run("ingest", "--json").json["deactivated"] == 0
    serve_libraries(stack, count=20)
    refused = _failed(run(*FULL), 4)
    assert refused["reason"].startswith("too small: 20 rows against 60 active ones")
    assert active_libraries(stack) == SMALL
    assert run(*FULL, "--allow-shrink").json["deactivated"] == 40


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [
        ({"name": "library_error", "code": 1, "carrier": "service"}, 75, "RETRY_LATER"),
        ({"name": "library_error", "code": 99, "carrier": "gateway_json"}, 75, "RETRY_LATER"),
        ({"name": "http_503"}, 75, "RETRY_LATER"),
        ({"name": "captcha"}, 75, "RETRY_LATER"),
        ({"name": "empty_body"}, 75, "RETRY_LATER"),
        ({"name": "reset"}, 75, "RETRY_LATER"),
        ({"name": "library_error", "code": 22, "carrier": "flat"}, 4, "QUOTA"),
        ({"name": "library_error", "code": 30}, 4, "KEY"),
        ({"name": "library_error", "code": 12}, 4, "CONFIGURATION"),
        ({"name": "changed_envelope"}, 4, "BAD_ANSWER"),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else None,
)
def test_only_what_may_be_over_the_same_day_ends_with_75(
    run: CommandLine, stack: Stack, fault: dict[str, Any], code: int, kind: str
) -> None:
    """Spec section 3: a used-up quota is back at midnight, so not the same day; nothing is sent
    twice, and nothing is written."""
    add_library_fault(stack, **fault)
    document = _failed(run(*FULL), code)
    assert (document["failure_kind"], document["retry_later"]) == (kind, code == 75)
    assert document["reason"].startswith("unreadable: ")
    assert len(library_requests(stack)) == 1
    assert (ends(stack), active_libraries(stack)) == ([("library", "manual", "FAILED")], 0)


def test_without_a_usable_key_or_database_no_run_begins(run: CommandLine, stack: Stack) -> None:
    """R47: exit code 3, one sentence, the key is not shown; and no row is left."""
    for key in ("", "broken%2", "doubly%252Bencoded", "has a space"):
        refused = run(*FULL, LIBRARY_SERVICE_KEY=key)
        assert refused.code == 3
        assert "COLLECTION_LIBRARY_SERVICE_KEY" in refused.sentence
        assert not key or key not in refused.sentence
    lost = run(*FULL, DATABASE_URL="mysql://me:hidden-word@127.0.0.1:1/q")
    assert lost.code == 3
    assert "hidden-word" not in lost.sentence
    assert (ends(stack), library_requests(stack)) == ([], [])


@pytest.mark.parametrize(
    "options",
    [
        ("--source", "csv"),
        ("--source", "csv", "--file", "/no/such/file.csv"),
        ("--file", __file__),
        ("--source", "ftp"),
        ("--trigger", "scheduled"),
        ("--trigger", "nobody"),
    ],
)
def test_a_wrong_command_starts_nothing(
    run: CommandLine, stack: Stack, options: tuple[str, ...]
) -> None:
    """R46: what the one configuration refuses is a usage error here; nobody can pretend to be the
    schedule."""
    refused = run("ingest", *options)
    assert (refused.code, refused.out) == (2, "")
    assert "--" in refused.err
    assert ends(stack) == []


def test_the_options_are_the_fields_of_the_one_configuration(run: CommandLine) -> None:
    """R46: a field that the command line forgot could only be set by Dagster."""
    shown = run("ingest", "--help").out
    for name in IngestConfig.model_fields:
        assert f"--{name.replace('_', '-')}" in shown, name


def test_both_forms_of_the_key_work_from_the_environment_or_a_file(
    run: CommandLine, tmp_path: Path
) -> None:
    """R47: as the portal hands them out."""
    encoded = SERVICE_KEY.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D")
    kept = tmp_path / "key"
    kept.write_text(f"{encoded}\n", encoding="utf-8")
    assert run(*FULL, LIBRARY_SERVICE_KEY=encoded).json["fetched"] == SMALL
    in_file = {"LIBRARY_SERVICE_KEY": "", "LIBRARY_SERVICE_KEY_FILE": str(kept)}
    assert run(*FULL, **in_file).json["fetched"] == SMALL


def test_a_busy_register_is_a_success_that_says_skipped(run: CommandLine, stack: Stack) -> None:
    """R48: exit code 0 for the portal and a file alike; nothing is asked for."""
    with register_locked(stack):
        document = run(*FULL).json
        said = run("ingest", "--source", "csv", "--file", __file__)
    assert (document["status"], document["fetched"]) == ("SKIPPED", 0)
    assert document["reason"].startswith("busy: ")
    assert (said.code, "SKIPPED: busy: " in said.out) == (0, True)
    assert {end[2] for end in ends(stack)} == {"SKIPPED"}
    assert library_requests(stack) == []


@pytest.mark.parametrize("codec", ["cp949", "utf-8-sig"])
def test_a_csv_file_is_stored_and_its_bad_lines_are_named(
    run: CommandLine, stack: Stack, tmp_path: Path, codec: str
) -> None:
    """R50: everything else is kept; what was left out may be any library, so none is switched
    off."""
    rows = library_rows(range(30))
    path = tmp_path / "libraries.csv"
    path.write_text(csv_text(rows), codec)
    loaded = run(*FULL, "--source", "csv", "--file", path, LIBRARY_SERVICE_KEY="")
    assert (loaded.json["upserted"], loaded.json["stated_total"]) == (30, None)
    lines = csv_text(rows[:28]).splitlines()
    lines[3] += ",too much"
    lines[7] = lines[7].rsplit(",", 2)[0]
    path.write_text("\n".join(lines), codec)
    said = run("ingest", "--deactivate-stale", "--source", "csv", "--file", path)
    assert said.code == 0
    assert "fetched 26, " in said.out and "left out 2" in said.out and "deactivated 0" in said.out
    assert said.out.splitlines()[1:] == ["  line 4: too many fields", "  line 8: too few fields"]
    assert active_libraries(stack) == 30
    assert library_requests(stack) == []


def test_a_file_that_is_no_such_csv_changes_nothing(
    run: CommandLine, stack: Stack, tmp_path: Path
) -> None:
    """R49: another file's header, and no text at all; the run is recorded as FAILED."""
    run(*FULL)
    before = stack.tables(without=["ingest_runs"])
    for content in (b"a,b,c\n1,2,3\n", b"\x89PNG\r\n\x1a\n\x00\x00"):
        path = tmp_path / "other"
        path.write_bytes(content)
        document = _failed(run(*FULL, "--source", "csv", "--file", path), 4)
        assert "not the portal's header" in document["reason"]
    assert stack.tables(without=["ingest_runs"]) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_stop_ends_after_the_page_in_flight(
    open_stack: OpenStack, number: signal.Signals
) -> None:
    """R18: exit code 4 with its reason; nothing was written, and the register is free."""
    stack = serve_libraries(open_stack(HOST_MIN_DELAY_MS=2_000), THREE_PAGES)
    cli = CommandLine(stack.environment)
    process = cli.process(*FULL)
    try:
        wait_until("a page was fetched", lambda: len(library_requests(stack)) >= 1)
        process.send_signal(number)
    finally:
        said = finished(process)
    document = _failed(said, 4)
    assert document["reason"].startswith("stopped: ")
    assert document["retry_later"] is False
    assert len(library_requests(stack)) < 3
    assert (ends(stack), active_libraries(stack)) == ([("library", "manual", "FAILED")], 0)
    with register_locked(stack):
        pass


def test_the_status_leads_through_the_order_of_activation(
    run: CommandLine, stack: Stack, tmp_path: Path
) -> None:
    """R50: manual success, flag and schedule on, one real trigger, counts checked."""

    def step() -> tuple[str, str | None]:
        document = run("ingest", "--status", "--json").json
        last = document["last_run"]
        return document["next_step"], last and last["status"]

    assert step() == ("START_BY_HAND", None)
    add_library_fault(stack, "http_500")
    run(*FULL)
    assert step() == ("START_BY_HAND", "FAILED")
    path = tmp_path / "libraries.csv"
    path.write_text(csv_text(library_rows(range(3))), "utf-8")
    run(*FULL, "--source", "csv", "--file", path)
    assert step() == ("START_BY_HAND", "SUCCESS"), "a file proves neither key nor network"
    stack.simulator.clear_faults()
    run(*FULL)
    assert step() == ("SWITCH_ON", "SUCCESS")
    switch_schedule(stack)
    assert step() == ("AWAIT_TRIGGER", "SUCCESS")
    with register_locked(stack):
        run(*FULL, "--trigger", "external")
    assert step() == ("AWAIT_TRIGGER", "SKIPPED"), "a skipped start has shown nothing"
    stack.write("UPDATE ingest_runs SET trigger_kind = 'scheduled' WHERE run_status = 'SUCCESS'")
    assert step()[0] == "CHECK_COUNTS"
    switch_schedule(stack, enabled=False)
    assert step()[0] == "SWITCH_ON"
    run(*FULL, "--trigger", "external")
    assert step()[0] == "CHECK_COUNTS", "a scheduler outside does not ask the flag"


def test_the_status_shows_the_flag_and_the_last_successes(run: CommandLine, stack: Stack) -> None:
    """R50: with times in UTC and counts; it reads only and needs no key."""
    made = run(*FULL).json
    switch_schedule(stack)
    document = run("ingest", "--status", "--json", LIBRARY_SERVICE_KEY="").json
    assert document["flag"]["name"] == "library.ingest-schedule"
    assert (document["flag"]["enabled"], document["flag"]["changed_by"]) == (True, "test")
    manual = document["last_manual_success"]
    assert manual == document["last_run"]
    assert manual["ingest_run_id"] == made["ingest_run_id"]
    assert _counts(manual) == _counts(made)
    assert manual["started_at"].endswith("Z") and manual["finished_at"].endswith("Z")
    assert document["last_scheduled_success"] is None
    shown = run("ingest", "--status").out
    for words in ("library.ingest-schedule", "last manual success", "last scheduled success"):
        assert words in shown
    assert f"SUCCESS: fetched {SMALL} of {SMALL}" in shown
    assert len(ends(stack)) == 1

"""``clock`` moves only simulated days forward (R15); ``flags`` are in MySQL with their history."""

from datetime import datetime, timedelta

import pytest

from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.database import Store

MORNING = "2099-12-02T00:05:00+09:00"


def _shown(cli: CommandLine) -> datetime:
    return datetime.fromisoformat(cli("clock", "show").out.strip())


def test_the_clock_is_shown_in_seoul_time(cli: CommandLine, store_url: str) -> None:
    """R15: the database's time, in KST."""
    store = Store(store_url, now=None)
    try:
        now = store.run(store.clock.now)
    finally:
        store.close()
    shown = _shown(cli)
    assert shown.utcoffset() == timedelta(hours=9)
    assert (
        timedelta() <= shown.replace(tzinfo=None) - timedelta(hours=9) - now < timedelta(minutes=1)
    )


@pytest.mark.parametrize("simulation", [{}, {"SIMULATION": "0"}])
def test_the_clock_is_not_moved_without_simulation(
    cli: CommandLine, simulation: dict[str, str]
) -> None:
    """R15: refused unless SIMULATION=1; the clock stays."""
    before = _shown(cli)
    refused = cli("clock", "set", MORNING, **simulation)
    assert refused.code == 3
    assert "COLLECTION_SIMULATION=1" in refused.sentence
    assert _shown(cli) - before < timedelta(minutes=1)


def test_every_process_reads_the_moved_clock(cli: CommandLine) -> None:
    """R15: the offset is in the database; reading it needs no SIMULATION=1."""
    moved = cli("clock", "set", MORNING, SIMULATION="1")
    assert (moved.code, moved.out.strip()) == (0, MORNING)
    assert timedelta() <= _shown(cli) - datetime.fromisoformat(MORNING) < timedelta(minutes=1)
    assert "2099-12-02" in cli("create-cycles").out


def test_the_clock_goes_only_forward(cli: CommandLine) -> None:
    """R15: leases and due times rely on it; exit code 2, and the clock stays."""
    cli("clock", "set", MORNING, SIMULATION="1")
    refused = cli("clock", "set", "2099-12-01T23:59:59+09:00", SIMULATION="1")
    assert refused.code == 2
    assert "only moves forward" in refused.sentence
    assert _shown(cli) >= datetime.fromisoformat(MORNING)


@pytest.mark.parametrize(
    "moment",
    [
        "tomorrow",
        "2099-12-02T00:05:00",
        "2099-13-02T00:05:00+09:00",
        "9999-12-31T23:59:59+00:00",
        "0001-01-01T00:00:00+09:00",
    ],
)
def test_a_moment_that_is_none_is_refused(cli: CommandLine, moment: str) -> None:
    """R15: without an offset it depends on the machine; at the calendar's end nothing works."""
    refused = cli("clock", "set", moment, SIMULATION="1")
    assert refused.code == 2
    assert "write" in refused.err
    assert cli("tick").code == 0


def test_all_flags_are_off_until_somebody_switches_them(cli: CommandLine) -> None:
    """R44."""
    flags = cli("flags", "list", "--json").json
    assert [(flag["name"], flag["enabled"]) for flag in flags] == [
        ("posting.collection-dispatch-v2", False),
        ("aggregator.collection", False),
        ("library.ingest-schedule", False),
    ]


def test_a_switched_flag_says_who_and_when(cli: CommandLine, store_url: str) -> None:
    """R44: with history; times are ISO 8601 UTC with Z (section 3)."""
    for position in ("on", "off"):
        assert cli("flags", "set", "aggregator.collection", position, "--by", "kim").code == 0
    flag = cli("flags", "list", "--json").json[1]
    assert (flag["enabled"], flag["changed_by"]) == (False, "kim")
    assert flag["changed_at"].endswith("Z")
    assert datetime.fromisoformat(flag["changed_at"]).utcoffset() == timedelta()
    store = Store(store_url, now=None)
    try:
        history = store.rows("SELECT enabled, changed_by FROM feature_flag_changes ORDER BY id")
    finally:
        store.close()
    assert [(row["enabled"], row["changed_by"]) for row in history] == [(1, "kim"), (0, "kim")]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("posting.collection", "on", "--by", "kim"), "posting.collection-dispatch-v2"),
        (("aggregator.collection", "maybe", "--by", "kim"), "on"),
        (("aggregator.collection", "on"), "--by"),
        (("aggregator.collection", "on", "--by", " "), "--by"),
        (("aggregator.collection", "on", "--by", "x" * 101), "100"),
    ],
)
def test_a_bad_switch_is_refused(cli: CommandLine, arguments: tuple[str, ...], named: str) -> None:
    """R44, section 3: unknown flag or position, nobody named: exit code 2, no change."""
    refused = cli("flags", "set", *arguments)
    assert refused.code == 2
    assert named in refused.err
    assert not any(flag["changed_by"] for flag in cli("flags", "list", "--json").json)

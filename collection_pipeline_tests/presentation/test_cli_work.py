"""``create-cycles``, ``tick``, ``cleanup``: the documented shapes and exit codes (R5 to R11)."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from collection_pipeline.collection.slice_processor import CollectionSliceProcessor
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack

OpenStack = Callable[..., Stack]
TICK_KEYS = {
    "tick_id",
    "recovered",
    "prepared",
    "rejected",
    "claimed",
    "slices",
    "ended",
    "continued",
    "lost",
    "seconds",
}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _cli(stack: Stack) -> CommandLine:
    return CommandLine(stack.environment)


def _cycles(stack: Stack, *options: object) -> dict[int, dict[str, Any]]:
    rows: list[dict[str, Any]] = _cli(stack)("cycles", "--json", *options).json
    return {row["job_source_id"]: row for row in rows}


def test_an_idle_tick_prints_every_number_as_zero(cli: CommandLine) -> None:
    """Spec section 3: zeros are present; nothing to do is exit code 0."""
    document = cli("tick", "--json").json
    assert set(document) == TICK_KEYS
    assert UUID.fullmatch(document["tick_id"])
    assert document["ended"] == {"SUCCESS": 0, "FAILED": 0, "BUDGET_EXHAUSTED": 0}
    assert document["seconds"] > 0
    assert not any(document[name] for name in TICK_KEYS - {"tick_id", "ended", "seconds"})


def test_a_tick_counts_how_its_slices_ended(open_stack: OpenStack) -> None:
    """R6 to R10: one slice of each end; cycles that ended FAILED are no failure of the tick."""
    stack = open_stack(
        source("greenhouse", "good", 3),
        source("saramin", "broken", 3),
        source("saramin", "long", 900),
        source("saramin", "capped", 500),
    )
    good, broken = stack.add("greenhouse", "good"), stack.add("saramin", "broken")
    long = stack.add("saramin", "long")
    capped = stack.add("saramin", "capped", list_pages=1)
    stack.simulator.add_fault({"name": "http_500", "key": "broken"})
    said = _cli(stack)("tick", "--json")
    document = said.json
    assert said.code == 0
    assert document["ended"] == {"SUCCESS": 1, "FAILED": 1, "BUDGET_EXHAUSTED": 1}
    assert (document["prepared"], document["claimed"], document["slices"]) == (4, 4, 4)
    assert (document["continued"], document["lost"], document["recovered"]) == (1, 0, 0)
    ends = {one: row["cycle_status"] for one, row in _cycles(stack).items()}
    assert ends == {good: "SUCCESS", broken: "FAILED", long: "PENDING", capped: "BUDGET_EXHAUSTED"}


def test_a_draining_tick_ends_when_nothing_is_due(open_stack: OpenStack) -> None:
    """R5, R6: one tick is one slice a cycle, `--drain` goes on to the end."""
    stack = open_stack(source("saramin", "long", 900))
    stack.add("saramin", "long")
    document = _cli(stack)("tick", "--drain", "--json").json
    assert document["ended"]["SUCCESS"] == 1
    assert (document["slices"], document["continued"]) == (2, 1)


def test_a_tick_without_json_says_the_same_in_words(open_stack: OpenStack) -> None:
    """Spec section 3."""
    stack = open_stack(source("greenhouse", "good", 3))
    stack.add("greenhouse", "good")
    said = _cli(stack)("tick")
    assert "claimed 1, slices 1 (1 SUCCESS, 0 FAILED, 0 BUDGET_EXHAUSTED" in said.out


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan"])
def test_a_tick_without_an_end_is_refused(cli: CommandLine, seconds: str) -> None:
    """Spec section 3: zero and negative are refused; 0 must not mean for ever."""
    assert cli("tick", "--max-seconds", seconds).code == 2


def test_a_tick_that_could_not_work_ends_with_4(
    open_stack: OpenStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec section 3: 4 is for the tick, not its cycles; the error's own text stays away (R29)."""
    stack = open_stack(source("greenhouse", "good", 3))
    stack.add("greenhouse", "good")

    def breaking(*_: object, **__: object) -> None:
        raise RuntimeError("planted-key")

    monkeypatch.setattr(CollectionSliceProcessor, "process", breaking)
    said = _cli(stack)("tick", "--json")
    assert said.code == 4
    assert "RuntimeError" in said.sentence
    assert "planted-key" not in said.err + said.out


def test_creating_cycles_twice_makes_them_once(open_stack: OpenStack) -> None:
    """R35, I1."""
    stack = open_stack(source("greenhouse", "good", 3))
    one = stack.add("greenhouse", "good")
    first, second = _cli(stack)("create-cycles"), _cli(stack)("create-cycles")
    assert "made what was missing" in first.out
    assert "nothing missing" in second.out
    assert list(_cycles(stack)) == [one]


@pytest.mark.parametrize("flag", [DISPATCH_FLAG, AGGREGATOR_FLAG])
def test_a_flag_that_is_off_makes_no_cycle(open_stack: OpenStack, flag: str) -> None:
    """R44: switched by the command line, seen by the next tick."""
    stack = open_stack(source("saramin", "some", 3))
    stack.add("saramin", "some")
    cli = _cli(stack)
    cli("flags", "set", flag, "off", "--by", "kim")
    assert cli("tick", "--json").json["claimed"] == 0
    assert cli("cycles", "--json").json == []
    cli("flags", "set", flag, "on", "--by", "kim")
    assert cli("tick", "--json").json["ended"]["SUCCESS"] == 1


def test_a_bad_condition_fails_its_cycle_before_any_request(open_stack: OpenStack) -> None:
    """R2, R23b: what slipped into the table by another way ends CONFIG, counted as rejected."""
    stack = open_stack()
    bad = stack.add("jumpit", "x", condition={"keyword": ["백엔드 개발"]})
    document = _cli(stack)("tick", "--json").json
    assert (document["rejected"], document["prepared"], document["claimed"]) == (1, 0, 0)
    assert stack.end_of(bad) == ("FAILED", "CONFIG")
    assert stack.requests() == []


def test_cleanup_says_what_it_deleted(open_stack: OpenStack) -> None:
    """R31: a past day's unfinished cycle; snake_case, and nothing is left over."""
    stack = open_stack(source("saramin", "long", 900), SEEN_CLEANUP_CHUNK_ROWS=300)
    stack.add("saramin", "long")
    cli = _cli(stack)
    cli("tick")
    stack.set_clock(2)
    assert cli("cleanup", "--json").json == {
        "deleted_rows": 440,
        "chunks": 2,
        "seen_rows_older_than_48_hours": 0,
    }
    assert cli("cleanup").out.strip() == "deleted 0 rows in 0 chunks, 0 left"


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-command",),
        ("tick", "--no-such-option"),
        ("sources",),
        ("sources", "enable", "one"),
        ("postings",),
        ("local-db", "restart"),
        (),
    ],
)
def test_a_wrong_call_is_a_usage_error(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    """Spec section 3: exit code 2 and words on how to call it."""
    said = cli(*arguments)
    assert said.code == 2
    assert "Usage" in said.err + said.out
    assert "Traceback" not in said.err

"""The release of tag v0.1.0 on the newest schema: alone, before this release, and beside it (R34).

Run is the older program itself, from its wheel, in processes of its own. That the smoke test can
fail is shown by databases whose schema does what no revision may.
"""

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import known_revisions, migrate
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.command_line import finished
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.older_release import (
    FIRST_REVISION,
    OlderRelease,
)
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack, wait_until
from collection_pipeline_tests.kit.worker_entry import STARTED
from collection_pipeline_tests.kit.worker_process import WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

NEWEST, _ = known_revisions()
CATALOGUES = (
    source("greenhouse", "acme", 30, changes={"2": {"remove": 3, "add": 2}}),
    source("saramin", "backend", 230, changes={"2": {"remove": 4}}),
    source("wanted", "518", 20, changes={"2": {"add": 1}}),
)
CONDITIONS = {
    ("greenhouse", "acme"): ("--condition", "board=acme"),
    ("saramin", "backend"): ("--condition", "keywords=backend"),
    ("wanted", "518"): ("--condition", "form=v4", "--condition", "tag_type_ids=518"),
}
FLAGS = ("posting.collection-dispatch-v2", "aggregator.collection")
CONTRACTIONS = (
    (
        "ALTER TABLE collection_slices DROP COLUMN seconds_waited",
        "ALTER TABLE collection_slices ADD COLUMN seconds_waited DOUBLE NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE job_postings ADD COLUMN country INT NOT NULL",
        "ALTER TABLE job_postings DROP COLUMN country",
    ),
)
"""Dropped, mandatory; each with its undoing, so that one database serves for all."""
MIXED_SOURCES = 60
MIXED_DELAY_MS = 25


def smoke(older: OlderRelease, stack: Stack) -> None:
    """What a first user of the older release does: look, add sources, switch on, collect, read."""
    adding = [
        [*("sources", "add", "--json", "--platform", platform, "--label", key), *conditions]
        for (platform, key), conditions in CONDITIONS.items()
    ]
    switching = [["flags", "set", flag, "on", "--by", "smoke test"] for flag in FLAGS]
    tick, reading = ["tick", "--drain", "--json"], ["cycles", "--json"]

    looked, *done = older.all([["check", "--json"], *adding, *switching, tick, reading])

    assert looked.json["ok"]
    assert looked.json["expected_revision"] == FIRST_REVISION, "this is not the older release"
    assert looked.json["schema_revision"] == NEWEST
    for place, added in zip(CONDITIONS, done, strict=False):
        stack.sources[added.json["id"]] = place
    for flag, switched in zip(FLAGS, done[len(adding) :], strict=False):
        assert (switched.code, switched.out) == (0, f"{flag} is on\n"), switched.err
    told = done[-2].json
    assert (told["ended"]["SUCCESS"], told["lost"]) == (len(CONDITIONS), 0), told
    assert {row["job_source_id"] for row in done[-1].json} == set(stack.sources)
    for row in done[-1].json:
        assert (row["cycle_status"], bool(row["is_complete"])) == ("SUCCESS", True)
        assert row["fetched_count"] == len(stack.catalogue(row["job_source_id"]))


def test_the_first_release_passes_its_smoke_test_on_the_newest_schema(
    open_stack: OpenStack, first_release: Path
) -> None:
    """R34, I1 to I8: its days and this release's follow one another in one database."""
    stack = open_stack(*CATALOGUES)
    stack.set_flags(enabled=False)
    older = OlderRelease(first_release, stack.environment)

    smoke(older, stack)

    assert_invariants(stack)
    board, search, _ = sorted(stack.sources)
    first_day = stack.tables()["job_posting_collection_cycles"]

    stack.set_clock(2)
    assert stack.tick().ended["SUCCESS"] == len(CONDITIONS)
    assert stack.cycle(board, 2)["missed_count"] == 3
    assert (stack.cycle(board, 2)["new_count"], stack.cycle(board, 2)["updated_count"]) == (2, 0)
    assert stack.cycle(search, 2)["missed_count"] == 4
    assert stack.tables()["job_posting_collection_cycles"][: len(first_day)] == first_day

    stack.set_clock(3)
    assert older("tick", "--drain", "--json").json["ended"]["SUCCESS"] == len(CONDITIONS)
    assert stack.cycle(board, 3)["closed_count"] == 3, "missed by the newer, closed by the older"
    assert stack.cycle(board, 3)["updated_count"] == 0, "both sign rows alike"
    assert_invariants(stack)


def test_workers_of_both_releases_drain_one_queue(
    open_stack: OpenStack, first_release: Path
) -> None:
    """R34, R5, R26, I1 to I8: while services are restarted one by one, both work side by side."""
    stack = open_stack(separate_ports=True, HOST_MIN_DELAY_MS=MIXED_DELAY_MS, TICK_CLAIM_LIMIT=3)
    for number in range(MIXED_SOURCES // 2):
        stack.add("greenhouse", f"board{number}-{number % 7}")
        stack.add("lever", f"site{number}-{number % 5 + 1}")
    held = WorkerProcess(stack.environment, crash_at=STARTED, crash_signal=signal.SIGSTOP)
    with held as newer:
        newer.wait_until_stopped()
        older = OlderRelease(first_release, stack.environment).process("tick", "--drain", "--json")
        wait_until("the older release works", lambda: len(stack.requests()) > 0)
        newer.send(signal.SIGCONT)
        assert newer.wait() == 0, newer.output
        told = [json.loads(newer.printed), finished(older).json]

    assert sum(one["slices"] for one in told) == MIXED_SOURCES
    assert all(one["slices"] > MIXED_SOURCES // 10 for one in told), "only one of them worked"
    assert [one["lost"] for one in told] == [0, 0]
    ended = Counter(stack.end_of(source_id) for source_id in stack.sources)
    assert ended == {("SUCCESS", None): MIXED_SOURCES}
    asked = Counter((r["platform"], r["search_key"], r["page"]) for r in stack.requests())
    assert (len(asked), set(asked.values())) == (MIXED_SOURCES, {1})
    assert_invariants(stack)


def test_the_smoke_test_fails_on_a_schema_that_was_contracted(
    database_url: str, first_release: Path
) -> None:
    """R34: what no revision may do breaks the older release, and is noticed; undone, it passes."""
    engine = open_engine(database_url)
    migrate(engine)
    for breaking, undoing in CONTRACTIONS:
        with opened_stack(database_url, CATALOGUES) as stack:
            stack.set_flags(enabled=False)
            stack.write(breaking)
            with pytest.raises(AssertionError):
                smoke(OlderRelease(first_release, stack.environment), stack)
            stack.write(undoing)
            for table in metadata.sorted_tables:
                stack.write(f"DELETE FROM {table.name}")
    engine.dispose()
    with opened_stack(database_url, CATALOGUES) as stack:
        smoke(OlderRelease(first_release, stack.environment), stack)

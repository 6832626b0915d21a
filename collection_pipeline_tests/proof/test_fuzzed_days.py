"""Fuzzing with an oracle through whole ticks: some days on which one page of each list is bent.

Each day has a delta of its own. The platform's catalogue is the oracle; on the last day nothing is
bent, and everything that is there must be open again.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline_tests.kit.fault_table import (
    COMPLETE,
    FORMS,
    INCOMPLETE,
    ends_in,
    form_condition,
    platform_of,
)
from collection_pipeline_tests.kit.hostile_platform import Attack, HostilePlatform
from collection_pipeline_tests.kit.hostile_server import Peer, reply
from collection_pipeline_tests.kit.invariants import (
    assert_invariants,
    assert_nothing_was_judged,
    judged,
)
from collection_pipeline_tests.kit.list_mutations import Page, honest_loss, mutate, tolerated
from collection_pipeline_tests.kit.proof import record, tries
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack

ROWS = 40
PAGE_ROWS = 16
BENT_DAYS = (2, 3)
CLEAN_DAY = 4
CHANGES = {"*": {"remove": 1, "add": 1, "edit": 2}}
FIRST_KEY = 7000
SEARCHES = tries(2, long=5)
SEEDS = range(tries(1, long=5))
PROMISE = "Hostile platform"
TYPED = {
    *(COMPLETE, INCOMPLETE, "BAD_RESPONSE", "POLICY", "QUOTA"),
    # Codes that Saramin states, met where a number is bent.
    *("FORBIDDEN", "RATE_LIMITED"),
}


class BentDay:
    """What a day's attacks did to whom: the mutation's name, and what it may honestly lose."""

    def __init__(self, stack: Stack, day: int, seed: int) -> None:
        self.stack, self.day, self.seed = stack, day, seed
        self.done: dict[str, tuple[str, frozenset[str]]] = {}

    def attack(self, form: str, key: str, turn: int) -> Attack:
        """Bends the page that a search's ``turn``-th request brings."""
        return partial(self._send, form, key, turn)

    def _send(self, form: str, key: str, turn: int, peer: Peer, body: bytes) -> None:
        chance = random.Random(f"{self.seed}|{self.day}|{form}|{key}")
        order = self.stack.simulator.catalogue(platform_of(form), key, self.stack.day(self.day))
        size = len(order) if form == "greenhouse" else PAGE_ROWS
        start = turn * size
        ids = tuple(order[start : start + size])
        bent = body
        if ids:
            name, bent = mutate(form, body, chance)
            page = Page(body, ids, frozenset(order[start + size :]), start, size)
            self.done[key] = (f"page {turn}, {name}", honest_loss(form, page, bent))
        peer.send(reply(bent, headers=("Connection: close",)))


@pytest.mark.parametrize("seed", SEEDS)
def test_bent_days_never_judge_what_they_lost_and_a_clean_day_heals_them(
    store_url: str, seed: int
) -> None:
    """R10, R23a, R32, I4."""
    keys = {str(FIRST_KEY + number): form for number, form in enumerate(sorted(FORMS * SEARCHES))}
    catalogues = [
        source(platform_of(form), key, ROWS, changes=CHANGES) for key, form in keys.items()
    ]
    settings: dict[str, Any] = {"HOST_MIN_DELAY_MS": 1, "SLICE_MAX_POSTINGS": PAGE_ROWS}
    with opened_stack(store_url, catalogues, **settings) as stack:
        sources = {
            stack.add(
                platform_of(form), key, condition=form_condition(form, key), detail_mode="off"
            ): key
            for key, form in keys.items()
        }
        stack.tick(pipeline=stack.open_pipeline(SLICE_MAX_POSTINGS=500))
        assert {stack.end_of(source_id) for source_id in sources} == {("SUCCESS", None)}
        ends = []
        for day in BENT_DAYS:
            before = {source_id: judged(stack, source_id) for source_id in sources}
            stack.set_clock(day)
            bent = BentDay(stack, day, seed)
            with attacked(stack, keys, bent) as pipeline:
                stack.tick(pipeline=pipeline)
            wrong = [
                f"seed {seed}, day {day}, {keys[key]} {key}, {bent.done.get(key)}: {told}"
                for source_id, key in sources.items()
                if (told := difference(stack, source_id, bent, keys[key], before[source_id]))
            ]
            assert not wrong, "\n".join(wrong)
            ends += [ends_in(stack.cycle(source_id, day)) for source_id in sources]
        assert set(ends) <= TYPED, ends
        stack.set_clock(CLEAN_DAY)
        stack.tick()
        for source_id in sources:
            open_ids = {k for k, row in judged(stack, source_id).items() if row["status"] == "OPEN"}
            assert open_ids == stack.catalogue(source_id, CLEAN_DAY)
        assert_invariants(stack, bodies_as_logged=False)
        record(PROMISE, days_fuzzed=len(ends), unsafe_ends=len(ends) - ends.count(COMPLETE))


@contextmanager
def attacked(stack: Stack, keys: dict[str, str], bent: BentDay) -> Iterator[CollectionPipeline]:
    """Services for which every platform lies behind the attacker."""
    chance = random.Random(f"{bent.seed}|{bent.day}")
    turns = {key: 0 if form == "greenhouse" else chance.randrange(3) for key, form in keys.items()}
    attacks = {key: bent.attack(form, key, turns[key]) for key, form in keys.items()}
    platform = HostilePlatform(stack.simulator.base_url, attacks, turns)
    with platform.server() as server:
        names = ("WANTED", "SARAMIN", "JUMPIT", "GREENHOUSE", "LEVER")
        yield stack.open_pipeline(**{f"{name}_BASE_URL": server.base_url for name in names})


def difference(
    stack: Stack, source_id: int, bent: BentDay, form: str, before: dict[str, dict[str, Any]]
) -> str | None:
    """What a bent day did that it may not, in words."""
    cycle, after = stack.cycle(source_id, bent.day), judged(stack, source_id)
    if not set(before) <= set(after):
        return "R32: postings vanished"
    if ends_in(cycle) != COMPLETE:
        assert_nothing_was_judged(before, after)
        return None
    alive = stack.catalogue(source_id, bent.day)
    hurt = {key for key in alive & set(before) if after[key]["status"] != "OPEN"}
    _, honest = bent.done.get(stack.sources[source_id][1], ("", frozenset()))
    lost = hurt - honest
    if len(lost) > tolerated(form, ROWS):
        return f"a delta over {sorted(lost)}"
    return None

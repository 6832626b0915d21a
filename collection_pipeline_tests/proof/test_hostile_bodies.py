"""Hostile replies and bodies: a typed end, bounded in memory and time, nothing judged by it.

A list is collected on day 1; on day 2 postings have gone, and a worker process reads the same list
from a server that attacks it. In the fast set each attack meets one platform, in turn; every body
also meets every adapter, without a database.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from collection_pipeline.platforms.contract import RequestFailed
from collection_pipeline_tests.kit import measured_entry
from collection_pipeline_tests.kit import platform_bodies as bodies
from collection_pipeline_tests.kit.body_attacks import BODY_ATTACKS, BodyAttack
from collection_pipeline_tests.kit.fault_table import (
    COMPLETE,
    FORMS,
    NONE,
    SAFE,
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
from collection_pipeline_tests.kit.platform_lists import LISTS, REGISTRY
from collection_pipeline_tests.kit.proof import is_long, record
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack
from collection_pipeline_tests.kit.wire_attacks import WIRE_ATTACKS, pack_all
from collection_pipeline_tests.kit.worker_process import WorkerProcess

ROWS = 12
REMOVED = 2
DEADLINE_SECONDS = {"wire": 3, "body": 30}
MARGIN_SECONDS = 30
"""For reading what came, on a machine that does other things; the bound is in the slice's row."""
MOST_MEGABYTES = 600
"""Ten threads of one process, each with a body of up to 20 MB and what its parser makes of it."""
HEADERS = ("Content-Type: text/html; charset=x", "Connection: close")
"""A wrong type and charset, which say nothing; and the next request needs a connection anew."""
LONGEST_SECONDS = 800
"""Of the long set's one tick, on a machine that does other things."""
FIRST_KEY = 7000
PROMISE = "Hostile platform"


class Case:
    """One attack on one form, and the word of the table for its end."""

    def __init__(self, name: str, form: str, attack: Attack, end: str) -> None:
        self.name, self.form, self.attack, self.end = name, form, attack, end


def answering_bent(attack: BodyAttack, form: str) -> Attack:
    """The bent body in a good reply."""

    def send(peer: Peer, body: bytes) -> None:
        peer.send(reply(attack.bend(body, form), headers=HEADERS))

    return send


def wire_cases() -> list[Case]:
    """Each attack on one form in turn, or on all."""
    return [
        Case(one.name, form, one.attack, one.end)
        for number, one in enumerate(WIRE_ATTACKS)
        for form in (FORMS if is_long() else [FORMS[number % len(FORMS)]])
    ]


def body_cases() -> list[Case]:
    """The same of the bodies; one that a form has not goes to the next form."""
    cases = []
    for number, one in enumerate(BODY_ATTACKS):
        forms = [form for form in FORMS if one.end_of(form) != NONE]
        chosen = forms if is_long() else [forms[number % len(forms)]]
        cases += [
            Case(one.name, form, answering_bent(one, form), one.end_of(form)) for form in chosen
        ]
    return cases


@pytest.mark.timeout(1_000)
@pytest.mark.parametrize("kind", ["wire", "body"])
def test_an_attack_ends_typed_and_within_bounds(store_url: str, kind: str) -> None:
    """R10, R28, section 3, I4: the end is the table's, memory and time have a bound."""
    chosen = wire_cases() if kind == "wire" else body_cases()
    cases = {str(FIRST_KEY + number): case for number, case in enumerate(chosen)}
    catalogues = [
        source(platform_of(case.form), key, ROWS, changes={"2": {"remove": REMOVED}})
        for key, case in cases.items()
    ]
    settings: dict[str, Any] = {
        "HOST_MIN_DELAY_MS": 1,
        "REQUEST_DEADLINE_SECONDS": DEADLINE_SECONDS[kind],
    }
    with opened_stack(store_url, catalogues, **settings) as stack:
        sources = {
            stack.add(
                platform_of(case.form),
                key,
                condition=form_condition(case.form, key),
                detail_mode="off",
            ): key
            for key, case in cases.items()
        }
        stack.tick()
        assert {stack.end_of(source_id) for source_id in sources} == {("SUCCESS", None)}
        before = {source_id: judged(stack, source_id) for source_id in sources}
        stack.set_clock(2)

        peak = tick_under_attack(stack, {key: case.attack for key, case in cases.items()})

        wrong = [
            f"{case.name} on {case.form}: {told}"
            for source_id, key in sources.items()
            for case in [cases[key]]
            if (told := difference(stack, source_id, case, before[source_id]))
        ]
        assert not wrong, "\n".join(wrong)
        assert_invariants(stack, bodies_as_logged=False, secrets=[stack.simulator.access_key])
        slowest = float(stack.value("SELECT MAX(seconds) FROM collection_slices"))
        assert slowest <= DEADLINE_SECONDS[kind] + MARGIN_SECONDS
        assert peak <= MOST_MEGABYTES
        record(
            PROMISE,
            attacks=len(cases),
            unsafe_ends=sum(case.end not in SAFE for case in cases.values()),
            most_megabytes=peak,
            most_slice_seconds=round(slowest, 1),
        )


def tick_under_attack(stack: Stack, attacks: Mapping[str, Attack]) -> int:
    """One tick of a process of its own, whose every request meets the attacker; its peak in MB."""
    platform = HostilePlatform(stack.simulator.base_url, attacks)
    pack_all()
    with platform.server() as server:
        addresses = {
            f"COLLECTION_{name}_BASE_URL": server.base_url
            for name in ("WANTED", "SARAMIN", "JUMPIT", "GREENHOUSE", "LEVER")
        }
        with WorkerProcess(
            {**stack.environment, **addresses}, module=measured_entry.__name__
        ) as worker:
            assert worker.wait(LONGEST_SECONDS) == 0, worker.output
            assert "Traceback" not in worker.output, worker.output
            return measured_entry.peak_mb(worker)


def difference(
    stack: Stack, source_id: int, case: Case, before: dict[str, dict[str, Any]]
) -> str | None:
    """Where day 2 differs from the table, in words."""
    cycle, after = stack.cycle(source_id, 2), judged(stack, source_id)
    found = ends_in(cycle)
    if found != case.end:
        return f"{found} ({cycle['failure_detail']}) instead of {case.end}"
    # Jumpit's list ends with an empty page.
    pages = 2 if case.form == "jumpit" and case.end == COMPLETE else 1
    if cycle["list_page_count"] != pages:
        return f"{cycle['list_page_count']} requests were sent"
    if case.end != COMPLETE:
        assert_nothing_was_judged(before, after)
        return None
    alive = stack.catalogue(source_id, 2)
    hurt = {key for key in before if (after[key]["status"] == "OPEN") != (key in alive)}
    return f"judged {sorted(hurt)} wrongly" if hurt else None


@pytest.mark.parametrize("form", FORMS)
def test_every_hostile_body_is_read_whole_or_refused_by_every_adapter(form: str) -> None:
    """R10: no other exception; a body that is taken has every row, and each can be stored."""
    platform, condition, genuine = LISTS[form]
    adapter = REGISTRY[platform]
    first = adapter.read_page(
        condition, adapter.first_position(condition, 500), bodies.reply(genuine)
    )
    ids = [row.source_job_id for row in first.rows]
    text, tried = json.dumps(genuine, ensure_ascii=False).encode(), 0
    for attack in BODY_ATTACKS:
        if attack.end_of(form) == NONE:
            continue
        tried += 1
        position = adapter.first_position(condition, 500)
        read = partial(adapter.read_page, condition, position)
        try:
            page = read(bodies.reply(attack.bend(text, form)))
        except RequestFailed as refused:
            assert refused.failure.reason == attack.end_of(form), attack.name
            continue
        assert attack.end_of(form) == COMPLETE, attack.name
        assert [row.source_job_id for row in page.rows] == ids, attack.name
        for row in page.rows:
            f"{row.raw}{row.fields!r}".encode()
    record(PROMISE, bodies_parsed=tried)

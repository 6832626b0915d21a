"""The library register read from a hostile portal: whatever comes, no library is lost by it.

Each attack meets one run of its own; the register before it is the judge. In the fast set every
sixth attack is tried, and of those that wait for the deadline one.
"""

from pathlib import PurePosixPath

import pytest

from collection_pipeline.ingest.assembly import assemble_ingest
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.platforms.library.client import PATH
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.body_attacks import BODY_ATTACKS
from collection_pipeline_tests.kit.fault_table import COMPLETE
from collection_pipeline_tests.kit.hostile_platform import Attack, HostilePlatform
from collection_pipeline_tests.kit.hostile_server import Peer, reply
from collection_pipeline_tests.kit.invariants import secrets_in
from collection_pipeline_tests.kit.library_stack import SMALL, active_libraries, serve_libraries
from collection_pipeline_tests.kit.library_world import REGISTER
from collection_pipeline_tests.kit.proof import is_long, record
from collection_pipeline_tests.kit.stack import Row, Stack, opened_stack
from collection_pipeline_tests.kit.wire_attacks import WIRE_ATTACKS, pack_all

DEADLINE_SECONDS = 2
ONE_ROW = 1
PROMISE = "Hostile platform"
FORM = "library"
EVERY = 1 if is_long() else 6


def attacks() -> list[tuple[str, Attack, str | None]]:
    """Name, attack, and the end of those that no reader of a body can change."""
    waiting = [one for one in WIRE_ATTACKS if one.end == "TIMEOUT"]
    quick = [one for one in WIRE_ATTACKS if one.end != "TIMEOUT"]
    wire = [*quick[::EVERY], *(waiting if is_long() else waiting[:1])]
    # The portal's rows have no id and its total stands elsewhere.
    bodies = [one for one in BODY_ATTACKS if not one.name.startswith(("id:", "total:"))]
    return [
        *((one.name, one.attack, one.end) for one in wire),
        *((one.name, bent_by(one.bend), None) for one in bodies[::EVERY]),
    ]


def bent_by(bend: object) -> Attack:
    """A page bent as the platforms' lists are."""

    def send(peer: Peer, body: bytes) -> None:
        assert callable(bend)
        peer.send(reply(bend(body, FORM), headers=("Connection: close",)))

    return send


def register_of(stack: Stack) -> dict[str, list[Row]]:
    """What a failed run must leave as it was."""
    return {name: rows for name, rows in stack.tables().items() if name in REGISTER}


def ingested(stack: Stack, attack: Attack | None) -> IngestReport:
    """One run that may deactivate, its first page attacked."""
    word = PurePosixPath(PATH).name
    chosen = {} if attack is None else {word: attack}
    platform = HostilePlatform(stack.simulator.base_url, chosen)
    with platform.server() as server:
        environment = {**stack.environment, "COLLECTION_LIBRARY_BASE_URL": server.base_url}
        ingestion = assemble_ingest(load_settings(environment), stack.url)
        try:
            config = IngestConfig(source="library", deactivate_stale=True, allow_shrink=False)
            return ingestion.service.run(config, ingestion.snapshot(config), trigger="manual")
        finally:
            ingestion.close()


@pytest.mark.timeout(1_000)
def test_no_answer_of_the_portal_loses_a_library(store_url: str) -> None:
    """R49, R29: a run that fails changes nothing; one that succeeds deactivates nothing either."""
    pack_all()
    settings = {"HOST_MIN_DELAY_MS": 1, "REQUEST_DEADLINE_SECONDS": DEADLINE_SECONDS}
    with opened_stack(store_url, [], separate_ports=False, access_key=None, **settings) as stack:
        serve_libraries(stack)
        assert ingested(stack, None).status == "SUCCESS"
        ends: list[str] = []
        for name, attack, end in attacks():
            before = register_of(stack)
            report = ingested(stack, attack)
            ends.append(report.status)
            if end is not None:
                assert (report.status == "SUCCESS") == (end == COMPLETE), (name, report)
            if report.status == "SUCCESS":
                assert active_libraries(stack) >= SMALL - ONE_ROW, name
                # A row whose key was bent is another library; the next clean run brings it back.
                assert ingested(stack, None).status == "SUCCESS"
            else:
                assert (report.status, bool(report.reason)) == ("FAILED", True), name
                assert register_of(stack) == before, name
        assert active_libraries(stack) == SMALL
        assert set(ends) == {"SUCCESS", "FAILED"}
        assert not secrets_in([stack.tables()], [stack.simulator.service_key])
        record(PROMISE, register_attacks=len(ends), unsafe_ends=ends.count("FAILED"))

"""A list read by the real adapter and loop from a simulator without a network, one page of it bent.

The store is in memory and the cycle's own state table decides what comes after a slice, so that
thousands of bent lists a minute can be read to their end.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import Any, cast

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.source import Condition, DetailMode, Platform
from collection_pipeline.platforms.contract import PlatformReply, PlatformRequest, RequestPolicy
from collection_pipeline.platforms.wire.executor import ExecutedRequest, RequestOutcome
from collection_pipeline.platforms.wire.request_url import request_url
from collection_pipeline.simulator.messages import Request
from collection_pipeline.simulator.platform_desk import PlatformDesk
from collection_pipeline.simulator.request_log import RequestLog
from collection_pipeline.simulator.scenario import Scenario, SourceRule
from collection_pipeline.simulator.simulation import Simulation
from collection_pipeline_tests.kit.fault_table import form_condition, platform_of
from collection_pipeline_tests.kit.list_mutations import Page, honest_loss, mutate, tolerated
from collection_pipeline_tests.kit.platform_lists import REGISTRY
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import ScriptedExecutor, ScriptedPlatform
from collection_pipeline_tests.kit.stack import condition_of

KEY = "7000"
ROWS = 40
PAGE_ROWS = 16
DAY = date(2026, 12, 1)
ACCESS_KEY = "planted"
"""The key of the registry's Saramin adapter."""


@cache
def desk() -> PlatformDesk:
    """One catalogue on each platform."""
    names = ("wanted", "saramin", "jumpit", "greenhouse", "lever")
    rules = tuple(SourceRule(name, KEY, ROWS) for name in names)
    scenario = Scenario(base_date=DAY, access_key=ACCESS_KEY, sources=rules)
    simulation = Simulation(scenario, RequestLog(None, ACCESS_KEY))
    simulation.move_to(DAY)
    return PlatformDesk(simulation)


@cache
def genuine(target: str, listener: str = "main") -> tuple[int, bytes, tuple[str, ...]]:
    """Status, body and ids of the platform's own answer."""
    headers = {"host": "localhost", "accept": "application/json"}
    reply = desk().answer(Request("GET", target, headers, b"", 0, 1, listener))
    return reply.status, reply.body, reply.ids


def target_of(request: PlatformRequest) -> str:
    """Path and query of a request."""
    return request_url(request).removeprefix(request.base_url.rstrip("/"))


@dataclass
class BendingExecutor(ScriptedExecutor):
    """Serves genuine pages and bends the body of the ``turn``-th request."""

    form: str
    turn: int
    size: int
    chance: random.Random
    name: str = "not reached"
    bent: bytes | None = None
    served: list[tuple[int, bytes, tuple[str, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def execute(
        self, request: PlatformRequest, policy: RequestPolicy, delay_seconds: float
    ) -> RequestOutcome:
        """The answer, bent at its turn."""
        status, body, ids = genuine(target_of(request))
        self.served.append((status, body, ids))
        if len(self.served) == self.turn + 1 and ids:
            self.name, self.bent = mutate(self.form, body, self.chance)
            body = self.bent
        return ExecutedRequest(PlatformReply(status, {}, body), None, sent=True, written=True)


@dataclass(frozen=True)
class FuzzedEnd:
    """How one bent list ended, and what was wrong with that, if anything."""

    word: str
    wrong: str | None


def catalogue(form: str) -> frozenset[str]:
    """Every id that the form's list really has."""
    adapter = REGISTRY[Platform(platform_of(form))]
    condition = condition_for(form)
    position: Any = adapter.first_position(condition, PAGE_ROWS)
    found: set[str] = set()
    while position is not None:
        status, body, ids = genuine(target_of(adapter.list_request(condition, position)))
        found.update(ids)
        position = adapter.read_page(
            condition, position, PlatformReply(status, {}, body)
        ).next_position
    return frozenset(found)


def condition_for(form: str) -> Condition:
    """The condition that finds the form's catalogue."""
    return form_condition(form, KEY) or condition_of(platform_of(form), KEY)


def read_bent(form: str, seed: str) -> FuzzedEnd:
    """Read a list of three pages of which one is bent; ``seed`` decides which and how."""
    chance = random.Random(f"{form}|{seed}")
    pages = chance.randrange(1, 4)
    size = PAGE_ROWS * pages
    turn = chance.randrange(1 if form == "greenhouse" else 3)
    executor = BendingExecutor(form, turn, size, chance)
    cycle = ScriptedCycle(
        cast("ScriptedPlatform", REGISTRY[Platform(platform_of(form))]),
        executor,
        slice_budget=CollectionBudget(pages, size, 1),
        daily_budget=CollectionBudget(20, 1_000, 1),
        detail_mode=DetailMode.OFF,
    )
    cycle.source = replace(cycle.source, platform=platform_of(form), condition=condition_for(form))
    cycle.run_to_end()
    return FuzzedEnd(_word(cycle.cycle), _wrong(form, executor, cycle))


def _word(cycle: JobPostingCollectionCycle) -> str:
    if cycle.status is not CycleStatus.SUCCESS:
        return str(cycle.failure_reason or cycle.budget_exhausted_reason)
    return "COMPLETE" if cycle.is_complete else "INCOMPLETE"


def _wrong(form: str, executor: BendingExecutor, cycle: ScriptedCycle) -> str | None:
    ended = cycle.cycle
    if ended.failure_reason in (CollectionFailureReason.INTERNAL, CollectionFailureReason.CONFIG):
        return f"{executor.name}: {ended.failure_reason} ({ended.failure_detail})"
    is_safe = ended.status is CycleStatus.SUCCESS and ended.is_complete and ended.fetched_count
    missing = catalogue(form) - set(cycle.store.seen)
    if not is_safe or executor.bent is None:
        return None
    lost = missing - honest_loss(form, _bent_page(form, executor), executor.bent)
    if len(lost) <= tolerated(form, ROWS):
        return None
    return f"{executor.name}: a delta without {sorted(lost)}"


def _bent_page(form: str, executor: BendingExecutor) -> Page:
    before = [one for _, _, ids in executor.served[: executor.turn] for one in ids]
    _, body, ids = executor.served[executor.turn]
    behind = catalogue(form) - {*before, *ids}
    return Page(body, ids, behind, len(before), executor.size)

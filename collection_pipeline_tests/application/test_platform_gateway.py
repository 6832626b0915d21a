"""The door to all platforms refuses a bad descriptor before anything is opened (R2, R23b)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

import pytest

from collection_pipeline.domain.budget import BudgetUse
from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import CollectionSliceDescriptor, Failed, Fetched
from collection_pipeline.domain.source import Condition, JobSource, Platform, SourceType
from collection_pipeline.platforms.contract import InvalidCondition, MissingCredential
from collection_pipeline.platforms.gateway import PlatformGateway, UnsupportedPlatform
from collection_pipeline.platforms.key_quotas import key_quota_of
from collection_pipeline.platforms.wire.executor import PacedSender
from collection_pipeline_tests.kit.executor_fixtures import make_settings
from collection_pipeline_tests.kit.paced_world import PacedWorld
from collection_pipeline_tests.kit.scripted_cycle import WIDE, ScriptedStore
from collection_pipeline_tests.kit.scripted_platform import ScriptedPlatform, pages_of


@dataclass
class CheckedPlatform(ScriptedPlatform):
    """Refuses its condition with ``refusal``."""

    refusal: Exception | None = None

    def check(self, condition: Condition) -> None:
        """The scripted refusal."""
        if self.refusal is not None:
            raise self.refusal


@dataclass
class Door:
    """A gateway over one platform; senders opened and closed are counted."""

    platform: CheckedPlatform
    world: PacedWorld = field(default_factory=PacedWorld)
    opened: int = 0
    closed: int = 0

    @contextmanager
    def open_sender(self) -> Iterator[PacedSender]:
        """One sender a slice."""
        self.opened += 1
        try:
            yield self.world
        finally:
            self.closed += 1

    @property
    def gateway(self) -> PlatformGateway:
        """The gateway."""
        return PlatformGateway(
            {Platform.WANTED: self.platform},
            self.open_sender,
            self.world,
            self.world,
            make_settings(),
        )


def descriptor(platform: str = "wanted") -> CollectionSliceDescriptor:
    """A first slice."""
    return CollectionSliceDescriptor(
        source=JobSource(1, platform, SourceType.AGGREGATOR, "scripted", {"query": ["x"]}),
        run_date=date(2026, 12, 1),
        cursor=None,
        consumed=BudgetUse(),
        daily_budget=WIDE,
        slice_budget=WIDE,
        progress=CollectionProgress(),
        stated_total=None,
        min_delay_seconds=1.0,
        lookup=ScriptedStore(),
    )


@pytest.mark.parametrize(
    "refusal", [InvalidCondition("query is ignored"), MissingCredential("set the access key")]
)
def test_a_bad_condition_is_a_configuration_failure_without_a_request(refusal: Exception) -> None:
    """R2, R23b: nothing is opened, the detail says what to do."""
    door = Door(CheckedPlatform(refusal=refusal))
    outcome = door.gateway.collect_slice(descriptor(), door.world)
    assert isinstance(outcome, Failed)
    assert (outcome.failure.reason, outcome.failure.detail) == (Reason.CONFIG, str(refusal))
    assert outcome.work.requests_sent == 0
    assert (door.opened, door.world.steps) == (0, [])


@pytest.mark.parametrize("platform", ["kakao", "WANTED", "a newer platform", ""])
def test_an_unsupported_platform_is_a_configuration_failure(platform: str) -> None:
    """R2: the platforms that are supported are named."""
    door = Door(CheckedPlatform())
    outcome = door.gateway.collect_slice(descriptor(platform), door.world)
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.CONFIG
    assert "wanted" in outcome.failure.detail
    assert door.opened == 0
    with pytest.raises(UnsupportedPlatform):
        door.gateway.adapter_of(platform)


def test_each_slice_opens_one_sender_and_closes_it() -> None:
    """R25, R28: all requests of a slice go through one executor."""
    door = Door(CheckedPlatform(pages_of("a b"), has_details=False))
    outcome = door.gateway.collect_slice(descriptor(), door.world)
    assert isinstance(outcome, Fetched)
    assert (outcome.is_complete, outcome.list_page_count) == (True, 1)
    assert len(door.world.sends) == 1
    assert (door.opened, door.closed) == (1, 1)


def test_only_a_platform_whose_key_is_counted_has_a_quota() -> None:
    """R20: without a quota a request costs no statement more."""
    settings = make_settings(SARAMIN_ACCESS_KEY="an-access-key", SARAMIN_DAILY_CALLS=7)
    quotas = {platform: key_quota_of(platform, settings) for platform in Platform}
    saramin = quotas.pop(Platform.SARAMIN)
    assert saramin is not None
    assert (saramin.platform, saramin.daily_calls) == ("saramin", 7)
    assert set(quotas.values()) == {None}
    assert key_quota_of(Platform.SARAMIN, make_settings()) is None


def test_the_host_of_a_source_is_known_only_for_a_good_condition() -> None:
    """R1, R2: preparation checks before the cycle joins the queue."""
    assert Door(CheckedPlatform()).gateway.host_of("wanted", {}) == "jobs.example"
    refusing = Door(CheckedPlatform(refusal=InvalidCondition("query is ignored")))
    with pytest.raises(InvalidCondition):
        refusing.gateway.host_of("wanted", {})

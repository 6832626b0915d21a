"""One call of the key for each request that is written, however often its slot is missed (R20)."""

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp
from collection_pipeline.platforms.contract import RequestFailed
from collection_pipeline.platforms.wire.executor import ExecutedRequest, Paused, Stopped
from collection_pipeline_tests.kit.executor_fixtures import ANY_PATH, get
from collection_pipeline_tests.kit.paced_world import NOT_BEFORE, PacedWorld

REQUEST = get("https://oapi.saramin.co.kr")
DELAY = 1.0


def quota(calls: int) -> KeyQuota:
    """So many calls a day."""
    return KeyQuota("saramin", "f" * 64, calls)


def test_nothing_is_sent_once_the_keys_calls_are_used_up() -> None:
    """R20: as many requests as calls, then the answer that ends the slice."""
    world = PacedWorld(quota=quota(2))
    executor = world.executor()
    outcomes = [executor.execute(REQUEST, ANY_PATH, DELAY) for _ in range(3)]
    assert [isinstance(outcome, ExecutedRequest) for outcome in outcomes] == [True, True, False]
    assert outcomes[2] == KeyQuotaUsedUp()
    assert (len(world.sends), executor.statistics.requests_sent) == (2, 2)


def test_a_missed_slot_takes_no_second_call() -> None:
    """R20, R26: the call belongs to the request, the slot does not wait for it."""
    world = PacedWorld(quota=quota(1), next_allowed_at=1001.0, oversleeps=[0.5, 0.5])
    assert isinstance(world.executor().execute(REQUEST, ANY_PATH, DELAY), ExecutedRequest)
    assert (len(world.slots), world.calls_taken) == (3, 1)


def test_a_request_that_was_never_written_leaves_its_call_to_the_next() -> None:
    """R20: a host that cannot be reached has counted nothing."""
    unreachable = RequestFailed(Reason.CONNECTION, "connection refused")
    world = PacedWorld(
        quota=quota(1), next_allowed_at=1001.0, open_failures=[unreachable, unreachable]
    )
    executor = world.executor()
    failed = executor.execute(REQUEST, ANY_PATH, DELAY)
    assert isinstance(failed, ExecutedRequest)
    assert not failed.written
    assert isinstance(executor.execute(REQUEST, ANY_PATH, DELAY), ExecutedRequest)
    assert (len(world.sends), world.calls_taken) == (1, 1)
    assert executor.execute(REQUEST, ANY_PATH, DELAY) == KeyQuotaUsedUp()


def test_a_failed_request_that_was_written_has_used_its_call() -> None:
    """R20: failed ones included; the platform may have counted it."""
    world = PacedWorld(quota=quota(1), outcomes=[RequestFailed(Reason.TIMEOUT, "late")])
    executor = world.executor()
    executor.execute(REQUEST, ANY_PATH, DELAY)
    assert executor.execute(REQUEST, ANY_PATH, DELAY) == KeyQuotaUsedUp()


def test_what_keeps_a_request_from_its_slot_takes_no_call() -> None:
    """R20: the policy, the permit and a paused host come before the call."""
    refusal = RequestFailed(Reason.POLICY, "not allowed")
    refused = PacedWorld(quota=quota(1), open_failures=[refusal])
    assert isinstance(refused.executor().execute(REQUEST, ANY_PATH, DELAY), ExecutedRequest)
    stopped = PacedWorld(quota=quota(1), stop_reasons=["not runnable"])
    assert stopped.executor().execute(REQUEST, ANY_PATH, DELAY) == Stopped("not runnable")
    paused = PacedWorld(quota=quota(1), next_allowed_at=5000.0)
    assert paused.executor().execute(REQUEST, ANY_PATH, DELAY) == Paused(NOT_BEFORE)
    assert [world.calls_taken for world in (refused, stopped, paused)] == [0, 0, 0]


def test_the_quota_is_asked_when_no_transaction_is_open_and_after_the_permit() -> None:
    """R25: guard, permit, then the one reservation of moment and call."""
    world = PacedWorld(quota=quota(1), next_allowed_at=1001.0)
    world.executor().execute(REQUEST, ANY_PATH, DELAY)
    order = [step for step in world.steps if step not in {"wait", "open"}]
    assert order[:4] == ["guard", "guard", "check", "reserve"]
    assert world.steps.count("reserve") == 1

"""A key's calls of the day over all processes: never more than the quota (R9, R20)."""

from datetime import date, datetime, timedelta

import pytest

from collection_pipeline.domain.budget import InvalidBudget
from collection_pipeline.domain.key_quota import KeyQuota, KeyQuotaUsedUp, key_fingerprint
from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline_tests.kit.database import HOST, Store
from collection_pipeline_tests.kit.morning import jump_to
from collection_pipeline_tests.kit.own_processes import in_own_processes
from collection_pipeline_tests.kit.rivals import winner_then_loser
from collection_pipeline_tests.kit.statement_costs import listening

QUOTAS = "platform_key_quotas"
KEY = "Yq7-access-key-of-a-test"
BEFORE_MIDNIGHT = datetime(2026, 12, 1, 14, 59, 59, 999_999)
"""The last microsecond of 1 December in Seoul."""


def quota(calls: int, key: str = KEY) -> KeyQuota:
    """So many calls a day of ``key``."""
    return KeyQuota("saramin", key_fingerprint("saramin", key), calls)


def take(store: Store, times: int, allowed: KeyQuota, host: str = HOST) -> list[bool]:
    """Whether each of so many reservations got its call."""
    answers = [store.throttle.reserve(host, 0.001, 10_000, allowed) for _ in range(times)]
    assert all(isinstance(answer, ThrottleSlot | KeyQuotaUsedUp) for answer in answers)
    return [isinstance(answer, ThrottleSlot) for answer in answers]


def take_in_a_process(url: str, times: int, calls: int, host: str) -> int:
    """How many calls a process of its own gets."""
    store = Store(url)
    try:
        return sum(take(store, times, quota(calls), host))
    finally:
        store.close()


def used(store: Store) -> dict[date, int]:
    """What is counted, by day."""
    rows = store.rows(f"SELECT quota_date, used_count FROM {QUOTAS} ORDER BY quota_date")
    return {row["quota_date"]: row["used_count"] for row in rows}


@pytest.mark.parametrize("hosts", [[HOST] * 4, [HOST, "b.test", "c.test", "d.test"]])
def test_many_processes_at_once_never_take_more_than_the_quota(
    store: Store, hosts: list[str]
) -> None:
    """R20: 100 askings for 60 calls; also where no host's lock puts them in a row."""
    got = in_own_processes(take_in_a_process, [(store.url, 25, 60, host) for host in hosts])
    assert sum(got) == 60
    assert list(used(store).values()) == [60]


@pytest.mark.parametrize("calls_before", [0, 1])
def test_of_two_that_want_the_last_call_one_gets_it(
    store: Store, other: Store, calls_before: int
) -> None:
    """R20: the loser waits for the winner's row, also where that is the day's first."""
    allowed = quota(calls_before + 1)
    take(store, calls_before, allowed)
    got = winner_then_loser(
        store, lambda: take(store, 1, allowed), lambda: take(other, 1, allowed, "b.test"), QUOTAS
    )
    assert got == ([True], [False])


def test_the_count_begins_anew_at_midnight_in_seoul(store: Store) -> None:
    """The day is that of the database's clock, with the simulated offset, at the reservation."""
    store.now = BEFORE_MIDNIGHT
    assert take(store, 3, quota(2)) == [True, True, False]
    jump_to(store, BEFORE_MIDNIGHT + timedelta(microseconds=1))
    assert take(store, 3, quota(2)) == [True, True, False]
    assert used(store) == {date(2026, 12, 1): 2, date(2026, 12, 2): 2}


def test_another_key_has_calls_of_its_own(store: Store) -> None:
    """R20: the quota is the key's; a platform's name belongs to the fingerprint."""
    assert take(store, 2, quota(1)) == [True, False]
    assert take(store, 2, quota(1, "another")) == [True, False]
    assert key_fingerprint("saramin", KEY) != key_fingerprint("jumpit", KEY)


def test_a_quota_that_was_lowered_or_raised_holds_from_the_next_call_on(store: Store) -> None:
    """R20: what was taken before counts."""
    assert take(store, 3, quota(5)) == [True] * 3
    assert take(store, 1, quota(2)) == [False]
    assert take(store, 2, quota(4)) == [True, False]


def test_moment_and_call_are_taken_together_or_not_at_all(store: Store) -> None:
    """R20, R26: a paused host costs no call, a used-up quota no moment."""
    take(store, 1, quota(2))
    store.throttle.hold_back(HOST, 100.0)
    before = store.tables()
    assert isinstance(store.throttle.reserve(HOST, 1.0, 99.0, quota(2)), ThrottleRefusal)
    assert store.throttle.reserve(HOST, 1.0, 100.0, quota(1)) == KeyQuotaUsedUp()
    after = store.tables()
    assert after == before


def test_without_a_quota_no_statement_is_added_and_with_one_a_single_update(store: Store) -> None:
    """Platforms without a key pay nothing; with one the usual call is one more statement."""
    take(store, 1, quota(9))
    with listening(store.engine) as without:
        store.throttle.reserve(HOST, 0.001, 10_000)
    with listening(store.engine) as counted:
        take(store, 1, quota(9))
    assert without.on(QUOTAS) == []
    assert len(counted.sent) == len(without.sent) + 1
    tables = ("external_request_host_limits", QUOTAS)
    assert all(any(name in one for name in tables) for one, _ in counted.locking)


def test_the_table_does_not_reveal_the_key(store: Store) -> None:
    """R29, I9: 64 hexadecimal characters that only the holder of the key can make."""
    take(store, 1, quota(1))
    row = store.row(f"SELECT * FROM {QUOTAS}")
    assert KEY not in str(row)
    assert len(row["key_fingerprint"]) == 64
    assert row["platform"] == "saramin"
    assert key_fingerprint("saramin", KEY) == key_fingerprint("saramin", KEY)
    assert key_fingerprint("saramin", KEY) != key_fingerprint("saramin", KEY + "x")


def test_a_quota_of_no_call_is_refused() -> None:
    """R2: it could never be spent."""
    with pytest.raises(InvalidBudget, match="daily_calls"):
        quota(0)

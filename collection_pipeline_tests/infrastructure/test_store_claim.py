"""A due cycle is claimed once, in turn, and fairly over hosts (R5, R16, R26, I2)."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline_tests.kit.database import DAY, HOST, LEASE, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.rivals import (
    open_transaction,
    run_sql,
)
from collection_pipeline_tests.kit.slices import store_slice, unfinished, work_of

OpenStore = Callable[..., Store]
SECOND = timedelta(seconds=1)
CYCLES = "job_posting_collection_cycles"
TAKEN = f"UPDATE {CYCLES}"


def claimed_ids(store: Store, most: int = 50, **terms: int) -> list[int]:
    """Ids of all cycles that can be claimed now, in the order of their claims."""
    return [one.cycle.id for one in store.repository.claim_ready(store.terms(**terms), most)]


def has_due(store: Store) -> bool:
    """The sensor's question."""
    return store.run(lambda connection: store.repository.has_due(connection, store.terms()))


def test_a_claim_gives_a_lease_under_a_fresh_token(store: Store) -> None:
    """R5: RUNNING, until now + lease by the database's clock, and the token is new each time."""
    cycle_id = store.due_cycle()
    first = store.claim()
    row = store.cycle(cycle_id)
    assert (row["cycle_status"], row["lease_token"]) == ("RUNNING", first.token)
    assert (row["lease_owner"], row["lease_until"]) == ("worker", NOON + LEASE)
    assert store_slice(store, first, unfinished(work_of(["1"]))) is not None
    second = store.claim()
    assert (second.cycle.id, second.cycle.started_at) == (cycle_id, NOON)
    assert second.token != first.token
    assert second.cycle.cursor is not None


def test_only_what_is_due_is_claimed(store: Store) -> None:
    """R5, R6: to the microsecond."""
    later = store.due_cycle(next_eligible_at=NOON + timedelta(microseconds=1))
    now = store.due_cycle(next_eligible_at=NOON)
    assert claimed_ids(store) == [now]
    store.now = NOON + timedelta(microseconds=1)
    assert claimed_ids(store) == [later]


@pytest.mark.parametrize("status", [one for one in CycleStatus if one is not CycleStatus.PENDING])
def test_only_pending_cycles_are_claimed(store: Store, status: CycleStatus) -> None:
    """R5, R12: neither what is not prepared, nor what runs, nor what has ended."""
    store.add_cycle(store.add_source(), status)
    assert claimed_ids(store) == []


@pytest.mark.parametrize("day", [YESTERDAY, DAY + timedelta(days=1)])
def test_a_cycle_of_another_day_is_never_claimed(store: Store, day: object) -> None:
    """R16: a past cycle keeps the state in which it ended its day."""
    cycle_id = store.due_cycle(run_date=day)
    assert claimed_ids(store) == []
    assert store.status(cycle_id) == "PENDING"


def test_the_longest_waiting_comes_first(store: Store) -> None:
    """R6: the queue's order is eligibility, then id, over all hosts."""
    third = store.due_cycle(host="a.test", next_eligible_at=NOON - SECOND)
    first = store.due_cycle(host="b.test", next_eligible_at=NOON - 3 * SECOND)
    second = store.due_cycle(host="c.test", next_eligible_at=NOON - 2 * SECOND)
    ties = [store.due_cycle(host="d.test") for _ in range(2)]
    assert claimed_ids(store) == [first, second, third, *ties]


def test_what_a_tick_has_just_put_back_waits_for_the_next_tick(store: Store) -> None:
    """A tick claims what was due when it began (``due_before``)."""
    store.due_cycle(next_eligible_at=NOON)
    assert store.repository.claim_next(store.terms(), NOON - SECOND) is None
    assert store.repository.claim_next(store.terms(), NOON) is not None


@pytest.mark.parametrize("flag", [DISPATCH_FLAG, AGGREGATOR_FLAG])
def test_nothing_is_claimed_with_its_flag_off(store: Store, flag: str) -> None:
    """R44: and the same cycle goes on when the flag is on again (R3)."""
    cycle_id = store.due_cycle("wanted")
    store.switch_on(flag, enabled=False)
    assert claimed_ids(store) == []
    store.switch_on(flag)
    assert claimed_ids(store) == [cycle_id]


def test_a_source_whose_other_day_still_runs_is_refused(store: Store) -> None:
    """R5: no two workers on one source around midnight; afterwards it is claimed."""
    source_id = store.add_source()
    running = store.add_cycle(source_id, CycleStatus.RUNNING, YESTERDAY)
    today = store.add_cycle(source_id)
    free = store.due_cycle()
    assert claimed_ids(store) == [free] and not has_due(store)
    store.write(f"UPDATE {CYCLES} SET cycle_status = 'FAILED' WHERE id = :id", id=running)
    assert claimed_ids(store) == [today]


def test_disabled_sources_at_the_head_do_not_starve_the_rest(store: Store) -> None:
    """mysql.md: a plain LIMIT would stop at the rows of switched-off sources."""
    for offset in range(60):
        source = store.add_source(active=False)
        store.add_cycle(source, next_eligible_at=NOON - timedelta(minutes=60 - offset))
    behind = [store.due_cycle() for _ in range(2)]
    assert claimed_ids(store) == behind


def test_a_host_gets_no_more_leases_than_its_cap_while_others_have_work(
    store: Store, other: Store
) -> None:
    """MAX_LEASES_PER_HOST counts the leases of all processes and leaves room for other hosts."""
    busy = [
        store.due_cycle(host="busy.test", next_eligible_at=NOON - timedelta(minutes=9))
        for _ in range(6)
    ]
    quiet = [store.due_cycle(host="quiet.test") for _ in range(4)]
    got = [claimed_ids(one, 1, max_leases_per_host=2) for one in (store, other) * 3]
    assert got == [[one] for one in (*busy[:2], *quiet[:2])] + [[], []]


def test_a_lone_host_is_not_capped(store: Store, other: Store) -> None:
    """Section 3: the cap holds only as long as other hosts have due work."""
    lone = [store.due_cycle() for _ in range(5)]
    got = [claimed_ids(one, 1, max_leases_per_host=2)[0] for one in (store, other, store)]
    assert got == lone[:3]


def test_work_that_nobody_may_claim_does_not_cap_the_others(store: Store) -> None:
    """Section 3: "due work" of a switched-off source is none."""
    store.add_cycle(store.add_source(active=False), host="off.test")
    store.add_cycle(store.add_source(), CycleStatus.RUNNING, host="off.test")
    lone = [store.due_cycle() for _ in range(3)]
    assert claimed_ids(store, max_leases_per_host=1) == lone


def test_an_expired_lease_does_not_count_against_its_host(store: Store) -> None:
    """MAX_LEASES_PER_HOST speaks of live leases: dead workers must not block a host."""
    for _ in range(2):
        store.add_cycle(store.add_source(), CycleStatus.RUNNING, lease_until=NOON)
    due = store.due_cycle(next_eligible_at=NOON - SECOND)
    store.due_cycle(host="other.test")
    assert store.claim(max_leases_per_host=1).cycle.id == due


@pytest.mark.parametrize(("seconds", "claimable"), [(300, True), (300.001, False)])
def test_a_host_held_back_beyond_a_slices_time_is_not_claimed(
    store: Store, seconds: float, claimable: bool
) -> None:
    """R26: no claim of that host before; one that is free within the slice is claimed."""
    store.due_cycle()
    elsewhere = store.due_cycle(host="other.test", next_eligible_at=NOON - SECOND)
    store.throttle.hold_back(HOST, seconds)
    assert len(claimed_ids(store, longest_wait_seconds=300)) == 1 + claimable
    assert store.status(elsewhere) == "RUNNING"


def test_the_sensors_question_agrees_with_the_claim(store: Store) -> None:
    """``has_due`` is true exactly while a claim finds something, and locks nothing."""

    assert not has_due(store)
    store.due_cycle()
    with open_transaction(store) as holder:
        run_sql(holder, f"SELECT * FROM {CYCLES} FOR UPDATE")
        assert has_due(store)
    store.claim()
    assert not has_due(store)

"""Claims that meet: each cycle is taken once, and nobody waits without need (R5, R13, I2)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import event

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.rivals import (
    PATIENCE_SECONDS,
    holding_commit,
    open_transaction,
    rivals,
    run_sql,
    wait_until_blocked,
)

OpenStore = Callable[..., Store]


SECOND = timedelta(seconds=1)


CYCLES = "job_posting_collection_cycles"


TAKEN = f"UPDATE {CYCLES}"


def claimed_ids(store: Store, most: int = 50, **terms: int) -> list[int]:
    """Ids of all cycles that can be claimed now, in the order of their claims."""
    return [one.cycle.id for one in store.repository.claim_ready(store.terms(**terms), most)]


def test_a_source_that_is_switched_off_while_its_claim_waits_is_refused(
    store: Store, other: Store
) -> None:
    """R5, R27: conditions are checked again under the lock, not only when candidates are read."""
    cycle_id = store.due_cycle()
    source = store.cycle(cycle_id)["job_source_id"]
    with rivals() as start, open_transaction(other) as holder:
        run_sql(holder, "SELECT * FROM collection_host_claims FOR UPDATE")
        claim = start(lambda: store.repository.claim_next(store.terms()))
        wait_until_blocked(other)
        run_sql(holder, "UPDATE job_sources SET active = 0 WHERE id = :id", id=source)
        holder.commit()
        assert claim.result(PATIENCE_SECONDS) is None
    assert store.status(cycle_id) == "PENDING"


def test_a_cycle_locked_by_another_is_passed_over(store: Store, other: Store) -> None:
    """SKIP LOCKED: whoever holds the head of the queue does not hold up the claim."""
    head = store.due_cycle(next_eligible_at=NOON - SECOND)
    behind = store.due_cycle()
    with open_transaction(other) as holder:
        run_sql(holder, f"SELECT * FROM {CYCLES} WHERE id = :id FOR UPDATE", id=head)
        assert claimed_ids(store) == [behind]
    assert claimed_ids(store) == [head]


def test_a_claim_that_stays_open_delays_no_claim_of_another_host(
    store: Store, other: Store
) -> None:
    """Section 3: claims of one host only wait for each other; a frozen one holds up no other."""
    first = store.due_cycle(host="a.test", next_eligible_at=NOON - SECOND)
    second = store.due_cycle(host="b.test")
    with rivals() as start, holding_commit(store.engine, TAKEN) as held:
        open_claim = start(store.claim)
        held.wait_until_reached()
        assert claimed_ids(other, 1) == [second]
        held.let_go()
        assert open_claim.result(PATIENCE_SECONDS).cycle.id == first


def switch_off(store: Store, source: int) -> None:
    """The source is not active any more."""
    store.write("UPDATE job_sources SET active = 0 WHERE id = :id", id=source)


def run_yesterday(store: Store, source: int) -> None:
    """A worker of the day before has it still."""
    store.add_cycle(source, CycleStatus.RUNNING, YESTERDAY, host="another.test")


@pytest.mark.parametrize("strike", [switch_off, run_yesterday])
def test_a_source_that_changes_just_before_the_claim_is_refused_on_the_locked_row(
    store: Store, other: Store, strike: Callable[[Store, int], None]
) -> None:
    """R5, R27: after the candidates were read, before the cycle's row is locked."""
    cycle_id = store.due_cycle()
    source = store.cycle(cycle_id)["job_source_id"]
    struck: list[int] = []

    def striking(_connection: object, _c: object, statement: str, *_rest: object) -> None:
        if "SKIP LOCKED" in statement and f"FROM {CYCLES}" in statement and not struck:
            strike(other, source)
            struck.append(source)

    event.listen(store.engine, "before_cursor_execute", striking)
    assert store.repository.claim_next(store.terms()) is None
    event.remove(store.engine, "before_cursor_execute", striking)
    assert store.status(cycle_id) == "PENDING"
    assert struck == [source]


@pytest.mark.parametrize("order", ["first wins", "second wins"])
def test_two_claims_of_one_host_never_get_the_same_cycle(
    store: Store, other: Store, order: str
) -> None:
    """I2: the second waits for the first of its host and gets the next cycle."""
    ids = [store.due_cycle() for _ in range(2)]
    winner, loser = (store, other) if order == "first wins" else (other, store)
    with rivals() as start, holding_commit(winner.engine, TAKEN) as held:
        first = start(winner.claim)
        held.wait_until_reached()
        second = start(loser.claim)
        wait_until_blocked(winner)
        held.let_go()
        got = [one.result(PATIENCE_SECONDS) for one in (first, second)]
    assert [one.cycle.id for one in got] == ids
    assert got[0].token != got[1].token


def test_two_claims_of_one_host_at_once_keep_its_cap(store: Store, other: Store) -> None:
    """Section 3: counted again under the host's lock, also when its last lease is just given."""
    capped = [store.due_cycle(host="capped.test") for _ in range(2)]
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    elsewhere = store.due_cycle(next_eligible_at=NOON - SECOND)
    with rivals() as start, holding_commit(store.engine, TAKEN) as held:
        first = start(lambda: store.claim(max_leases_per_host=1))
        held.wait_until_reached()
        second = start(lambda: other.repository.claim_next(other.terms(max_leases_per_host=1)))
        wait_until_blocked(store)
        held.let_go()
        assert first.result(PATIENCE_SECONDS).cycle.id == capped[0]
        assert second.result(PATIENCE_SECONDS) is None
    assert [store.status(one) for one in (capped[1], elsewhere)] == ["PENDING"] * 2


def test_a_claim_that_raced_to_a_lone_hosts_cap_goes_beyond_it(store: Store, other: Store) -> None:
    """Section 3: the cap waits for other hosts' work; a tick's threads start all at once."""
    ids = [store.due_cycle() for _ in range(2)]
    with rivals() as start, holding_commit(store.engine, TAKEN) as held:
        first = start(lambda: store.claim(max_leases_per_host=1))
        held.wait_until_reached()
        second = start(lambda: other.claim(max_leases_per_host=1))
        wait_until_blocked(store)
        held.let_go()
        got = [one.result(PATIENCE_SECONDS).cycle.id for one in (first, second)]
    assert got == ids


def test_two_claims_of_the_last_cycle_give_one_lease(store: Store, other: Store) -> None:
    """I2: the loser is told that there is nothing, and the winner's token stands."""
    cycle_id = store.due_cycle()
    with rivals() as start, holding_commit(store.engine, TAKEN) as held:
        first = start(store.claim)
        held.wait_until_reached()
        second = start(lambda: other.repository.claim_next(other.terms()))
        wait_until_blocked(store)
        held.let_go()
        winner, loser = first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)
    assert loser is None
    assert store.cycle(cycle_id)["lease_token"] == winner.token


def test_many_processes_claim_every_cycle_once(open_store: OpenStore) -> None:
    """I2: six processes, three hosts, no cycle twice and none left."""
    store = open_store()
    store.switch_on()
    ids = [store.due_cycle(host=f"{number % 3}.test") for number in range(24)]
    many = [open_store() for _ in range(6)]
    with rivals() as start:
        got = [start(lambda one=one: claimed_ids(one, max_leases_per_host=99)) for one in many]  # type: ignore[misc]  # bound at once
        found = [cycle_id for one in got for cycle_id in one.result(PATIENCE_SECONDS)]
    assert sorted(found) == ids


def test_a_claim_waits_for_the_capture(store: Store, other: Store) -> None:
    """R13: the claim holds the gate; a capture that has it exclusively comes first."""
    store.gate.ensure_headers()
    store.due_cycle()
    with rivals() as start, open_transaction(other) as capture:
        run_sql(capture, "SELECT * FROM job_posting_collection_sla_snapshots FOR UPDATE")
        claim = start(store.claim)
        wait_until_blocked(other)
        assert not claim.done()
        capture.commit()
        assert claim.result(PATIENCE_SECONDS).cycle.run_date == DAY


def test_a_claim_holds_the_gate_until_it_commits(store: Store, other: Store) -> None:
    """R13: a capture cannot come between a claim's check and its write."""
    store.gate.ensure_headers()
    store.due_cycle()
    with rivals() as start, holding_commit(store.engine, TAKEN) as held:
        claim = start(store.claim)
        held.wait_until_reached()
        capture = start(
            lambda: other.rows(
                "SELECT capture_status FROM job_posting_collection_sla_snapshots FOR UPDATE"
            )
        )
        wait_until_blocked(store)
        assert not capture.done()
        held.let_go()
        assert claim.result(PATIENCE_SECONDS).cycle.run_date == DAY
        assert len(capture.result(PATIENCE_SECONDS)) == 2

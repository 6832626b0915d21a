"""One predicate decides in every place whether a source may be collected (section 2, R27, R44)."""

import threading
from dataclasses import dataclass
from itertools import product

import pytest

from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.permit import LeasedSlicePermit
from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.preparation import prepare_cycles, unprepared_cycles
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.sources import JobSources
from collection_pipeline_tests.kit.database import DAY, HOST, PLATFORMS, YESTERDAY, Store

SUPPORTED = PLATFORMS
NOT_RUNNABLE = "the source is not runnable any more"


@dataclass(frozen=True)
class Case:
    """One combination of everything that the predicate reads."""

    active: bool
    dispatch: bool
    aggregator: bool
    platform: str
    ran_elsewhere: bool

    @property
    def runnable(self) -> bool:
        """The specification's sentence, written out a second time."""
        switched_on = self.dispatch and (self.aggregator or self.platform != "wanted")
        supported = self.platform in SUPPORTED
        return self.active and switched_on and supported and not self.ran_elsewhere


CASES = [
    Case(*one)
    for one in product(
        (True, False),
        (True, False),
        (True, False),
        ("greenhouse", "wanted", "kakao"),
        (True, False),
    )
]


@pytest.fixture
def bare(open_store: object) -> Store:
    """A store without any flag row: all flags are off by default (R44)."""
    return open_store()  # type: ignore[operator, no-any-return]  # the fixture's own callable


def arrange(store: Store, case: Case) -> int:
    """A source as the case says; returns its id."""
    if case.dispatch:
        store.switch_on(DISPATCH_FLAG)
    if case.aggregator:
        store.switch_on(AGGREGATOR_FLAG)
    source_id = store.add_source(case.platform, active=case.active)
    if case.ran_elsewhere:
        add_older_run(store, source_id)
    return source_id


def add_older_run(store: Store, source_id: int) -> None:
    """What an older system leaves when it has run a source."""
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status) "
        "VALUES (:source, :day, 'SUCCESS')",
        source=source_id,
        day=DAY,
    )


def is_runnable(store: Store, source_id: int) -> bool:
    """The predicate itself."""
    return store.run(
        lambda connection: JobSources().is_runnable(connection, source_id, DAY, SUPPORTED)
    )


def creation(store: Store) -> CollectionCycleDomainService:
    """The service that makes the day's cycles."""
    return CollectionCycleDomainService(store.transactions, store.clock, store.gate, SUPPORTED)


def prepared(store: Store, cycle_id: int) -> bool:
    """Whether preparation lets the cycle into the queue."""
    store.gate.with_daily_write_gate(
        DAY,
        lambda connection: prepare_cycles(
            connection, DAY, {HOST: [cycle_id]}, SUPPORTED, store.clock
        ),
    )
    return store.status(cycle_id) == "PENDING"


def permitted(store: Store, source_id: int, cycle_id: int) -> bool:
    """Whether a worker that holds the cycle's lease may send its next request."""
    source = store.run(lambda connection: JobSources().get(connection, source_id))
    cycle = JobPostingCollectionCycle(cycle_id, source_id, DAY, lease_token=f"token-{source_id}")
    permit = LeasedSlicePermit(
        store.transactions,
        store.clock,
        ClaimedCycle(cycle, source),
        SUPPORTED,
        ends_at=0.0,
        stop=threading.Event(),
    )
    reason = permit.stop_reason()
    assert reason in {None, NOT_RUNNABLE}
    return reason is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_places_agree_on_what_is_runnable(bare: Store, case: Case) -> None:
    """R3, R27, R44, section 2: creation, fill, prepare, claim, the check before each request."""
    source_id = arrange(bare, case)
    assert is_runnable(bare, source_id) == case.runnable
    creation(bare).create_daily_cycles()
    made = bare.rows("SELECT id FROM job_posting_collection_cycles")
    assert bool(made) == case.runnable
    cycle_id = made[0]["id"] if made else bare.add_cycle(source_id, CycleStatus.NOT_STARTED)
    assert prepared(bare, cycle_id) == case.runnable
    put = "UPDATE job_posting_collection_cycles SET cycle_status = "
    bare.write(
        put + "'PENDING', request_host = :host, next_eligible_at = :now", host=HOST, now=bare.now
    )
    bare.write("INSERT IGNORE INTO collection_host_claims VALUES (:host)", host=HOST)
    assert bare.run(lambda c: bare.repository.has_due(c, bare.terms())) == case.runnable
    claimed = bare.repository.claim_next(bare.terms())
    assert (claimed is not None) == case.runnable
    bare.write(
        put + "'RUNNING', lease_token = :token, lease_until = '2026-12-01 04:00'",
        token=f"token-{source_id}",
    )
    assert permitted(bare, source_id, cycle_id) == case.runnable


def test_a_source_that_an_older_system_ran_gets_no_cycle(store: Store) -> None:
    """R44: a runs row and no cycle; the next day it is collected here."""
    source_id = store.add_source()
    add_older_run(store, source_id)
    creation(store).create_daily_cycles()
    assert store.rows("SELECT id FROM job_posting_collection_cycles") == []
    tomorrow = store.run(
        lambda connection: JobSources().is_runnable(
            connection, source_id, DAY.replace(day=2), SUPPORTED
        )
    )
    assert tomorrow


@pytest.mark.parametrize("status", [one for one in CycleStatus if one.is_terminal])
def test_a_run_of_our_own_makes_no_source_an_older_systems(
    store: Store, status: CycleStatus
) -> None:
    """R44: a runs row beside an ended cycle is that cycle's own; the capture keeps the source."""
    source_id = store.add_source()
    store.add_cycle(source_id, status)
    add_older_run(store, source_id)
    assert is_runnable(store, source_id)


@pytest.mark.parametrize("status", [CycleStatus.NOT_STARTED, CycleStatus.PENDING])
def test_a_source_that_an_older_system_ran_in_the_meantime_is_not_run_again(
    store: Store, status: CycleStatus
) -> None:
    """R44, section 2: while releases change over, a run that is not ours can come after our cycle.

    No waiting cycle of ours leaves a runs row, so the row is the older system's.
    """
    source_id = store.add_source()
    cycle_id = store.add_cycle(source_id, status)
    add_older_run(store, source_id)
    assert not is_runnable(store, source_id)
    assert not prepared(store, cycle_id) or status is CycleStatus.PENDING
    assert store.repository.claim_next(store.terms()) is None


def test_another_days_run_does_not_count(store: Store) -> None:
    """R44: "on that date"."""
    source_id = store.add_source()
    store.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status) "
        "VALUES (:source, :day, 'SUCCESS')",
        source=source_id,
        day=YESTERDAY,
    )
    assert is_runnable(store, source_id)


def test_a_switched_off_source_is_neither_prepared_nor_failed(store: Store) -> None:
    """R3: unchanged, and the same cycle goes on when the source comes back the same day."""
    source_id = store.add_source(active=False)
    cycle_id = store.add_cycle(source_id, CycleStatus.NOT_STARTED)
    assert store.run(lambda connection: unprepared_cycles(connection, DAY, 0)) == []
    store.run(
        lambda connection: JobSources().switch(
            connection,
            source_id,
            active=True,
            now=store.now or DAY,  # type: ignore[arg-type]  # it has a time here
        )
    )
    assert prepared(store, cycle_id)


def test_an_unsupported_platform_is_offered_to_be_failed(store: Store) -> None:
    """R2: it is switched on, so preparation sees it and can end it with CONFIG."""
    cycle_id = store.add_cycle(store.add_source("kakao"), CycleStatus.NOT_STARTED)
    found = store.run(lambda connection: unprepared_cycles(connection, DAY, 0))
    assert [one.cycle_id for one in found] == [cycle_id]

"""Every way in which a claimed cycle can end unsafely, each through the real repository (I4)."""

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline.domain.slices import SliceWork
from collection_pipeline.store.history import SliceAttempt
from collection_pipeline_tests.kit.database import DAY, LEASE, NOON, Store
from collection_pipeline_tests.kit.slices import (
    FAILURE,
    complete,
    exhausted,
    failed,
    store_slice,
    unfinished,
    work_of,
)


def end_unfinished(store: Store) -> None:
    """A slice after which the list goes on."""
    assert store_slice(store, store.claim(), unfinished(work_of(["1"]))) is not None


def end_incomplete(store: Store) -> None:
    """R23a: well short of the stated total."""
    stored = store_slice(store, store.claim(), complete(work_of(["1"], stated_total=500)))
    assert stored is not None and stored.cycle.status is CycleStatus.SUCCESS


def end_with_nothing(store: Store) -> None:
    """R8: complete and empty."""
    assert store_slice(store, store.claim(), complete(SliceWork(list_page_count=1))) is not None


def end_by_list_budget(store: Store) -> None:
    """R9: pages used up after rows."""
    assert store_slice(store, store.claim(), exhausted(work_of(["1"]))) is not None


def end_by_details(store: Store) -> None:
    """R9: a budget named without further rows."""
    claimed = store.claim()
    limit = CollectionBudgetLimit.DETAIL_REQUESTS
    attempt = SliceAttempt(claimed.token, "worker")
    assert store.repository.exhaust_budget(claimed.cycle.id, DAY, attempt, limit) is not None


def end_failed_after_rows(store: Store) -> None:
    """R19: a later page failed."""
    assert store_slice(store, store.claim(), failed(work_of(["1"]))) is not None


def end_failed_at_once(store: Store) -> None:
    """R10: the first page failed."""
    claimed = store.claim()
    attempt = SliceAttempt(claimed.token, "worker")
    assert store.repository.fail(claimed.cycle.id, DAY, attempt, FAILURE) is not None


def end_expired(store: Store) -> None:
    """R11: recovered, after a first slice had stored a page."""
    end_unfinished(store)
    store.claim()
    store.now = NOON + LEASE
    assert len(store.repository.recover_expired()) == 1


def end_rejected(store: Store) -> None:
    """R2: bad configuration."""
    cycle_id = store.value("SELECT MAX(id) FROM job_posting_collection_cycles")
    store.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'NOT_STARTED' WHERE id = :id",
        id=cycle_id,
    )
    assert store.repository.reject(cycle_id, DAY, FAILURE)


UNSAFE_ENDS = [
    end_unfinished,
    end_incomplete,
    end_with_nothing,
    end_by_list_budget,
    end_by_details,
    end_failed_after_rows,
    end_failed_at_once,
    end_expired,
    end_rejected,
]

"""Hand-made days of sources as the store would hold them, for tests of the budget report."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.store.schema.cycles import slices
from collection_pipeline_tests.kit.database import DAY, Store

FAILED = CycleStatus.FAILED


def complete(pages: int, postings: int, details: int = 0, **columns: Any) -> dict[str, Any]:
    """A day whose list was read to its end."""
    return _used(CycleStatus.SUCCESS, pages, postings, details, is_complete=1, **columns)


def exhausted(
    limit: str, pages: int, postings: int, details: int = 0, **columns: Any
) -> dict[str, Any]:
    """A day that ran out of ``limit``."""
    return _used(
        CycleStatus.BUDGET_EXHAUSTED,
        pages,
        postings,
        details,
        budget_exhausted_reason=limit,
        **columns,
    )


def failed(reason: str, pages: int = 0, postings: int = 0) -> dict[str, Any]:
    """A day that a failure ended."""
    return _used(FAILED, pages, postings, 0, failure_reason=reason)


def add_days(store: Store, source_id: int, days: Iterable[dict[str, Any]]) -> None:
    """The days before ``DAY``, the newest first."""
    for back, day in enumerate(days, start=1):
        add_day(store, source_id, DAY - timedelta(days=back), day)


def add_day(store: Store, source_id: int, run_date: date, day: dict[str, Any]) -> int:
    """One day's cycle; returns its id."""
    return store.add_cycle(source_id, run_date=run_date, **day)


def add_slice(
    store: Store,
    source_id: int,
    run_date: date,
    waited: float,
    *,
    hours: float = 1,
    **columns: Any,
) -> None:
    """A slice stored ``hours`` after the day began in Seoul."""
    number = store.value("SELECT COUNT(*) FROM collection_slices")
    row = {
        "cycle_id": 1,
        "job_source_id": source_id,
        "run_date": run_date,
        "lease_token": f"token {number}",
        "worker": "someone",
        "outcome": "PENDING",
        "seconds": waited,
        "seconds_waited": waited,
        "created_at": utc_of_kst(run_date) + timedelta(hours=hours),
        **columns,
    }
    store.run(lambda connection: connection.execute(slices.insert(), row))


def _used(
    status: CycleStatus, pages: int, postings: int, details: int, **columns: Any
) -> dict[str, Any]:
    return {
        "status": status,
        "list_page_count": pages,
        "fetched_count": postings,
        "detail_request_count": details,
        **columns,
    }

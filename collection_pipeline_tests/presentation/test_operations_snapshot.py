"""``slaSnapshot`` of the operations API: every branch of R42, and nothing calculated later."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest

from collection_pipeline import checkpoints
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.morning import Morning, held_at
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
    set_service_time,
)
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS, rivals
from collection_pipeline_tests.kit.statement_costs import listening

CUTOFF = utc_of_kst(DAY, time(9))
FIELDS = [
    "snapshotDate",
    "scheduledAt",
    "captureStatus",
    "capturedAt",
    "missReason",
    "lateBeforeNotificationCount",
]


@pytest.fixture
def operations(store: Store) -> Iterator[Operations]:
    """The service at noon over the store's database."""
    set_service_time(store)
    with opened_operations(store.url) as opened:
        yield opened


def add_header(store: Store, status: str, day: date = DAY, **columns: object) -> int:
    """A header as a capture or a recovery left it; returns its id."""
    scheduled_at = utc_of_kst(day, time(9))
    values = {"captured_at": None, "miss_reason": None, **columns}
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots (snapshot_date, scheduled_at, "
        "capture_status, captured_at, miss_reason, created_at) VALUES "
        "(:day, :at, :status, :captured_at, :miss_reason, :at)",
        day=day,
        at=scheduled_at,
        status=status,
        **values,
    )
    return int(
        store.value(
            "SELECT id FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day",
            day=day,
        )
    )


def add_item(
    store: Store, snapshot: int, source: int, status: str, **columns: object
) -> dict[str, Any]:
    """An item as it was captured."""
    values: dict[str, object] = {
        "snapshot_id": snapshot,
        "job_source_id": source,
        "source_label": f"board {source}",
        "cycle_status": status,
        **columns,
    }
    names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    return {
        "written": store.write(
            f"INSERT INTO job_posting_collection_sla_snapshot_items ({names}) VALUES ({marks})",
            **values,
        )
    }


def test_a_captured_snapshot_shows_its_items_and_counts_the_late(
    store: Store, operations: Operations
) -> None:
    """R42: NOT_STARTED, PENDING, RUNNING, FAILED and BUDGET_EXHAUSTED are late, SUCCESS is not."""
    snapshot = add_header(store, "CAPTURED", captured_at=CUTOFF + timedelta(microseconds=123_456))
    for number, status in enumerate(CycleStatus, 1):
        add_item(store, snapshot, number, status.value)
    add_item(store, snapshot, 7, "SUCCESS", is_complete=1, fetched_count=12, close_guarded=0)
    add_item(store, snapshot, 8, "SUCCESS", abnormal=1, close_guarded=1)
    shown = operations.runs()["slaSnapshot"]
    assert list(shown) == [*FIELDS, "items"]
    assert {name: shown[name] for name in FIELDS} == {
        "snapshotDate": "2026-12-01",
        "scheduledAt": "2026-12-01T09:00:00+09:00",
        "captureStatus": "CAPTURED",
        "capturedAt": "2026-12-01T09:00:00.123456+09:00",
        "missReason": None,
        "lateBeforeNotificationCount": 5,
    }
    assert [item["cycleStatus"] for item in shown["items"]] == [
        *[status.value for status in CycleStatus],
        "SUCCESS",
        "SUCCESS",
    ]
    assert shown["items"][6] == {
        "jobSourceId": 7,
        "sourceLabel": "board 7",
        "cycleStatus": "SUCCESS",
        "isComplete": True,
        "fetchedCount": 12,
        "abnormal": False,
        "closeGuarded": False,
    }
    assert (shown["items"][7]["abnormal"], shown["items"][7]["closeGuarded"]) == (True, True)


def test_a_captured_snapshot_stays_as_it_was_when_cycles_go_on(
    store: Store, operations: Operations
) -> None:
    """R39, R42: items are the captured states, never current cycles, and are not judged again."""
    source = store.add_source()
    cycle = store.add_cycle(source, CycleStatus.RUNNING)
    snapshot = add_header(store, "CAPTURED", captured_at=CUTOFF)
    add_item(store, snapshot, source, "RUNNING", close_guarded=0, abnormal=1)
    before = operations.runs()["slaSnapshot"]
    store.write(
        "UPDATE job_posting_collection_cycles SET cycle_status = 'SUCCESS', is_complete = 1, "
        "fetched_count = 9 WHERE id = :id",
        id=cycle,
    )
    store.write("UPDATE job_sources SET label = 'another'")
    answer = operations.runs()
    assert answer["slaSnapshot"] == before
    assert before["lateBeforeNotificationCount"] == 1
    assert (before["items"][0]["abnormal"], before["items"][0]["closeGuarded"]) == (True, False)
    assert answer["items"][0]["cycleStatus"] == "SUCCESS"


def test_a_captured_snapshot_without_items_has_an_empty_list(
    store: Store, operations: Operations
) -> None:
    """R42: CAPTURED is told apart from a state that has no items."""
    add_header(store, "CAPTURED", captured_at=CUTOFF)
    shown = operations.runs()["slaSnapshot"]
    assert (shown["lateBeforeNotificationCount"], shown["items"]) == (0, [])


def test_the_items_are_never_cut(store: Store, operations: Operations) -> None:
    """R42: the count and the items tell of the same sources, so no statement stops at a number."""
    snapshot = add_header(store, "CAPTURED", captured_at=CUTOFF)
    add_item(store, snapshot, 1, "FAILED")
    with listening(operations.context.database.engine) as statements:
        assert len(operations.runs()["slaSnapshot"]["items"]) == 1
    asked = statements.on("sla_snapshot_items")
    assert asked
    assert not [statement for statement, _ in asked if "LIMIT" in statement]


@pytest.mark.parametrize("stored", ["PENDING", "CAPTURING"])
def test_before_its_capture_a_snapshot_is_pending_without_items(
    store: Store, operations: Operations, stored: str
) -> None:
    """R42: the key is absent, the count 0; CAPTURING is shown as PENDING."""
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    add_header(store, stored)
    shown = operations.runs()["slaSnapshot"]
    assert list(shown) == FIELDS
    assert (shown["captureStatus"], shown["capturedAt"]) == ("PENDING", None)
    assert shown["lateBeforeNotificationCount"] == 0


def test_while_a_capture_is_at_work_its_snapshot_is_pending(
    early_store: Store, morning: Morning
) -> None:
    """R36, R42: everything is written and not committed; the reader waits for nothing."""
    early_store.add_source()
    asked = {"snapshotDate": DAY.isoformat()}
    with (
        opened_operations(early_store.url) as operations,
        rivals() as start,
        held_at(checkpoints.BEFORE_CAPTURE_COMMIT) as held,
    ):
        capturing = start(lambda: morning.capture(at=0))
        held.wait_until_reached()
        during = operations.runs(**asked)["slaSnapshot"]
        held.let_go()
        assert capturing.result(PATIENCE_SECONDS).captured_here
        afterwards = operations.runs(**asked)["slaSnapshot"]
    assert during["captureStatus"] == "PENDING" and "items" not in during
    assert afterwards["captureStatus"] == "CAPTURED" and len(afterwards["items"]) == 1


@pytest.mark.parametrize("status", ["MISSED", "NOT_APPLICABLE"])
def test_without_a_capture_nothing_is_counted(
    store: Store, operations: Operations, status: str
) -> None:
    """R42: count and items are null, never 0, although cycles of the day are there."""
    store.add_cycle(store.add_source(), CycleStatus.RUNNING)
    add_header(store, status, miss_reason="the database was away")
    shown = operations.runs()["slaSnapshot"]
    assert (shown["captureStatus"], shown["missReason"]) == (status, "the database was away")
    assert (shown["lateBeforeNotificationCount"], shown["items"]) == (None, None)


@pytest.mark.parametrize(
    ("now", "day", "status"),
    [
        (CUTOFF - timedelta(minutes=1), DAY, "PENDING"),
        (CUTOFF - timedelta(hours=8, minutes=59), DAY, "PENDING"),
        (CUTOFF + timedelta(seconds=1), DAY, "UNAVAILABLE"),
        (CUTOFF - timedelta(minutes=1), YESTERDAY, "UNAVAILABLE"),
        (CUTOFF - timedelta(minutes=1), DAY + timedelta(days=1), "UNAVAILABLE"),
        (NOON, date(1000, 1, 1), "UNAVAILABLE"),
        (NOON, date(9999, 12, 31), "UNAVAILABLE"),
    ],
)
def test_a_day_without_a_header_is_unavailable_except_today_before_the_cutoff(
    store: Store, now: datetime, day: date, status: str
) -> None:
    """R42: so is a day before the first deployment; its time is told all the same."""
    set_service_time(store, now)
    with opened_operations(store.url) as operations:
        shown = operations.runs(snapshotDate=day)["slaSnapshot"]
        assert shown["captureStatus"] == status
        assert shown["scheduledAt"] == f"{day.isoformat()}T09:00:00+09:00"
        assert shown["lateBeforeNotificationCount"] == (0 if status == "PENDING" else None)
        assert ("items" in shown) is (status != "PENDING")
        assert shown.get("items") is None


def test_the_cutoff_is_the_configured_one(store: Store) -> None:
    """Section 3: COLLECTION_SLA_CUTOFF, in KST."""
    set_service_time(store, CUTOFF - timedelta(minutes=10))
    with opened_operations(store.url, SLA_CUTOFF="08:30") as operations:
        shown = operations.runs()["slaSnapshot"]
    assert shown["captureStatus"] == "UNAVAILABLE"
    assert shown["scheduledAt"] == "2026-12-01T08:30:00+09:00"


def test_another_days_snapshot_can_be_asked_for(store: Store, operations: Operations) -> None:
    """Section 9: ``snapshotDate``; the items of the page do not depend on it."""
    snapshot = add_header(store, "CAPTURED", YESTERDAY, captured_at=CUTOFF - timedelta(days=1))
    add_item(store, snapshot, 5, "FAILED")
    add_header(store, "MISSED")
    store.add_cycle(store.add_source())
    answer = operations.runs(snapshotDate=YESTERDAY)
    assert answer["slaSnapshot"]["snapshotDate"] == "2026-11-30"
    assert [item["jobSourceId"] for item in answer["slaSnapshot"]["items"]] == [5]
    assert [item["runDate"] for item in answer["items"]] == ["2026-12-01"]

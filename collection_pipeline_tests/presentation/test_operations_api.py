"""``GET /api/operations/collection-runs``: fields, order, paging, filters (section 9, R41, R44)."""

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import truth_table
from collection_pipeline.store.views import collection_runs
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    add_run,
    opened_operations,
    set_service_time,
)

OLD_FIELDS = [
    "id",
    "jobSourceId",
    "sourceLabel",
    "platform",
    "sourceType",
    "runDate",
    "runStatus",
    "fetchedCount",
    "newCount",
    "updatedCount",
    "missedCount",
    "closedCount",
    "detailFailureCount",
    "failureReason",
    "startedAt",
    "finishedAt",
]
ADDED_FIELDS = [
    "cycleStatus",
    "isComplete",
    "listPageCount",
    "detailRequestCount",
    "attemptCount",
    "nextEligibleAt",
    "leaseUntil",
    "budgetExhausted",
    "continuationPending",
    "abnormal",
    "closeGuarded",
]


@pytest.fixture
def operations(store: Store) -> Iterator[Operations]:
    """The service at noon over the store's database."""
    set_service_time(store)
    with opened_operations(store.url) as opened:
        yield opened


def test_an_item_has_every_field_of_the_contract(store: Store, operations: Operations) -> None:
    """Section 9: the old fields, then the added ones; instants in ISO 8601 with +09:00."""
    source = store.add_source("saramin")
    run = add_run(store, source, DAY, "SUCCESS")
    store.add_cycle(
        source,
        CycleStatus.BUDGET_EXHAUSTED,
        continuation_cursor="{}",
        attempt_count=11,
        list_page_count=50,
        fetched_count=4_000,
        new_count=40,
        updated_count=30,
        missed_count=2,
        closed_count=1,
        detail_request_count=300,
        detail_failure_count=7,
        budget_exhausted_reason="LIST_PAGES",
        started_at=NOON - timedelta(hours=3, microseconds=1),
    )
    (item,) = operations.runs()["items"]
    assert list(item) == OLD_FIELDS + ADDED_FIELDS
    assert item == {
        "id": run,
        "jobSourceId": source,
        "sourceLabel": "a source",
        "platform": "saramin",
        "sourceType": "AGGREGATOR",
        "runDate": "2026-12-01",
        "runStatus": "SUCCESS",
        "fetchedCount": 4_000,
        "newCount": 40,
        "updatedCount": 30,
        "missedCount": 2,
        "closedCount": 1,
        "detailFailureCount": 7,
        "failureReason": None,
        "startedAt": "2026-12-01T08:59:59.999999+09:00",
        "finishedAt": "2026-12-01T12:00:00+09:00",
        "cycleStatus": "BUDGET_EXHAUSTED",
        "isComplete": False,
        "listPageCount": 50,
        "detailRequestCount": 300,
        "attemptCount": 11,
        "nextEligibleAt": None,
        "leaseUntil": None,
        "budgetExhausted": True,
        "continuationPending": False,
        "abnormal": False,
        "closeGuarded": True,
    }


def test_older_history_has_no_added_facts(store: Store, operations: Operations) -> None:
    """Section 9: a runs row without a cycle, also of a source that is gone; the rest is null."""
    source = store.add_source("wanted")
    failed = add_run(
        store,
        source,
        YESTERDAY,
        "FAILED",
        failure_reason="connection refused",
        fetched_count=3,
        started_at=datetime(2026, 11, 29, 15, 0),
        finished_at=datetime(9999, 12, 31, 23, 59, 59),
    )
    gone = add_run(store, 4711, YESTERDAY, "SUCCESS")
    odd = add_run(store, 4712, YESTERDAY, "SKIPPED")
    first, second, third = operations.runs()["items"]
    assert [first["id"], second["id"], third["id"]] == [failed, gone, odd]
    assert [first["runStatus"], second["runStatus"], third["runStatus"]] == [
        "FAILED",
        "SUCCESS",
        None,
    ]
    assert (first["failureReason"], first["fetchedCount"]) == ("connection refused", 3)
    assert first["startedAt"] == "2026-11-30T00:00:00+09:00"
    assert first["finishedAt"].startswith("9999-12-31T")
    assert first["sourceType"] == "AGGREGATOR"
    assert [second[name] for name in ("sourceLabel", "platform", "sourceType")] == [None] * 3
    for item in (first, second, third):
        assert [item[name] for name in ADDED_FIELDS] == [None] * len(ADDED_FIELDS)


@pytest.mark.parametrize(
    ("status", "run_status"),
    [
        ("NOT_STARTED", None),
        ("PENDING", None),
        ("RUNNING", None),
        ("SUCCESS", "SUCCESS"),
        ("FAILED", "FAILED"),
        ("BUDGET_EXHAUSTED", "SUCCESS"),
    ],
)
def test_old_clients_see_a_protective_end_as_success(
    store: Store, operations: Operations, status: str, run_status: str | None
) -> None:
    """Section 9: runStatus is null while in progress; budgetExhausted tells the two apart."""
    store.add_cycle(store.add_source(), CycleStatus(status))
    (item,) = operations.runs()["items"]
    assert (item["cycleStatus"], item["runStatus"]) == (status, run_status)
    assert item["budgetExhausted"] is (status == "BUDGET_EXHAUSTED")
    assert item["id"] is None


def test_every_cycle_is_judged_by_the_truth_table(store: Store, operations: Operations) -> None:
    """R41: over all combinations of status, completeness and fetched."""
    table = truth_table()
    for line in table:
        store.add_cycle(
            store.add_source(),
            line.status,
            is_complete=int(line.is_complete),
            fetched_count=int(line.fetched) * 7,
        )
    items = operations.runs()["items"]
    assert [(item["abnormal"], item["closeGuarded"]) for item in items] == [
        (line.abnormal, line.close_guarded) for line in table
    ]
    assert [item["isComplete"] for item in items] == [line.is_complete for line in table]


def test_a_continuation_is_pending_only_today(store: Store, operations: Operations) -> None:
    """Section 9: PENDING with a cursor on today's run date."""
    source, other_source = store.add_source(), store.add_source()
    store.add_cycle(source, CycleStatus.PENDING, continuation_cursor="{}")
    store.add_cycle(other_source, CycleStatus.PENDING)
    store.add_cycle(source, CycleStatus.PENDING, run_date=YESTERDAY, continuation_cursor="{}")
    store.add_cycle(other_source, CycleStatus.RUNNING, YESTERDAY, continuation_cursor="{}")
    items = operations.runs()["items"]
    assert [item["continuationPending"] for item in items] == [True, False, False, False]
    assert items[0]["nextEligibleAt"] == "2026-12-01T12:00:00+09:00"
    assert items[3]["leaseUntil"] == "2026-12-01T12:10:00+09:00"


def test_a_failure_names_its_reason(store: Store, operations: Operations) -> None:
    """Section 4: a cycle's failureReason is one of the words."""
    store.add_cycle(store.add_source(), CycleStatus.FAILED, failure_reason="RATE_LIMITED")
    (item,) = operations.runs()["items"]
    assert (item["failureReason"], item["abnormal"]) == ("RATE_LIMITED", True)


def test_current_cycles_count_today_only_whatever_the_filters_say(
    store: Store, operations: Operations
) -> None:
    """Section 9: every status is present, also at 0, and the sum."""
    for status in (CycleStatus.SUCCESS, CycleStatus.SUCCESS, CycleStatus.FAILED):
        source = store.add_source()
        store.add_cycle(source, status)
        store.add_cycle(source, CycleStatus.RUNNING, run_date=YESTERDAY)
    expected = dict.fromkeys(CycleStatus, 0) | {"SUCCESS": 2, "FAILED": 1, "total": 3}
    assert operations.runs()["currentCycles"] == expected
    assert operations.runs(status="RUNNING", limit=1)["currentCycles"] == expected


DAYS = [DAY - timedelta(days=back) for back in range(6)]
SOURCES = [3, 1, 2**40, 17, 9]


def fill_history(store: Store, seed: int) -> list[dict[str, Any]]:
    """A mixed history; returns what the API must know of it, in its order."""
    chance = random.Random(seed)
    expected: list[dict[str, Any]] = []
    for day, source in product(DAYS, SOURCES):
        kind = chance.choice(["none", "legacy", "cycle", "cycle", "cycle"])
        if kind == "legacy":
            status = chance.choice(["SUCCESS", "FAILED"])
            add_run(store, source, day, status)
            expected.append({"day": day, "source": source, "cycle": None, "matches": status})
        elif kind == "cycle":
            state = chance.choice(list(CycleStatus))
            store.add_cycle(source, state, run_date=day)
            if state.is_terminal:
                add_run(store, source, day, "FAILED" if state == "FAILED" else "SUCCESS")
            expected.append(
                {"day": day, "source": source, "cycle": state.value, "matches": state.value}
            )
    return sorted(expected, key=lambda one: (-one["day"].toordinal(), one["source"]))


def walk(operations: Operations, **filters: Any) -> list[tuple[str, int, str | None]]:
    """Every item of every page."""
    found: list[tuple[str, int, str | None]] = []
    after: dict[str, str] = {}
    for _ in range(200):
        answer = operations.runs(**filters, **after)
        assert len(answer["items"]) <= filters["limit"]
        found += [
            (item["runDate"], item["jobSourceId"], item["cycleStatus"]) for item in answer["items"]
        ]
        if answer["nextAfter"] is None:
            return found
        after = {"after": answer["nextAfter"]}
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("passed_rows", [5_000, 4])
def test_pages_hold_every_row_once_in_order_under_every_filter(
    store: Store, operations: Operations, monkeypatch: pytest.MonkeyPatch, passed_rows: int
) -> None:
    """Section 9: the union of cycles and older runs; newest day first, then source ascending.

    Also where a page gives up its search for older rows early, at 4 instead of 5,000.
    """
    monkeypatch.setattr(collection_runs, "MOST_PASSED_ROWS", passed_rows)
    history = fill_history(store, seed=5_000)
    assert {one["matches"] for one in history} == set(CycleStatus)
    ranges: list[tuple[date | None, date | None]] = [
        (None, None),
        (DAYS[4], DAYS[1]),
        (DAYS[3], None),
        (None, DAYS[5]),
    ]
    filters = list(
        product(ranges, [None, SOURCES[0], SOURCES[2]], [None, *CycleStatus], [1, 3, 7, 500])
    )
    chosen = random.Random(7).sample(filters, 70)
    for (first, last), source, status, limit in chosen:
        asked: dict[str, Any] = {"limit": limit}
        asked |= {"from_": first} if first else {}
        asked |= {"to": last} if last else {}
        asked |= {"jobSourceId": source} if source else {}
        asked |= {"status": status.value} if status else {}
        expected = [
            (one["day"].isoformat(), one["source"], one["cycle"])
            for one in history
            if (first is None or one["day"] >= first)
            and (last is None or one["day"] <= last)
            and (source is None or one["source"] == source)
            and (status is None or one["matches"] == status)
        ]
        assert walk(operations, **asked) == expected, asked


def test_the_last_page_says_that_it_is(store: Store, operations: Operations) -> None:
    """Section 9: no page is promised behind the last row, also where it fills its page."""
    for _ in range(3):
        store.add_cycle(store.add_source())
    assert operations.runs(limit=3)["nextAfter"] is None
    first = operations.runs(limit=2)
    assert first["nextAfter"] is not None
    assert len(operations.runs(limit=2, after=first["nextAfter"])["items"]) == 1


def test_rows_that_come_while_one_pages_move_nothing(store: Store, operations: Operations) -> None:
    """Section 9: keyset paging; a new day at the front repeats and skips nothing behind it."""
    sources = [store.add_source() for _ in range(4)]
    for source in sources:
        store.add_cycle(source, run_date=YESTERDAY)
    first = operations.runs(limit=2)
    for source in sources:
        store.add_cycle(source)
    second = operations.runs(limit=2, after=first["nextAfter"])
    seen = [item["jobSourceId"] for item in first["items"] + second["items"]]
    assert seen == sources

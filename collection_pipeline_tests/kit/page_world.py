"""A morning as an operator meets it: sources in every state, a snapshot, a month of history.

All of it is invented and the same in each run, so that screenshots can be compared. It is 10:31 KST
of ``DAY``; the snapshot was captured at 09:00.
"""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Table

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.domain.source import Platform, source_type_of
from collection_pipeline.store.schema.cycles import cycles, slices
from collection_pipeline.store.schema.operations import sla_snapshot_items, sla_snapshots
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline.store.schema.sources import job_source_health, job_sources
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.operations_client import set_service_time
from collection_pipeline_tests.kit.page_mornings import MORNINGS, Morning
from collection_pipeline_tests.kit.page_rows import MORNING, completed, item_row, posting_row

CAPTURED_AT = utc_of_kst(DAY) + timedelta(hours=9, microseconds=4_211)
RUN_ID = "5b1c7d2e-0f4a-4c3b-9a77-1d2e3f405162"
UI_URL = "https://dagster.example.com/ui"
HISTORY_DAYS = 30
SOON = timedelta(days=12)
Row = dict[str, Any]


@dataclass(frozen=True)
class PageWorld:
    """Ids by label, and the id of the snapshot's header."""

    store: Store
    sources: dict[str, int]
    snapshot_id: int


class _Rows:
    """Rows that wait to be written together: one by one they would take seconds."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, ...], tuple[Table, list[Row]]] = {}
        self._ids: Counter[str] = Counter()

    def add(self, table: Table, values: Row) -> int:
        """Its id, which is given here so that others can refer to it."""
        row = completed(table, values)
        self._ids[table.name] += 1
        if "id" in table.c:
            row = {"id": self._ids[table.name], **row}
        _, rows = self._waiting.setdefault((table.name, *sorted(row)), (table, []))
        rows.append(row)
        return self._ids[table.name]

    def write(self, connection: Connection) -> None:
        """All of them."""
        for table, rows in self._waiting.values():
            connection.execute(table.insert(), rows)


def opened_morning(store: Store) -> PageWorld:
    """Writes the whole morning into the store's empty database."""
    set_service_time(store, MORNING)
    rows = _Rows()
    snapshot_id = rows.add(
        sla_snapshots,
        {
            "snapshot_date": DAY,
            "scheduled_at": utc_of_kst(DAY) + timedelta(hours=9),
            "capture_status": "CAPTURED",
            "captured_at": CAPTURED_AT,
            "created_at": utc_of_kst(DAY),
        },
    )
    sources = {
        morning.label: _add_source(rows, morning, snapshot_id, random.Random(number))
        for number, morning in enumerate(MORNINGS)
    }
    _add_postings(rows, sources)
    store.run(rows.write)
    return PageWorld(store, sources, snapshot_id)


def _add_source(rows: _Rows, morning: Morning, snapshot_id: int, dice: random.Random) -> int:
    source_id = rows.add(
        job_sources,
        {
            "platform": morning.platform,
            "source_type": source_type_of(Platform(morning.platform)).value,
            "label": morning.label,
            "search_condition": morning.condition,
            "active": int(morning.active),
        },
    )
    if morning.at_nine is not None:
        status, pages, postings, details = morning.at_nine
        noted = {
            "is_complete": int(status == "SUCCESS"),
            "list_page_count": pages,
            "fetched_count": postings,
            "detail_request_count": details,
            "source_label": morning.label,
        }
        rows.add(sla_snapshot_items, item_row(snapshot_id, source_id, status, noted))
    if morning.broken_days:
        health = {
            "job_source_id": source_id,
            "abnormal_days": morning.broken_days,
            "judged_date": DAY,
            "broken_since": DAY - timedelta(days=1),
        }
        rows.add(job_source_health, health)
    history = [_past_cycle(morning, source_id, back, dice) for back in range(1, HISTORY_DAYS)]
    if morning.active:
        for row in history:
            rows.add(cycles, row)
        _add_todays_cycle(rows, morning, source_id)
    return source_id


def _add_todays_cycle(rows: _Rows, morning: Morning, source_id: int) -> None:
    status, pages, postings, details = morning.now
    row: Row = {
        "job_source_id": source_id,
        "run_date": DAY,
        "cycle_status": status,
        "list_page_count": pages,
        "fetched_count": postings,
        "detail_request_count": details,
        "attempt_count": -(-pages // 5),
        **morning.columns,
    }
    if status == "RUNNING":
        row["lease_until"] = MORNING + timedelta(minutes=7, seconds=41)
        row["lease_owner"] = "collector-2:4711"
    if status == "PENDING":
        row["next_eligible_at"] = MORNING + timedelta(minutes=11)
    cycle_id = rows.add(cycles, row)
    for number in range(row["attempt_count"]):
        rows.add(slices, _slice(row, cycle_id, number, row["attempt_count"]))


def _slice(row: Row, cycle_id: int, number: int, count: int) -> Row:
    is_last = number == count - 1
    last = "PENDING" if row["cycle_status"] == "RUNNING" else row["cycle_status"]
    return {
        "cycle_id": cycle_id,
        "job_source_id": row["job_source_id"],
        "run_date": DAY,
        "lease_token": f"{cycle_id}-{number}",
        "dagster_run_id": f"{RUN_ID[:-4]}{number:04x}",
        "worker": "collector-2:4711",
        "outcome": last if is_last else "PENDING",
        "reason": row.get("failure_reason") if is_last else None,
        "list_page_count": min(5, row["list_page_count"] - 5 * number),
        "fetched_count": row["fetched_count"] // count,
        "detail_request_count": row["detail_request_count"] // count,
        "seconds": 38.4 + number,
        "seconds_waited": 21.5,
        "created_at": MORNING - timedelta(minutes=9 * (count - number)),
    }


def _past_cycle(morning: Morning, source_id: int, back: int, dice: random.Random) -> Row:
    fetched = max(1, round(morning.usual * dice.uniform(0.82, 1.12)))
    row: Row = {
        "job_source_id": source_id,
        "run_date": DAY - timedelta(days=back),
        "cycle_status": "SUCCESS",
        "is_complete": 1,
        "list_page_count": min(50, -(-fetched // 90)),
        "fetched_count": fetched,
        "new_count": fetched // 25,
        "closed_count": fetched // 40,
        "attempt_count": -(-fetched // 450),
    }
    fate = dice.random()
    if 0 < back < morning.broken_days:
        row |= {"cycle_status": "FAILED", "is_complete": 0, "fetched_count": 0, "new_count": 0}
        row |= {"failure_reason": "BAD_RESPONSE", "failure_detail": "the body is HTML"}
    elif morning.usual > 4_000 and fate < 0.4:
        row |= {"cycle_status": "BUDGET_EXHAUSTED", "is_complete": 0, "closed_count": 0}
        row |= {"budget_exhausted_reason": "LIST_PAGES", "list_page_count": 50}
    elif fate > 0.95:
        row |= {"cycle_status": "FAILED", "is_complete": 0, "fetched_count": fetched // 3}
        row |= {"failure_reason": "TIMEOUT", "failure_detail": "no answer within 30 s"}
        row |= {"closed_count": 0, "list_page_count": row["list_page_count"] // 3}
    elif fate > 0.9:
        row |= {"is_complete": 0, "failure_detail": "INCOMPLETE", "closed_count": 0}
    return row


def _add_postings(rows: _Rows, sources: dict[str, int]) -> None:
    kinds = (
        ("백엔드 엔지니어 (Kotlin/Spring)", "하늘소프트", "원티드 · 백엔드 개발", None),
        (
            "데이터 플랫폼 엔지니어",
            "푸른은행",
            "사람인 · 데이터 엔지니어",
            DAY + timedelta(days=12),
        ),
        ("Senior Robotics Software Engineer", "Northwind Robotics", "Northwind Robotics", None),
        ("게임 서버 프로그래머", "모래시계게임즈", "모래시계게임즈 채용", None),
        ("물류 최적화 연구원", "새벽물류랩", "새벽물류랩 채용", DAY - timedelta(days=3)),
        ("프론트엔드 개발자 (React)", "달빛커머스", "점핏 · 프론트엔드", DAY + timedelta(days=3)),
    )
    for number in range(120):
        title, company, label, deadline = kinds[number % len(kinds)]
        days_ago = 9 if label.startswith("새벽") or number % 20 == 0 else number % 2
        columns: Row = {
            "title": title,
            "company_name": company,
            "url": f"https://jobs.example.com/{number}",
            "location_raw": "서울 강남구",
            "last_seen_run_date": DAY - timedelta(days=days_ago),
        }
        if deadline is not None:
            columns |= {"deadline_kind": "DATE", "deadline_at": _end_of(deadline)}
        if number % 23 == 5:
            columns |= {"status": "MISSED", "missed_count": 1}
        rows.add(job_postings, posting_row(sources[label], str(number), columns))


def _end_of(day: date) -> datetime:
    return utc_of_kst(day + timedelta(days=1)) - timedelta(seconds=1)

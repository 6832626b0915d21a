"""The 09:00 snapshot on the page: beside the present, and never made up from it (R36 to R42)."""

from datetime import timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
    set_service_time,
)
from collection_pipeline_tests.kit.page_reading import cell, marks, page, row_of
from collection_pipeline_tests.kit.page_rows import add_item
from collection_pipeline_tests.kit.page_world import PageWorld, opened_morning

pytestmark = pytest.mark.usefixtures("noon")


CHANGED = "09:00 이후 바뀜"
CYCLES = "job_posting_collection_cycles"


@pytest.fixture
def morning(store: Store) -> PageWorld:
    """Sources in every state, captured at 09:00."""
    return opened_morning(store)


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        ("MISSED", "the gate was granted 61 s after the cutoff", "기록 실패"),
        ("NOT_APPLICABLE", "posting.collection-dispatch-v2 was off", "해당 없음"),
        ("PENDING", None, "기록 전"),
    ],
)
def test_a_snapshot_without_items_shows_its_reason_and_no_number(
    store: Store, operations: Operations, status: str, reason: str | None, said: str
) -> None:
    """R42: neither a count nor a state is made up from the present."""
    store.add_cycle(store.add_source())
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots (snapshot_date, scheduled_at,"
        " capture_status, miss_reason, created_at) VALUES (:day, :at, :status, :reason, :at)",
        day=DAY,
        at=utc_of_kst(DAY) + timedelta(hours=9),
        status=status,
        reason=reason,
    )
    box = page(operations).one("section", "snapshot")
    assert said in box.text
    assert (reason or "") in box.text
    assert "끝나지 않음" not in box.text
    assert not page(operations).all("span", "tile-note")


def test_a_day_without_a_header_is_pending_until_its_cutoff(
    store: Store, operations: Operations
) -> None:
    """R42: UNAVAILABLE only afterwards."""
    set_service_time(store, utc_of_kst(DAY) + timedelta(hours=8))
    assert "기록 전" in page(operations).one("section", "snapshot").text
    set_service_time(store, NOON)
    assert "자료 없음" in page(operations).one("section", "snapshot").text


def test_the_header_says_the_cutoff_whatever_is_configured_now(
    store: Store, morning: PageWorld
) -> None:
    """R42, R43: title, explanation, tiles, column and changes; the setting speaks without it."""
    with opened_operations(store.url, SLA_CUTOFF="10:00") as moved:
        shown = page(moved)
        assert "10:00" not in shown.one("main").text
        assert shown.one("section", "snapshot").one("h2").text == "09:00 기록"
        assert {one.text[:5] for one in shown.all("span", "tile-note")} == {"09:00"}
        assert "09:00 기록" in [one.text for one in shown.one("table", "sources").all("th")]
        assert CHANGED in row_of(shown, morning.sources["푸른은행 디지털"]).text
        store.write("DELETE FROM job_posting_collection_sla_snapshot_items")
        store.write("DELETE FROM job_posting_collection_sla_snapshots")
        assert page(moved).one("section", "snapshot").one("h2").text == "10:00 기록"


@pytest.mark.parametrize("guarded", [True, False])
def test_the_close_guard_at_the_cutoff_is_the_items_own(
    store: Store, operations: Operations, morning: PageWorld, guarded: bool
) -> None:
    """R36, R41, R43: as captured, although the truth table would say otherwise of one of them."""
    store.write(
        "UPDATE job_posting_collection_sla_snapshot_items SET close_guarded = :guarded",
        guarded=int(guarded),
    )
    row = row_of(page(operations), morning.sources["원티드 · 백엔드 개발"])
    assert marks(cell(row, "09:00 기록")) == ["마감 판정 제외"] * guarded
    assert marks(cell(row, "지금")) == ["마감 판정 제외"]


def test_what_was_captured_is_shown_whatever_came_later(
    operations: Operations, morning: PageWorld
) -> None:
    """R39, R42: the count is the snapshot's, and a source that ends does not change it."""
    before = page(operations).one("section", "snapshot").text
    assert "8곳 / 전체 11곳" in before
    assert "09:00:00.004" in before
    morning.store.write(f"UPDATE {CYCLES} SET cycle_status = 'SUCCESS' WHERE run_date = '{DAY}'")
    assert page(operations).one("section", "snapshot").text == before


def test_an_item_of_the_snapshot_says_incomplete(store: Store, operations: Operations) -> None:
    """R23a: a SUCCESS that was short at the cutoff is not shown as a good one."""
    source_id = store.add_source()
    store.add_cycle(source_id, CycleStatus.SUCCESS, is_complete=1, fetched_count=9)
    store.write(
        "INSERT INTO job_posting_collection_sla_snapshots (id, snapshot_date, scheduled_at,"
        " capture_status, captured_at, created_at) VALUES (5, :day, :at, 'CAPTURED', :at, :at)",
        day=DAY,
        at=utc_of_kst(DAY) + timedelta(hours=9),
    )
    add_item(store, 5, source_id, "SUCCESS", is_complete=0, fetched_count=8)
    row = row_of(page(operations), source_id)
    assert cell(row, "09:00 기록").text == "불완전 성공 8건 마감 판정 제외"
    assert f"{CHANGED} · +1건" in row.text


def test_each_source_stands_beside_its_state_at_the_cutoff(
    operations: Operations, morning: PageWorld
) -> None:
    """R36, R43: what differs is marked by words and a sign, not by colour alone."""
    shown = page(operations)
    changed = row_of(shown, morning.sources["푸른은행 디지털"])
    assert cell(changed, "09:00 기록").text == "수집 중 0건 마감 판정 제외"
    assert cell(changed, "지금").text.startswith("성공")
    assert f"{CHANGED} · +57건" in cell(changed, "지금").text
    assert changed.attributes["class"] == "is-changed"
    moved_on = row_of(shown, morning.sources["원티드 · 데이터 사이언스"])
    assert CHANGED not in moved_on.text
    assert "09:00 이후 +490건" in moved_on.text
    same = row_of(shown, morning.sources["Northwind Robotics"])
    assert "이후" not in same.text
    absent = row_of(shown, morning.sources["달빛커머스 채용"])
    assert cell(absent, "09:00 기록").text == "기록에 없음"

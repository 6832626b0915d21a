"""The page of today: what it says agrees with the API and the database (R40 to R43)."""

from collections import Counter

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import truth_table
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.operations.page.asking import TodayQuestion
from collection_pipeline.operations.page.today_page import read_today
from collection_pipeline.store.views.source_rank import Rank, SourceState
from collection_pipeline.store.views.today import TodayFilter
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
)
from collection_pipeline_tests.kit.page_mornings import MORNINGS
from collection_pipeline_tests.kit.page_reading import cell, labels, marks, page, row_of
from collection_pipeline_tests.kit.page_world import RUN_ID, UI_URL, PageWorld, opened_morning

pytestmark = pytest.mark.usefixtures("noon")


CHANGED = "09:00 이후 바뀜"
GUARDED = "마감 판정 제외"
CYCLES = "job_posting_collection_cycles"


@pytest.fixture
def morning(store: Store) -> PageWorld:
    """Sources in every state, captured at 09:00."""
    return opened_morning(store)


def test_sources_that_need_attention_come_first(operations: Operations, morning: PageWorld) -> None:
    """The world lists them in that order: abnormal, used up, incomplete, at work, ended."""
    assert labels(page(operations)) == [
        *(one.label for one in MORNINGS if one.label != "달빛커머스 채용"),
        "달빛커머스 채용",
    ]
    only = labels(page(operations, state="ATTENTION"))
    assert only == [one.label for one in MORNINGS[:5]]


def test_the_page_marks_exactly_what_the_api_judges(store: Store, operations: Operations) -> None:
    """R41, R43: every line of the truth table, compared with closeGuarded and abnormal."""
    for line in truth_table():
        store.add_cycle(
            store.add_source(),
            line.status,
            is_complete=int(line.is_complete),
            fetched_count=7 * line.fetched,
        )
    shown = page(operations)
    judged = operations.runs(from_=DAY, to=DAY, limit=100)["items"]
    assert len(judged) == len(truth_table())
    assert {item["closeGuarded"] for item in judged} == {True, False}
    for item in judged:
        said = marks(row_of(shown, item["jobSourceId"]))
        assert (GUARDED in said) == item["closeGuarded"], item
        assert ("이상" in said) == item["abnormal"], item


def test_the_order_of_the_page_follows_the_truth_table(
    store: Store, operations: Operations
) -> None:
    """R41: what SQL ranks as abnormal or guarded is what the domain judges so."""
    for line in truth_table():
        store.add_cycle(
            store.add_source(),
            line.status,
            is_complete=int(line.is_complete),
            fetched_count=7 * line.fetched,
        )
    rows = read_today(operations.context, TodayQuestion(TodayFilter(), None)).page.rows
    assert [row.rank for row in rows] == sorted(row.rank for row in rows)
    for row in rows:
        assert row.cycle is not None
        assert (row.rank is Rank.ABNORMAL) == row.cycle.abnormal
        is_unsafe_success = row.cycle.status is CycleStatus.SUCCESS and row.cycle.close_guarded
        assert (row.rank is Rank.CLOSE_GUARDED_SUCCESS) == (
            is_unsafe_success and not row.cycle.abnormal
        )


def test_the_numbers_of_the_day_are_the_rows(operations: Operations, morning: PageWorld) -> None:
    """Now and at the cutoff, by state; a tile leads to just its sources."""
    shown = page(operations)
    states = Counter("OFF" if not one.active else one.now[0] for one in MORNINGS)
    then = Counter(one.at_nine[0] for one in MORNINGS if one.at_nine)
    seen = {}
    for tile in shown.all("a", "tile"):
        found = page(operations, tile.attributes["href"])
        seen[tile.attributes["href"].partition("state=")[2]] = int(
            tile.one("span", "tile-number").text
        )
        assert len(labels(found)) == int(tile.one("span", "tile-number").text)
    assert seen == {
        state.value: states[state.value] for state in SourceState if state != "NO_CYCLE"
    }
    failed = shown.by_id("tile-failed").one("span", "tile-note").text
    assert failed == f"09:00 {then['FAILED']}"


def test_a_platform_can_be_chosen_together_with_a_state(
    operations: Operations, morning: PageWorld
) -> None:
    """The choice stays in every link of the list."""
    shown = page(operations, platform="lever", state="SUCCESS")
    assert labels(shown) == ["Northwind Robotics"]
    chosen = [one.text for one in shown.all("a", "chip") if "aria-current" in one.attributes]
    assert chosen == ["lever"]
    other = [one for one in shown.all("a", "chip") if one.text == "wanted"]
    assert other[0].attributes["href"] == "/?state=SUCCESS&platform=wanted"
    assert "조건에 맞는 수집원이 없습니다" in page(operations, platform="naver").text


def test_a_switched_off_source_and_one_without_a_cycle_say_so(
    store: Store, operations: Operations
) -> None:
    """A cycle of yesterday is not today's."""
    off, waiting = store.add_source(active=False), store.add_source()
    store.add_cycle(waiting, CycleStatus.SUCCESS, YESTERDAY)
    shown = page(operations)
    assert cell(row_of(shown, off), "지금").text == "꺼짐"
    assert cell(row_of(shown, waiting), "지금").text == "주기 없음"


def test_progress_is_told_in_numbers_beside_the_bars(
    store: Store, operations: Operations, morning: PageWorld
) -> None:
    """Bars have a text alternative; a source's own limits count; unusable ones are told (R2)."""
    wanted = morning.sources["원티드 · 백엔드 개발"]
    store.write("UPDATE job_sources SET daily_postings = 6000 WHERE id = :id", id=wanted)
    broken = morning.sources["점핏 · 데브옵스"]
    store.write("UPDATE job_sources SET daily_postings = 0 WHERE id = :id", id=broken)
    shown = page(operations)
    meters = cell(row_of(shown, wanted), "오늘 쓴 예산")
    assert meters.text == "목록 50 / 50 공고 4,870 / 6,000 상세 300 / 300"
    spoken = [one.attributes["aria-label"] for one in meters.all("svg", "bar")]
    assert spoken[1] == "공고: 6,000 중 4,870 사용"
    assert "예산 설정을 쓸 수 없음" in row_of(shown, broken).text


def test_errors_times_and_leases_are_shown(operations: Operations, morning: PageWorld) -> None:
    """Reason in words with its detail, the next eligible time and the lease in KST."""
    shown = page(operations)
    failed = row_of(shown, morning.sources["사람인 · 데이터 엔지니어"])
    assert cell(failed, "마지막 오류").text == "요청 과다(429) status 429, Retry-After 900"
    running = cell(row_of(shown, morning.sources["사람인 · 백엔드 서울"]), "다음 시각")
    assert running.text == "임대 시한 10:38:48 collector-2:4711"
    waiting = row_of(shown, morning.sources["원티드 · 데이터 사이언스"])
    (time,) = cell(waiting, "다음 시각").all("time")
    assert (time.text, time.attributes["datetime"]) == ("10:42:07", "2026-12-01T10:42:07+09:00")
    short = row_of(shown, morning.sources["점핏 · 프론트엔드"])
    assert cell(short, "마지막 오류").text == "밝힌 전체 395건 가운데 318건"


def test_an_overdue_lease_needs_attention(
    store: Store, operations: Operations, morning: PageWorld
) -> None:
    """R11: recovery has not come by."""
    running = morning.sources["사람인 · 백엔드 서울"]
    store.write(
        f"UPDATE {CYCLES} SET lease_until = :past WHERE job_source_id = :id AND run_date = :day",
        past=utc_of_kst(DAY),
        id=running,
        day=DAY,
    )
    shown = page(operations, state="ATTENTION")
    assert "임대 시한 지남" in marks(row_of(shown, running))


@pytest.mark.parametrize(
    ("run_id", "is_linked"),
    [(RUN_ID, True), (None, False), ("../../evil", False), (RUN_ID[:-1] + "Z", False)],
)
def test_a_run_is_linked_only_by_what_looks_like_a_run_id(
    store: Store, operations: Operations, run_id: str | None, is_linked: bool
) -> None:
    """The newest slice's run, in the Dagster that is configured."""
    source_id = store.add_source()
    cycle_id = store.add_cycle(source_id)
    for number, given in enumerate(["11111111-1111-1111-1111-111111111111", run_id]):
        store.write(
            "INSERT INTO collection_slices (cycle_id, job_source_id, run_date, lease_token,"
            " dagster_run_id, worker, outcome, created_at) VALUES (:cycle, :source, :day, :token,"
            " :run, 'w', 'PENDING', :now)",
            cycle=cycle_id,
            source=source_id,
            day=DAY,
            token=str(number),
            run=given,
            now=NOON,
        )
    found = row_of(page(operations), source_id).all("a", "away")
    assert [one.attributes["href"] for one in found] == [f"{UI_URL}/runs/{run_id}"] * is_linked


def test_no_run_is_linked_where_dagster_has_no_address(store: Store, morning: PageWorld) -> None:
    """COLLECTION_DAGSTER_UI_URL is not set."""
    with opened_operations(store.url) as operations:
        assert not page(operations).all("a", "away")

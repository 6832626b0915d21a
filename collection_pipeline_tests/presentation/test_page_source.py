"""A source's page: 30 days, health, slices, and postings that nobody confirms (R32a, R33, R44)."""

from datetime import timedelta

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.store.views import source_days
from collection_pipeline_tests.kit.database import DAY, NOON, YESTERDAY, Store
from collection_pipeline_tests.kit.html_reading import Element
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    add_run,
)
from collection_pipeline_tests.kit.page_reading import cell, page
from collection_pipeline_tests.kit.page_rows import add_item, add_posting
from collection_pipeline_tests.kit.page_world import RUN_ID, UI_URL, PageWorld, opened_morning
from collection_pipeline_tests.kit.statement_costs import listening

pytestmark = pytest.mark.usefixtures("noon")


DAYS = 30


@pytest.fixture
def morning(store: Store) -> PageWorld:
    """Sources with a month of history."""
    return opened_morning(store)


def day_rows(shown: Element) -> dict[str, Element]:
    """The table's rows by day (MM-DD), newest first."""
    table = shown.one("table", "days")
    rows = [row for row in table.all("tr") if row.all("td")]
    return {row.all("th")[0].text: row for row in rows}


def counts(shown: Element) -> dict[str, str]:
    """The source's postings by name."""
    items = shown.one("ul", "counts").all("li")
    return {
        item.one("span", "tile-name").text: item.one("span", "tile-number").text for item in items
    }


def test_the_last_thirty_days_are_charted_and_tabled_alike(
    operations: Operations, morning: PageWorld
) -> None:
    """The table is the charts' text: as many days, the same values, newest first."""
    shown = page(operations, f"/sources/{morning.sources['원티드 · 백엔드 개발']}")
    rows = day_rows(shown)
    assert list(rows) == [f"{DAY - timedelta(days=back):%m-%d}" for back in range(DAYS)]
    fetched, budget = shown.all("svg", "bars")
    titles = [bar.one("title").text for bar in fetched.all("rect")]
    assert len(titles) == len(budget.all("rect")) == len(shown.all("span", "cell")) == DAYS
    for title, (day, row) in zip(reversed(titles), rows.items(), strict=True):
        assert title.startswith(day)
        assert f"{cell(row, '가져옴').text}건" in title
        assert f"예산 {cell(row, '예산').text}" in title
    today = rows[f"{DAY:%m-%d}"]
    assert cell(today, "상태").text == "예산 소진 마감 판정 제외"
    assert cell(today, "09:00").text == "대기 마감 판정 제외"
    assert cell(today, "이유").text == "목록 페이지 한도"


def test_each_day_says_the_cutoff_of_its_own_snapshot(store: Store, operations: Operations) -> None:
    """R42: the heading is the newest snapshot's; another day's and its judgement are its own."""
    source_id = store.add_source()
    store.add_cycle(source_id)
    for number, (day, hour) in enumerate(((YESTERDAY, 8), (DAY, 10)), 1):
        store.write(
            "INSERT INTO job_posting_collection_sla_snapshots (id, snapshot_date, scheduled_at,"
            " capture_status, captured_at, created_at) VALUES (:id, :day, :at, 'CAPTURED', :at,"
            " :at)",
            id=number,
            day=day,
            at=utc_of_kst(day) + timedelta(hours=hour),
        )
        add_item(store, number, source_id, "SUCCESS", is_complete=number - 1, close_guarded=0)
    shown = page(operations, f"/sources/{source_id}")
    assert [one.text for one in shown.one("table", "days").all("th")][2] == "10:00"
    rows = day_rows(shown)
    assert cell(rows[f"{DAY:%m-%d}"], "10:00").text == "성공"
    assert cell(rows[f"{YESTERDAY:%m-%d}"], "08:00").text == "불완전 성공 08:00"


def test_days_outside_the_thirty_are_left_out(store: Store, operations: Operations) -> None:
    """The first day counts, the one before does not, nor does tomorrow."""
    source_id = store.add_source()
    for back in (-1, 0, DAYS - 1, DAYS):
        day = DAY - timedelta(days=back)
        store.add_cycle(source_id, CycleStatus.SUCCESS, day, is_complete=1, fetched_count=5)
    rows = day_rows(page(operations, f"/sources/{source_id}"))
    assert list(rows) == [f"{DAY:%m-%d}", f"{DAY - timedelta(days=DAYS - 1):%m-%d}"]


def test_history_of_an_older_system_is_shown_as_such(store: Store, operations: Operations) -> None:
    """R44: it has no cycle, so nothing is said of budget or close guard."""
    source_id = store.add_source()
    add_run(store, source_id, YESTERDAY, "FAILED", fetched_count=12, failure_reason="old <b>words")
    rows = day_rows(page(operations, f"/sources/{source_id}"))
    row = rows[f"{YESTERDAY:%m-%d}"]
    assert cell(row, "상태").text == "실패"
    assert cell(row, "가져옴").text == "12"
    assert cell(row, "예산").text == "–"
    assert cell(row, "이유").text == "이전 시스템의 기록 old <b>words"


def test_a_source_without_history_says_so(store: Store, operations: Operations) -> None:
    """No chart of nothing."""
    shown = page(operations, f"/sources/{store.add_source()}")
    assert "최근 30일 동안 수집한 적이 없습니다" in shown.text
    assert not shown.all("svg", "bars")
    assert "아직 조각이 없습니다" in shown.text


@pytest.mark.parametrize(("days_ago", "unconfirmed"), [(6, "0"), (7, "1"), (8, "1")])
def test_an_open_posting_is_unconfirmed_from_the_seventh_day_on(
    store: Store, operations: Operations, days_ago: int, unconfirmed: str
) -> None:
    """R32a: derived from the last sighting; other states are not counted."""
    source_id = store.add_source()
    last_seen = DAY - timedelta(days=days_ago)
    add_posting(store, source_id, "1", last_seen_run_date=last_seen)
    add_posting(store, source_id, "2")
    add_posting(store, source_id, "3", last_seen_run_date=last_seen, status="MISSED")
    add_posting(store, store.add_source(), "1", last_seen_run_date=last_seen)
    shown = page(operations, f"/sources/{source_id}")
    assert counts(shown) == {
        "열린 공고": "2",
        "미확인": unconfirmed,
        "마감일 지남": "0",
        "안 보임": "1",
    }
    share = {"0": "0%", "1": "50%"}[unconfirmed]
    assert f"열린 공고의 {share} · 7일 넘게 확인되지 않음" in shown.text


def test_a_passed_deadline_is_counted_and_closes_nothing(
    store: Store, operations: Operations
) -> None:
    """R32a: to the second, by the database's clock."""
    source_id = store.add_source()
    for number, minutes in enumerate((-1, 60, 120)):
        add_posting(
            store,
            source_id,
            str(number),
            deadline_kind="DATE",
            deadline_at=NOON + timedelta(minutes=minutes),
        )
    shown = counts(page(operations, f"/sources/{source_id}"))
    assert (shown["마감일 지남"], shown["열린 공고"]) == ("1", "3")


def test_counting_stops_and_says_so(
    store: Store, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded: a source of a hundred thousand postings costs no more."""
    monkeypatch.setattr(source_days, "MOST_COUNTED", 3)
    source_id = store.add_source()
    for number in range(4):
        add_posting(store, source_id, str(number))
    shown = page(operations, f"/sources/{source_id}")
    assert counts(shown)["열린 공고"] == "3"
    assert "20,000건까지만 셌습니다" in shown.text


def test_health_is_told_in_words(store: Store, operations: Operations, morning: PageWorld) -> None:
    """R33."""
    broken = page(operations, f"/sources/{morning.sources['새벽물류랩 채용']}").text
    assert f"{YESTERDAY}부터 고장으로 판정 · 4일 연속 이상" in broken
    assert "정상" in page(operations, f"/sources/{morning.sources['Northwind Robotics']}").text


def test_the_newest_slices_come_first_with_their_runs(
    operations: Operations, morning: PageWorld
) -> None:
    """R19a: of the newest cycles, bounded, with the run in Dagster."""
    shown = page(operations, f"/sources/{morning.sources['사람인 · 데이터 엔지니어']}")
    rows = [row for row in shown.one("table", "slices").all("tr") if row.all("td")]
    assert [row.all("th")[0].text for row in rows] == ["10:22:07", "10:13:07", "10:04:07"]
    assert cell(rows[0], "상태").text == "실패 요청 과다(429)"
    assert cell(rows[2], "실행").all("a")[0].attributes["href"] == (
        f"{UI_URL}/runs/{RUN_ID[:-4]}0000"
    )


@pytest.mark.parametrize("condition", ["{", "[1]", '{"a": 3}', '"x"', "<script>1</script>", ""])
def test_a_condition_that_cannot_be_read_is_shown_as_it_is(
    store: Store, operations: Operations, condition: str
) -> None:
    """R2: what was written by hand fails its cycle, not the page."""
    source_id = store.add_source()
    store.write("UPDATE job_sources SET search_condition = :c, label = ''", c=condition)
    assert condition in page(operations, f"/sources/{source_id}").text
    assert page(operations).by_id(f"source-{source_id}").all("a")[0].text == f"#{source_id}"


def test_a_month_costs_the_same_statements_as_a_day(
    store: Store, operations: Operations, morning: PageWorld
) -> None:
    """Bounded: nothing is asked once a day or once a slice."""
    page(operations, "/postings")  # A connection that ended with another test is replaced now.
    with listening(operations.context.database.engine) as month:
        page(operations, f"/sources/{morning.sources['원티드 · 백엔드 개발']}")
    source_id = store.add_source()
    store.add_cycle(source_id)
    add_item(store, morning.snapshot_id, source_id, "PENDING")
    with listening(operations.context.database.engine) as day:
        page(operations, f"/sources/{source_id}")
    assert len(month.sent) == len(day.sent) <= 9
    for statement, _parameters in month.sent:
        assert "job_source_id" in statement or "cycle_id" in statement or "id =" in statement


def test_the_search_is_one_link_away(operations: Operations, morning: PageWorld) -> None:
    """Each count leads to the postings that it counts."""
    source_id = morning.sources["새벽물류랩 채용"]
    shown = page(operations, f"/sources/{source_id}", lang="en")
    (link,) = [one for one in shown.one("ul", "counts").all("a") if "Unconfirmed" in one.text]
    found = page(operations, link.attributes["href"])
    number = link.one("span", "tile-number").text
    assert len(found.all("th", "source")) == int(number) > 0
    assert utc_of_kst(DAY) < NOON

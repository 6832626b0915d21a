"""The budget report over hand-made days: its figures, and proposals that say why (R9, R20)."""

from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.collection.report.budget_report import BudgetReport, budget_report
from collection_pipeline.collection.report.facts import read_facts
from collection_pipeline.collection.report.flat_table import flat_table
from collection_pipeline.collection.report.not_usable import days_not_usable
from collection_pipeline.collection.report.platform_budgets import PlatformBudget
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.report_days import (
    add_day,
    add_days,
    add_slice,
    complete,
    exhausted,
    failed,
)

Row = dict[str, Any]
YESTERDAY = DAY - timedelta(days=1)


def _report(store: Store, days: int = 28, **environment: str) -> BudgetReport:
    settings = load_settings({f"COLLECTION_{name}": text for name, text in environment.items()})
    return budget_report(read_facts(store.transactions, store.clock, settings, days), settings)


def _budget(report: BudgetReport, platform: str, measure: str) -> PlatformBudget:
    (one,) = [b for b in report.budgets if (b.platform, b.measure) == (platform, measure)]
    return one


def _proposed(report: BudgetReport, source: int, measure: str) -> int:
    table = report.proposals
    (row,) = table[(table["job_source_id"] == source) & (table["measure"] == measure)].to_dict(
        "records"
    )
    return int(row["proposed"])


def test_every_kind_of_day_is_counted_for_its_source_and_platform(store: Store) -> None:
    """Pages, postings, details, waits and failures by reason, and which limit ran out."""
    board, search = store.add_source("greenhouse"), store.add_source("saramin")
    add_days(
        store,
        board,
        [
            complete(2, 150, 20, detail_failure_count=3),
            complete(1, 0),
            complete(1, 90) | {"is_complete": 0},
            failed("TIMEOUT", 1, 40),
            failed("HTTP_5XX"),
            failed("TIMEOUT"),
            exhausted("DETAIL_REQUESTS", 2, 160, 300, new_count=400),
            {"status": CycleStatus.NOT_STARTED},
        ],
    )
    add_days(store, search, [exhausted("LIST_PAGES", 50, 1000, stated_total=2594)])
    add_slice(store, board, YESTERDAY, 12.5)
    add_slice(store, board, YESTERDAY, 7.25, hours=24.01, rate_limited_count=1)
    before = store.tables()
    report = _report(store)
    assert store.tables() == before
    (one,) = [row for row in report.document()["sources"] if row["job_source_id"] == board]  # type: ignore[attr-defined]  # plain JSON
    assert {name: one[name] for name in one if name.endswith("_days")} == {
        "complete_days": 1,
        "exhausted_days": 1,
        "incomplete_days": 1,
        "empty_days": 1,
        "failed_days": 3,
        "unfinished_days": 1,
    }
    assert (one["days"], one["list_pages"], one["postings"], one["detail_requests"]) == (
        8,
        7,
        440,
        320,
    )
    assert (one["seconds_waited"], one["rate_limited"], one["detail_failures"]) == (19.8, 1, 3)
    assert one["failures"] == "TIMEOUT 2, HTTP_5XX 1"
    assert (one["exhausted_share"], one["exhausted_detail_requests"]) == (0.125, 1)
    platforms = {row["platform"]: row for row in report.document()["platforms"]}  # type: ignore[attr-defined]  # plain JSON
    assert platforms["greenhouse"]["failures"] == "TIMEOUT 2, HTTP_5XX 1"
    assert platforms["saramin"]["exhausted_share"] == 1
    assert (platforms["saramin"]["exhausted_list_pages"], platforms["saramin"]["sources"]) == (1, 1)


def test_only_whole_days_of_the_period_count(store: Store) -> None:
    """Today is not over; a day before the period is not in it, nor are its slices."""
    board = store.add_source()
    add_day(store, board, DAY, complete(9, 900))
    add_slice(store, board, DAY, 99.0)
    add_days(store, board, [complete(1, 10), complete(2, 20), complete(4, 40)])
    add_slice(store, board, DAY - timedelta(days=3), 50.0, hours=24.5)
    report = _report(store, days=2)
    assert (report.first_day, report.last_day) == (DAY - timedelta(days=2), YESTERDAY)
    assert int(report.platforms["list_pages"].sum()) == 3
    assert float(report.platforms["seconds_waited"].sum()) == 0
    assert report.days_without_cycles == []


def test_a_source_that_is_always_complete_is_measured(store: Store) -> None:
    """The p95 and a quarter more, at least a slice; never below the highest day."""
    large, small = store.add_source("wanted"), store.add_source("wanted")
    add_days(store, large, [complete(20 + n % 3, 2000, 40) for n in range(27)])
    add_days(store, small, [complete(2, 150, 10)] * 10)
    report = _report(store)
    pages = _budget(report, "wanted", "list_pages")
    assert (pages.kind, pages.present, pages.proposed, pages.usable) == ("measured", 50, 28, 37)
    assert "95 in 100 needed at most 22 list pages" in pages.reasoning
    assert "of the other 1 none would need more than 7" in pages.reasoning
    assert _budget(report, "wanted", "postings").proposed == 2500
    assert _budget(report, "wanted", "detail_requests").proposed == 90
    assert report.exhausted == []
    add_day(store, large, DAY - timedelta(days=28), complete(31, 3200, 40))
    assert _budget(_report(store), "wanted", "list_pages").proposed == 31


def test_a_cut_list_is_reckoned_from_the_stated_total(store: Store) -> None:
    """2,594 postings at 20 a page are 130 pages, and a quarter more; both choices have numbers."""
    search = store.add_source("saramin")
    add_days(store, search, [exhausted("LIST_PAGES", 50, 1000, stated_total=2594)] * 10)
    report = _report(store)
    pages = _budget(report, "saramin", "list_pages")
    assert (pages.kind, pages.proposed, pages.usable, pages.unknown) == ("measured", 163, 10, 0)
    assert "reckoned from the platform's stated total" in pages.reasoning
    assert _budget(report, "saramin", "postings").proposed == 2594 + 649
    (choice,) = report.exhausted
    assert (choice.limit, choice.exhausted_days, choice.days) == ("LIST_PAGES", 10, 10)
    assert "at most 50 list pages a day instead of 130" in choice.narrower
    assert "states up to 2,594 postings" in choice.narrower
    assert "50 to 163 list pages a day" in choice.more


def test_a_cut_list_without_a_total_gets_a_step_and_says_so(store: Store) -> None:
    """One complete day among ten cut ones does not speak for them."""
    search = store.add_source("jumpit")
    add_days(store, search, [complete(3, 60), *[exhausted("LIST_PAGES", 50, 1000)] * 10])
    pages = _budget(_report(store), "jumpit", "list_pages")
    assert (pages.kind, pages.proposed, pages.unknown) == ("step", 100, 10)
    assert "nothing more is known" in pages.reasoning


def test_one_lucky_day_proposes_nothing(store: Store) -> None:
    """A week of usable days is needed before a budget is touched."""
    search = store.add_source("jumpit")
    add_days(store, search, [complete(3, 60), *[failed("TIMEOUT", 2, 40)] * 9])
    report = _report(store)
    pages = _budget(report, "jumpit", "list_pages")
    assert (pages.kind, pages.proposed, pages.usable) == ("keep", 50, 1)
    assert "the best has 1" in pages.reasoning
    unusable = report.document()["unusable_days"]
    assert len(unusable) == 9  # type: ignore[arg-type]  # plain JSON
    assert {(row["kind"], row["sources"]) for row in unusable} == {("failed", 1)}  # type: ignore[attr-defined]  # plain JSON
    assert len(report.days_without_cycles) == 18
    lines = days_not_usable(report)
    assert (lines[0], len(lines)) == (f"{DAY - timedelta(days=2)}: failed, 1 source(s)", 27)


def test_failed_days_lower_nothing_and_are_a_floor(store: Store) -> None:
    """Ten short complete days; a failed one had already used 40 pages."""
    search = store.add_source("jumpit")
    add_days(store, search, [*[complete(3, 60)] * 10, failed("HTTP_5XX", 40, 800)])
    assert _budget(_report(store), "jumpit", "list_pages").proposed == 40


def test_no_platform_budget_falls_while_a_source_is_unmeasured(store: Store) -> None:
    """A new source may need what the others do not."""
    add_days(store, store.add_source("jumpit"), [complete(3, 60)] * 10)
    new = store.add_source("jumpit")
    pages = _budget(_report(store), "jumpit", "list_pages")
    assert (pages.kind, pages.proposed) == ("keep", 50)
    assert "would do with 8" in pages.reasoning
    store.write("UPDATE job_sources SET active = 0 WHERE id = :id", id=new)
    assert _budget(_report(store), "jumpit", "list_pages").proposed == 8


def test_a_source_with_a_limit_of_its_own_does_not_set_the_platforms(store: Store) -> None:
    """R20: a source's own limit comes before the platform's."""
    large, small = store.add_source("wanted"), store.add_source("wanted")
    store.write("UPDATE job_sources SET daily_list_pages = 200 WHERE id = :id", id=large)
    add_days(store, large, [complete(120, 2000)] * 8)
    add_days(store, small, [complete(2, 50)] * 8)
    report = _report(store)
    assert _budget(report, "wanted", "list_pages").proposed == 7
    assert _proposed(report, large, "list_pages") == 150


def test_details_are_reckoned_from_what_was_new(store: Store) -> None:
    """R22: a new or changed posting wants a detail; an older backlog has no known size."""
    known = store.add_source("wanted")
    add_days(store, known, [exhausted("DETAIL_REQUESTS", 9, 900, 300, new_count=500)] * 8)
    report = _report(store)
    assert _budget(report, "wanted", "detail_requests").proposed == 625
    assert _budget(report, "wanted", "list_pages").proposed == 14
    backlog = store.add_source("wanted")
    add_days(store, backlog, [exhausted("DETAIL_REQUESTS", 9, 900, 300, new_count=5)] * 8)
    details = _budget(_report(store), "wanted", "detail_requests")
    assert (details.kind, details.proposed) == ("step", 625)


def test_no_proposal_is_more_than_a_day_holds(store: Store) -> None:
    """Politeness wins: pages and details, each a host delay apart, fit 24 hours."""
    search = store.add_source("saramin")
    add_days(store, search, [exhausted("LIST_PAGES", 50, 1000, stated_total=100_000)] * 8)
    report = _report(store, SARAMIN_HOST_MIN_DELAY_MS="60000")
    proposed = _proposed(report, search, "list_pages")
    assert 50 < proposed <= 24 * 60
    assert "less than needed" in _budget(report, "saramin", "list_pages").reasoning
    assert "all that a day holds" in report.exhausted[0].more


def test_many_sources_of_one_host_share_its_day(store: Store) -> None:
    """Each alone would fit, all together would not."""
    for _ in range(4):
        search = store.add_source("saramin")
        add_days(store, search, [exhausted("LIST_PAGES", 50, 1000, stated_total=20_000)] * 8)
    pages = _budget(_report(store, SARAMIN_HOST_MIN_DELAY_MS="60000"), "saramin", "list_pages")
    assert 50 < pages.proposed < 1250 * 24 / 66
    assert "a day has 24" in pages.reasoning


@pytest.mark.parametrize("sources", [0, 1])
def test_no_data_is_said_and_proposes_nothing(store: Store, sources: int) -> None:
    """Before the first day there is a report too."""
    for _ in range(sources):
        store.add_source("greenhouse")
    report = _report(store, days=3)
    assert report.is_empty
    assert len(report.days_without_cycles) == 3
    assert [one.kind for one in report.budgets] == ["keep"] * 3 * sources
    assert [one.proposed for one in report.budgets] == [50, 5000, 300] * sources
    assert all(row["exhausted_share"] is None for row in report.document()["platforms"])  # type: ignore[attr-defined]  # plain JSON


def test_days_of_a_deleted_source_and_of_the_keys_quota_are_counted(store: Store) -> None:
    """Rows that an operator removed or wrote by hand must not end the report."""
    search = store.add_source("saramin")
    add_days(store, search, [exhausted("KEY_QUOTA", 9, 900)] * 3)
    add_days(store, 4711, [complete(1, 1)])
    report = _report(store)
    assert set(report.platforms["platform"]) == {"saramin", "unknown"}
    (choice,) = report.exhausted
    assert (choice.limit, choice.present) == ("KEY_QUOTA", None)
    assert "larger quota" in choice.more
    table = flat_table(report)
    assert len(table) == 4
    assert "object" not in {str(kind) for kind in table.dtypes}, "Parquet needs one type a column"

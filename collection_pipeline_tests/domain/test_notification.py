"""Messages: what they say first, what they leave out, and what cannot hurt a reader (R9, R40)."""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailureReason
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.domain.notification import (
    KIND_MAX_CHARS,
    Notification,
    Severity,
    UnreadableNotification,
    numbered_kind,
    plain_text,
    retry_after,
    run_failed_kind,
)
from collection_pipeline.domain.snapshot import CaptureStatus, SnapshotHeader, SnapshotItem
from collection_pipeline.notification.alerts import (
    run_failed,
    seen_rows_old,
    snapshot_missed,
    sources_broken,
)
from collection_pipeline.notification.forms import (
    SLACK_MOST_CHARS,
    log_line,
    slack_document,
    webhook_body,
)
from collection_pipeline.notification.morning import morning_report
from collection_pipeline.notification.phrases import FAILURES, LIMITS, STATES
from collection_pipeline.store.broken_sources import BrokenSource

TUESDAY = date(2026, 12, 1)
NINE = utc_of_kst(TUESDAY) + timedelta(hours=9)
CAPTURED = SnapshotHeader(1, TUESDAY, NINE, CaptureStatus.CAPTURED, NINE + timedelta(seconds=30.25))
S = CycleStatus


def item(number: int, status: CycleStatus, reason: str | None = None, **other: Any) -> SnapshotItem:
    """A source at the cutoff; aggregators unless said otherwise."""
    values: dict[str, Any] = {
        "is_complete": status is S.SUCCESS,
        "fetched_count": 120,
        "list_page_count": 3,
        "detail_request_count": 0,
        "abnormal": status is S.FAILED,
        "close_guarded": status is not S.SUCCESS,
        "platform": "wanted",
        "source_type": "AGGREGATOR",
        **other,
    }
    label = values.pop("label", f"라벨 {number}")
    return SnapshotItem(number, label, status, reason=reason, **values)


def company(number: int, status: CycleStatus, reason: str | None = None) -> SnapshotItem:
    """A company's own board."""
    return item(number, status, reason, platform="toss", source_type="COMPANY_BOUND")


MIXED = [
    item(1, S.SUCCESS, fetched_count=1_200),
    item(2, S.RUNNING, fetched_count=1),
    item(3, S.NOT_STARTED, fetched_count=0),
    item(4, S.FAILED, "RATE_LIMITED"),
    item(5, S.BUDGET_EXHAUSTED, "LIST_PAGES", list_page_count=50, fetched_count=5_000),
    company(6, S.BUDGET_EXHAUSTED, "POSTINGS"),
    item(7, S.SUCCESS, is_complete=False, fetched_count=480),
    item(8, S.SUCCESS, fetched_count=0, abnormal=True),
    item(9, S.PENDING, fetched_count=20),
]


def report(items: Sequence[SnapshotItem]) -> Notification:
    """The morning report over ``items``."""
    return morning_report(CAPTURED, items)


def test_the_morning_report_says_the_most_important_first() -> None:
    """R9, R40: count, alarm, failure, what has not ended, warnings, what is done."""
    assert report(MIXED).text.splitlines() == [
        "Collection at 09:00 KST, Tue 2026-12-01: 6 of 9 sources late",
        "Late: 1 failed, 2 out of budget, 1 not started, 1 waiting, 1 running.",
        "- ALARM BUDGET_EXHAUSTED 라벨 6 (toss, source 6): daily budget of postings used up "
        "after 3 pages and 120 postings; a company's own board should fit into its budget",
        "- 라벨 4 (wanted, source 4): failed: the platform asks us to slow down (RATE_LIMITED); "
        "120 postings kept",
        "- 라벨 3 (wanted, source 3): not started",
        "- 라벨 9 (wanted, source 9): not finished, waiting for its turn; 20 postings kept",
        "- 라벨 2 (wanted, source 2): not finished, still running; 1 posting kept",
        "- WARNING BUDGET_EXHAUSTED 라벨 5 (wanted, source 5): daily budget of list pages used "
        "up after 50 pages and 5,000 postings",
        "- WARNING INCOMPLETE 라벨 7 (wanted, source 7): 480 postings are fewer than the platform "
        "says it has; no posting is closed",
        "- WARNING EMPTY 라벨 8 (wanted, source 8): its list came back empty; no posting is closed",
        "Done: 3 sources with 1,680 postings. State at 09:00:00, captured at 09:00:30 KST.",
    ]


def test_the_morning_reports_data_is_whole_and_counted_by_the_snapshots_own_rule() -> None:
    """R40, R42: late is everything but SUCCESS; every exhausted and incomplete source is named."""
    data = report(MIXED).data
    assert data["late_before_notification_count"] == 6 and data["source_count"] == 9
    assert data["by_status"] == {
        "NOT_STARTED": 1,
        "PENDING": 1,
        "RUNNING": 1,
        "SUCCESS": 3,
        "FAILED": 1,
        "BUDGET_EXHAUSTED": 2,
    }
    late: Any = data["late_sources"]
    assert [one["job_source_id"] for one in late] == [6, 4, 5, 3, 9, 2]
    assert late[1]["reason"] == "RATE_LIMITED" and late[1]["source_label"] == "라벨 4"
    warned: Any = data["warnings"]
    assert [(one["code"], one["level"], one["job_source_id"]) for one in warned] == [
        ("BUDGET_EXHAUSTED", "ALARM", 6),
        ("BUDGET_EXHAUSTED", "WARNING", 5),
        ("INCOMPLETE", "WARNING", 7),
        ("EMPTY", "WARNING", 8),
    ]
    assert data["captured_at"] == "2026-12-01T00:00:30.250000Z"
    assert (data["late_sources_left_out"], data["warnings_left_out"]) == (0, 0)


@pytest.mark.parametrize(
    ("items", "severity", "title_ends"),
    [
        ([item(1, S.SUCCESS), item(2, S.SUCCESS)], Severity.INFO, "both sources on time"),
        ([item(1, S.SUCCESS)], Severity.INFO, "the only source on time"),
        ([item(1, S.SUCCESS, is_complete=False)], Severity.WARNING, "on time, 1 with a warning"),
        ([item(1, S.SUCCESS, abnormal=True)], Severity.WARNING, "on time, 1 with a warning"),
        ([item(1, S.PENDING)], Severity.WARNING, "1 of 1 source late"),
        ([item(1, S.BUDGET_EXHAUSTED)], Severity.WARNING, "1 of 1 source late"),
        ([company(1, S.FAILED)], Severity.WARNING, "1 of 1 source late"),
        ([company(1, S.BUDGET_EXHAUSTED)], Severity.INCIDENT, "1 of 1 source late"),
    ],
)
def test_the_mornings_weight_follows_the_worst_source(
    items: list[SnapshotItem], severity: Severity, title_ends: str
) -> None:
    """R9: an exhausted budget is a warning, of a company's own board an alarm."""
    made = report(items)
    assert made.severity is severity and made.title.endswith(title_ends)


def test_a_good_morning_is_two_lines() -> None:
    """R40: nothing to do is said shortly."""
    assert len(report([item(1, S.SUCCESS), item(2, S.SUCCESS)]).text.splitlines()) == 2


def test_a_morning_on_which_everything_is_late_points_at_the_pipeline() -> None:
    """R40: the one cause of many late sources comes before them."""
    assert "That is every source" in report([item(1, S.PENDING), item(2, S.FAILED)]).lines[0]
    assert "That is every source" not in report([item(1, S.PENDING), item(2, S.SUCCESS)]).text


@pytest.mark.parametrize("status", [S.PENDING, S.FAILED, S.BUDGET_EXHAUSTED])
def test_ten_thousand_late_sources_stay_a_small_message(status: CycleStatus) -> None:
    """R40: lists are cut, counts are not."""
    made = report([item(number, status, label="가" * 200) for number in range(1, 10_001)])
    assert "10,000 of 10,000 sources late" in made.title
    assert "- and 9,950 more like these" in made.lines
    assert made.data["late_before_notification_count"] == 10_000
    assert made.data["late_sources_left_out"] == 9_950
    assert len(webhook_body("json", made, "k")) < 100_000
    assert len(json.dumps(slack_document(made))) < 40_000


def test_every_word_of_the_closed_vocabularies_has_its_phrase() -> None:
    """R10, R20: no reason comes out as a bare code only because somebody forgot it."""
    assert set(FAILURES) == set(CollectionFailureReason)
    assert set(LIMITS) == set(CollectionBudgetLimit)
    assert set(STATES) == set(CycleStatus)


def test_items_of_other_releases_are_told_all_the_same() -> None:
    """R34: platform, type and reason may be missing or unknown."""
    old = item(1, S.FAILED, None, platform=None, source_type=None)
    new = item(2, S.FAILED, "NEW_REASON")
    bare = item(3, S.BUDGET_EXHAUSTED, None, source_type=None, label="\u200f")
    text = report([old, new, bare]).text
    assert "- 라벨 1 (source 1): failed; 120 postings kept" in text
    assert "failed (NEW_REASON)" in text
    assert (
        "- WARNING BUDGET_EXHAUSTED wanted, source 3: daily budget of requests or postings used up"
        in text
    )


def test_labels_cannot_steer_a_terminal_a_log_or_the_direction_of_reading() -> None:
    """R40: control characters and direction marks are gone, the words stay."""
    hostile = "급구\x1b[31m\u202e개발\u2066자\r\nFAKE 09:00 line\x00\u2028next\ud800"
    made = report([item(1, S.FAILED, label=hostile)])
    shown = "급구 [31m개발자 FAKE 09:00 line next"
    assert f"- {shown} (wanted, source 1): failed" in made.text
    late: Any = made.data["late_sources"]
    assert late[0]["source_label"] == shown
    assert "\n" not in log_line(made)
    json.loads(webhook_body("json", made, "k"))


@given(st.text(max_size=300), st.integers(1, 100))
def test_plain_text_is_one_line_that_can_be_encoded(text: str, most: int) -> None:
    """R40: whatever a label holds."""
    made = plain_text(text, most)
    assert len(made) <= most and len(made.splitlines()) <= 1 and made.isprintable()
    made.encode()


def test_a_missed_snapshot_is_an_incident_with_its_reason_and_no_count() -> None:
    """R38, R40, R42: unknown is not zero."""
    header = SnapshotHeader(
        1, TUESDAY, NINE, CaptureStatus.MISSED, None, "no process reached the database"
    )
    made = snapshot_missed(header)
    assert made.severity is Severity.INCIDENT
    assert made.text.splitlines()[:2] == [
        "No collection snapshot at 09:00 KST, Tue 2026-12-01",
        "Why: no process reached the database",
    ]
    assert made.data["miss_reason"] == "no process reached the database"
    assert made.data["late_before_notification_count"] is None


def test_broken_sources_old_rows_and_failed_runs_say_what_happened() -> None:
    """R31, R33, R40."""
    broken = [
        BrokenSource(3, "원티드", "wanted", TUESDAY, 3),
        BrokenSource(4, "", None, TUESDAY, 9),
    ]
    made = sources_broken("SOURCES_BROKEN", TUESDAY, broken)
    assert made.text.splitlines()[:3] == [
        "2 job sources newly broken, Tue 2026-12-01",
        "- 원티드 (wanted, source 3): 3 abnormal days in a row",
        "- source 4: 9 abnormal days in a row",
    ]
    many = sources_broken("SOURCES_BROKEN", TUESDAY, broken * 5_000)
    assert "- and 9,950 more" in many.lines and len(many.text) < 10_000
    assert seen_rows_old(TUESDAY, 1_234, 48).title.startswith("1,234 seen rows older than 48 hours")
    failed = run_failed(TUESDAY, "sla_snapshot", "run-1", "why\n" * 500, "https://dagster.test/ui")
    assert failed.title == "Dagster job sla_snapshot failed, Tue 2026-12-01"
    assert failed.lines[1] == "Run: https://dagster.test/ui/runs/run-1"
    assert len(failed.lines[0]) < 310
    assert run_failed(TUESDAY, "j", "run-1", "", None).lines[:2] == ("Why: not said", "Run: run-1")


def test_slack_is_told_in_escaped_text_within_its_bounds() -> None:
    """R40: a label is no command, no mention and no link."""
    label = "<!channel> R&D <script>alert(1)</script> &amp;"
    text = str(slack_document(report([item(1, S.FAILED, label=label)]))["text"])
    assert "&lt;!channel&gt; R&amp;D &lt;script&gt;alert(1)&lt;/script&gt; &amp;amp;" in text
    assert "<" not in text and ">" not in text
    assert text.startswith("⚠️ Collection at 09:00 KST")


@pytest.mark.parametrize("late", [1, 15, 25, 26, 27, 28, 50, 10_000])
def test_slacks_text_is_cut_at_a_line_and_says_how_many_are_left(late: int) -> None:
    """R40: what is shown and what is left out add up."""
    made = report([item(number, S.FAILED, label="&" * 20) for number in range(1, late + 1)])
    text = str(slack_document(made)["text"])
    assert len(text) <= SLACK_MOST_CHARS
    *shown, last = text.splitlines()
    if last.startswith("Done: "):
        assert len(shown) == len(made.lines)
    else:
        left = int(last.removeprefix("… and ").split(" ")[0])
        assert left == len(made.lines) - (len(shown) - 1) and left > 0
        assert len(text) > SLACK_MOST_CHARS - 400


def test_the_json_form_carries_the_message_its_key_and_the_whole_text() -> None:
    """R40: a program reads ``data``, a person ``text``; Korean stays readable."""
    made = report(MIXED)
    body = webhook_body("json", made, "KEY-1")
    document = json.loads(body)
    assert document["idempotency_key"] == "KEY-1" and document["text"] == made.text
    assert document["kind"] == "MORNING_REPORT" and document["date"] == "2026-12-01"
    assert "라벨 4" in body.decode()


def test_a_stored_message_comes_back_as_it_was() -> None:
    """R40: what is retried on another day is the same message."""
    made = report(MIXED)
    assert Notification.of_document(json.loads(json.dumps(made.document()))) == made


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {**report([]).document(), "date": "today"}, {**report([]).document(), "data": 1},
     {**report([]).document(), "severity": "LOUD"}, {**report([]).document(), "lines": None}],
)  # fmt: skip
def test_a_message_that_cannot_be_read_is_one_clear_error(document: object) -> None:
    """R34: a newer release may have written it."""
    with pytest.raises(UnreadableNotification):
        Notification.of_document(document)


def test_retries_wait_twice_as_long_each_time_up_to_an_hour() -> None:
    """R40: backoff by minutes."""
    minutes = [retry_after(attempt) // timedelta(minutes=1) for attempt in range(1, 10)]
    assert minutes == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert retry_after(10**9) == timedelta(hours=1) and retry_after(0) == timedelta(minutes=1)


def test_kinds_fit_their_column_and_tell_jobs_apart() -> None:
    """R40: one row per day and kind."""
    assert run_failed_kind("sla_snapshot_recovery") == "RUN_FAILED.sla_snapshot_recovery"
    long = {run_failed_kind("a" * length) for length in range(20, 60)}
    odd = {run_failed_kind(name) for name in ("job.a", "job/a", "job_a", "잡", "\ud800")}
    assert len(long) == 40 and len(odd) == 5
    assert all(len(kind) <= KIND_MAX_CHARS and kind.isascii() for kind in long | odd)
    assert [numbered_kind("K", number) for number in (1, 2, 11)] == ["K", "K.2", "K.11"]

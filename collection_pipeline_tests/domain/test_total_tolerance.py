"""A cycle well short of the platform's own total is no complete one (R23a)."""

from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.cycle import JobPostingCollectionCycle, StoredCounts
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded
from collection_pipeline.domain.progress import CollectionProgress
from collection_pipeline.domain.slices import Fetched, SliceWork
from collection_pipeline.domain.source import Platform
from collection_pipeline.platforms.adapters.registry import build_registry
from collection_pipeline.settings import load_settings

NOW = datetime(2026, 12, 1, 1, 0)


def completed(fetched: int, total: int | None, tolerance: float) -> JobPostingCollectionCycle:
    """A cycle that reached its end with ``fetched`` distinct postings."""
    running = JobPostingCollectionCycle(
        id=1,
        job_source_id=1,
        run_date=date(2026, 12, 1),
        status=CycleStatus.RUNNING,
        lease_token="token",
        lease_until=NOW + timedelta(minutes=10),
        fetched_count=fetched,
        stated_total=total,
    )
    return running.complete(tolerance, NOW)


@pytest.mark.parametrize(
    ("fetched", "total", "tolerance", "is_complete"),
    [
        (500, 1_400, 0.01, False),
        (1_386, 1_400, 0.01, True),
        (1_385, 1_400, 0.01, False),
        (97, 100, 0.01, True),
        (96, 100, 0.01, False),
        (7, 10, 0.01, True),
        (6, 10, 0.01, False),
        (0, 3, 0.01, True),
        (0, 4, 0.01, False),
        (296, 299, 0.01, True),
        (295, 299, 0.01, False),
        (396, 400, 0.01, True),
        (395, 400, 0.01, False),
        (90, 100, 0.10, True),
        (89, 100, 0.10, False),
        (150, 100, 0.01, True),
        (100, 100, 0.0, True),
        (0, None, 0.01, True),
    ],
)
def test_a_total_may_be_missed_by_the_platforms_tolerance_and_no_more(
    fetched: int, total: int | None, tolerance: float, is_complete: bool
) -> None:
    """R23a: one per cent or three rows, whichever is more; Jumpit a tenth."""
    assert completed(fetched, total, tolerance).is_complete is is_complete


@pytest.mark.parametrize("platform", list(build_registry(load_settings({}))))
def test_only_jumpit_may_miss_a_tenth(platform: Platform) -> None:
    """R23a: its pages can be short; every other platform's total is out by one per cent at most."""
    tolerance = build_registry(load_settings({}))[platform].total_tolerance
    is_jumpit = platform is Platform.JUMPIT
    assert completed(950, 1_000, tolerance).is_complete is is_jumpit
    assert completed(900, 1_000, tolerance).is_complete is is_jumpit
    assert completed(990, 1_000, tolerance).is_complete
    assert not completed(899, 1_000, tolerance).is_complete


def test_an_incomplete_success_is_guarded_says_so_and_is_not_abnormal() -> None:
    """R23a, R41: SUCCESS, no delta, the warning INCOMPLETE."""
    cycle = completed(500, 1_400, 0.01)
    assert cycle.status is CycleStatus.SUCCESS
    assert (cycle.failure_detail or "").startswith("INCOMPLETE")
    assert "1400" in (cycle.failure_detail or "")
    assert cycle.failure_reason is None
    assert not cycle.is_safe_to_apply_missed_delta

    assert is_close_guarded(cycle.status, is_complete=cycle.is_complete, fetched_count=500)
    assert not is_abnormal(cycle.status, is_complete=cycle.is_complete, fetched_count=500)


def test_a_complete_success_carries_no_warning() -> None:
    """R23a."""
    assert completed(1_400, 1_400, 0.01).failure_detail is None


def test_the_last_stated_total_counts() -> None:
    """R23a: the total of the last non-empty page, not of an earlier one."""
    running = replace(
        completed(100, 1_000, 0.01),
        status=CycleStatus.RUNNING,
        lease_token="token",
        lease_until=NOW + timedelta(minutes=10),
    )
    outcome = Fetched(
        SliceWork(list_page_count=1, stated_total=101), None, True, total_tolerance=0.01
    )
    ended = running.record_slice(outcome, StoredCounts(), "token", NOW)
    assert (ended.stated_total, ended.is_complete) == (101, True)


@given(
    total=st.integers(1, 100_000),
    tolerance=st.sampled_from([0.0, 0.01, 0.10]),
    fetched=st.integers(0, 100_000),
)
def test_completeness_equals_exact_integer_arithmetic(
    total: int, tolerance: float, fetched: int
) -> None:
    """R23a: floating point never moves the border by a row."""
    allowed = max(3, total * round(tolerance * 100) // 100)
    assert completed(fetched, total, tolerance).is_complete is (total - fetched <= allowed)


@pytest.mark.parametrize(
    ("pages", "is_complete"),
    [
        (["ab", "cd"], True),
        (["ab", "", "cd"], False),
        (["", "ab"], False),
        (["ab", "", ""], True),
        (["", ""], True),
    ],
)
def test_an_empty_page_before_rows_proves_nothing_about_what_it_hides(
    pages: list[str], is_complete: bool
) -> None:
    """R23: reading goes on, but the end closes nothing."""
    progress = CollectionProgress()
    for page in pages:
        progress = CollectionProgress.decoded(progress.after_page(list(page)).encoded())
    cycle = replace(completed(4, None, 0.01), status=CycleStatus.RUNNING, progress=progress)
    ended = cycle.complete(0.01, NOW)
    assert ended.status is CycleStatus.SUCCESS
    assert ended.is_complete is is_complete
    assert ended.is_safe_to_apply_missed_delta is is_complete

"""The truth table of close guard and abnormality over all combinations (R32, R41)."""

from dataclasses import replace
from datetime import date
from itertools import product

import pytest

from collection_pipeline.domain.cycle import JobPostingCollectionCycle
from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import (
    is_abnormal,
    is_close_guarded,
    is_safe_to_apply_missed_delta,
    truth_table,
)

COMBINATIONS = list(product(CycleStatus, (False, True), (0, 1, 5_000)))


@pytest.mark.parametrize(("status", "is_complete", "fetched"), COMBINATIONS)
def test_only_a_complete_success_with_postings_may_close(
    status: CycleStatus, is_complete: bool, fetched: int
) -> None:
    """R32: 36 combinations, two of them safe."""
    expected = (status.value, is_complete, fetched) in {
        ("SUCCESS", True, 1),
        ("SUCCESS", True, 5_000),
    }
    safe = is_safe_to_apply_missed_delta(status, is_complete=is_complete, fetched_count=fetched)
    guarded = is_close_guarded(status, is_complete=is_complete, fetched_count=fetched)
    assert (safe, guarded) == (expected, not expected)
    cycle = JobPostingCollectionCycle(id=1, job_source_id=1, run_date=date(2026, 12, 1))
    seen = replace(cycle, status=status, is_complete=is_complete, fetched_count=fetched)
    assert seen.is_safe_to_apply_missed_delta is expected


@pytest.mark.parametrize(("status", "is_complete", "fetched"), COMBINATIONS)
def test_only_failure_and_complete_nothing_are_abnormal(
    status: CycleStatus, is_complete: bool, fetched: int
) -> None:
    """R41."""
    expected = status.value == "FAILED" or (status.value, is_complete, fetched) == (
        "SUCCESS",
        True,
        0,
    )
    assert is_abnormal(status, is_complete=is_complete, fetched_count=fetched) is expected


def test_the_table_holds_every_combination_once_and_agrees_with_the_rules() -> None:
    """R41: SQL is generated from this table."""
    table = truth_table()
    keys = [(line.status, line.is_complete, line.fetched) for line in table]
    assert sorted(keys) == sorted(product(CycleStatus, (False, True), (False, True)))
    unguarded = [key for key, line in zip(keys, table, strict=True) if not line.close_guarded]
    assert unguarded == [(CycleStatus.SUCCESS, True, True)]
    abnormal = {key for key, line in zip(keys, table, strict=True) if line.abnormal}
    assert abnormal == {
        (CycleStatus.SUCCESS, True, False),
        *((CycleStatus.FAILED, *rest) for rest in product((False, True), repeat=2)),
    }

"""Budgets: limits of at least one, what is left, which limit is named (R9, R20)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.budget import (
    BudgetUse,
    CollectionBudget,
    InvalidBudget,
    RemainingBudget,
    first_exhausted,
)
from collection_pipeline.domain.failure import CollectionBudgetLimit
from collection_pipeline.domain.source import BudgetOverrides

NAMES = ("list_pages", "postings", "detail_requests")
counts = st.integers(0, 10_000)
limits = st.integers(1, 10_000)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, -5_000])
def test_a_limit_of_zero_or_less_is_refused_by_name(name: str, value: int) -> None:
    """Spec section 3: zero and negative are refused."""
    with pytest.raises(InvalidBudget, match=f"{name} must be at least 1, not {value}"):
        CollectionBudget(**{**dict.fromkeys(NAMES, 1), name: value})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1])
def test_an_override_of_zero_or_less_is_refused_too(name: str, value: int) -> None:
    """Spec section 3: "overrides in the database too"."""
    with pytest.raises(InvalidBudget, match=name):
        CollectionBudget(50, 5_000, 300).overridden(**{name: value})


def test_an_override_replaces_its_own_limit_only() -> None:
    """Spec section 3: overridden by platform, then by source."""
    general = CollectionBudget(50, 5_000, 300)
    assert general.overridden() == general
    assert general.overridden(list_pages=7) == CollectionBudget(7, 5_000, 300)
    assert general.overridden(postings=7) == CollectionBudget(50, 7, 300)
    assert general.overridden(detail_requests=7) == CollectionBudget(50, 5_000, 7)


@given(st.tuples(limits, limits, limits), st.tuples(counts, counts, counts))
def test_what_is_left_is_limit_less_use_and_never_negative(
    limit: tuple[int, int, int], used: tuple[int, int, int]
) -> None:
    """R20."""
    left = RemainingBudget.of(CollectionBudget(*limit), BudgetUse(*used))
    expected = tuple(max(0, one - other) for one, other in zip(limit, used, strict=True))
    assert (left.list_pages, left.postings, left.detail_requests) == expected


@given(st.tuples(counts, counts, counts), st.tuples(counts, counts, counts))
def test_uses_add_up_part_by_part(
    first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    """R20: what slices spent is what the day has spent."""
    together = BudgetUse(*first).plus(BudgetUse(*second))
    assert together == BudgetUse(*(one + other for one, other in zip(first, second, strict=True)))


@pytest.mark.parametrize("used_up", list(product((False, True), repeat=4)))
def test_of_several_used_up_limits_the_first_of_the_order_is_named(
    used_up: tuple[bool, bool, bool, bool],
) -> None:
    """R20: LIST_PAGES, POSTINGS, DETAIL_REQUESTS, KEY_QUOTA."""
    order = ("LIST_PAGES", "POSTINGS", "DETAIL_REQUESTS", "KEY_QUOTA")
    named = [name for name, is_used_up in zip(order, used_up, strict=True) if is_used_up]
    pages, postings, details, key = used_up
    limit = first_exhausted(list_pages=pages, postings=postings, details=details, key=key)
    assert limit == (CollectionBudgetLimit(named[0]) if named else None)


@pytest.mark.parametrize("name", [*NAMES, "min_delay_ms"])
@pytest.mark.parametrize(
    ("value", "is_refused"), [(None, False), (1, False), (0, True), (-7, True)]
)
def test_a_sources_own_numbers_are_checked_before_anything_is_sent(
    name: str, value: int | None, is_refused: bool
) -> None:
    """R2, spec section 3: a database row can hold zero or less."""
    overrides = BudgetOverrides(**{name: value})
    if not is_refused:
        overrides.check()
        return
    with pytest.raises(InvalidBudget, match=f"{name} must be at least 1, not {value}"):
        overrides.check()

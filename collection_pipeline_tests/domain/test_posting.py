"""List signatures and who needs a detail (R22, R22a, R34a)."""

from dataclasses import replace
from datetime import datetime
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.posting import (
    Deadline,
    DeadlineKind,
    DetailState,
    KnownPosting,
    SignatureChange,
    list_signature,
    needs_detail,
    signature_change,
)

values = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
nested = st.recursive(values, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
named_fields = st.dictionaries(st.text(max_size=6), nested, max_size=6)
KNOWN = list_signature(1, {"title": "Engineer"})
CHANGED = list_signature(1, {"title": "Senior Engineer"})
REVERSIONED = list_signature(2, {"title": "Engineer"})


@given(named_fields, st.randoms(use_true_random=False))
def test_a_signature_does_not_depend_on_the_order_of_keys(
    fields: dict[str, object], random: Random
) -> None:
    """R22a: platforms send keys in any order."""
    shuffled = list(fields.items())
    random.shuffle(shuffled)
    assert list_signature(1, dict(shuffled)) == list_signature(1, fields)


@given(named_fields, named_fields)
def test_different_fields_have_different_signatures(
    one: dict[str, object], other: dict[str, object]
) -> None:
    """R22a: compared as JSON, so that True and 1 differ."""
    same = repr(sorted(one.items(), key=str)) == repr(sorted(other.items(), key=str))
    assert (list_signature(1, one) == list_signature(1, other)) is same


def test_the_order_of_a_list_value_is_part_of_the_signature() -> None:
    """R22a: only the order of keys does not matter."""
    assert list_signature(1, {"tags": ["a", "b"]}) != list_signature(1, {"tags": ["b", "a"]})


def test_a_signature_carries_its_version_and_is_short_ascii() -> None:
    """R22a, section 7: versioned, for a binary key column."""
    signature = list_signature(12, {"title": "개발자"})
    assert signature.startswith("12:")
    assert signature.isascii()
    assert len(signature) == len("12:") + 32


@pytest.mark.parametrize(
    ("known", "listed", "change"),
    [
        (None, KNOWN, SignatureChange.NEW),
        (KNOWN, KNOWN, SignatureChange.SAME),
        (KNOWN, CHANGED, SignatureChange.CHANGED),
        (KNOWN, REVERSIONED, SignatureChange.REVERSIONED),
        (REVERSIONED, CHANGED, SignatureChange.REVERSIONED),
    ],
)
def test_rows_are_new_changed_same_or_of_another_version(
    known: str | None, listed: str, change: SignatureChange
) -> None:
    """R22, R22a."""
    assert signature_change(known, listed) is change


@pytest.mark.parametrize("listed", [KNOWN, CHANGED, REVERSIONED])
def test_a_trimmed_row_counts_as_changed_and_needs_its_detail_once(listed: str) -> None:
    """R34a: what was dropped of a closed posting is there again once the posting returns."""
    assert signature_change(KNOWN, listed, body_trimmed=True) is SignatureChange.CHANGED
    assert signature_change(None, listed, body_trimmed=True) is SignatureChange.NEW
    known = KnownPosting(KNOWN, DetailState.DONE, seen_in_cycle=False, body_trimmed=True)
    assert needs_detail(known, listed)
    assert not needs_detail(replace(known, detail_tried=True), listed)


def test_version_1_and_version_12_are_different_versions() -> None:
    """R22a: the whole version is compared, not its first digit."""
    one, twelve = list_signature(1, {}), list_signature(12, {})
    assert signature_change(one, twelve) is SignatureChange.REVERSIONED


def test_an_unknown_row_needs_a_detail() -> None:
    """R22: new rows."""
    assert needs_detail(None, KNOWN)


@pytest.mark.parametrize(
    ("listed", "state", "seen", "tried"),
    list(
        product(
            (KNOWN, CHANGED, REVERSIONED),
            DetailState,
            (False, True),
            (False, True),
        )
    ),
)
def test_a_known_row_needs_a_detail_when_changed_or_waiting_and_not_tried_today(
    listed: str, state: DetailState, seen: bool, tried: bool
) -> None:
    """R22: unchanged costs none; a new signature version alone costs none; never twice a cycle."""
    known = KnownPosting(KNOWN, state, seen_in_cycle=seen, detail_tried=tried)
    expected = not tried and (listed == CHANGED or state.value == "PENDING")
    assert needs_detail(known, listed) is expected


@pytest.mark.parametrize("kind", list(DeadlineKind))
def test_only_a_dated_deadline_has_an_instant(kind: DeadlineKind) -> None:
    """Section 7: deadline kinds."""
    at = datetime(2026, 12, 31, 14, 59, 59)
    is_dated = kind is DeadlineKind.DATE
    assert Deadline(kind, at if is_dated else None).kind is kind
    with pytest.raises(ValueError, match="exactly when"):
        Deadline(kind, None if is_dated else at)

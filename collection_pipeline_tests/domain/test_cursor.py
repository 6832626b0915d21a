"""The cursor is versioned JSON of at most 1,024 bytes (spec section 2, R22)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.cursor import (
    CURSOR_MAX_BYTES,
    CURSOR_VERSION,
    Cursor,
    CursorTooLong,
    InvalidCursor,
)

positions = st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers(), max_size=4)


def of_bytes(size: int) -> Cursor:
    """A cursor whose text has exactly ``size`` bytes."""
    empty = len(Cursor({"next": ""}).encoded())
    return Cursor({"next": "x" * (size - empty)})


@given(positions)
def test_a_cursor_comes_back_as_it_was_stored(position: dict[str, str | int]) -> None:
    """Spec section 2: the next slice continues from it."""
    cursor = Cursor(position)
    assert Cursor.decoded(cursor.encoded()) == cursor
    assert not cursor.list_ended


def test_the_end_of_the_list_is_a_cursor_of_its_own() -> None:
    """R22: slices of details after the list has ended."""
    ended = Cursor.decoded(Cursor(None).encoded())
    assert ended.list_ended
    assert ended != Cursor({})
    assert not Cursor.decoded(Cursor({}).encoded()).list_ended


def test_a_cursor_has_1024_bytes_and_not_one_more() -> None:
    """Spec section 2."""
    longest = of_bytes(1_024).encoded()
    assert len(longest.encode()) == CURSOR_MAX_BYTES == 1_024
    with pytest.raises(CursorTooLong):
        of_bytes(1_025).encoded()


def test_bytes_count_not_characters() -> None:
    """Spec section 2: Korean takes three bytes a character."""
    assert Cursor({"query": "백" * 300}).encoded()
    with pytest.raises(CursorTooLong):
        Cursor({"query": "백" * 342}).encoded()


def test_equal_positions_give_equal_texts() -> None:
    """R23: a visited position is recognised whatever the order of its keys."""
    assert Cursor({"a": 1, "b": 2}).encoded() == Cursor({"b": 2, "a": 1}).encoded()


def test_a_cursor_says_its_version() -> None:
    """Spec section 2: versioned."""
    assert json.loads(Cursor({"offset": 1}).encoded())["v"] == CURSOR_VERSION == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"end"',
        "{}",
        '{"at":{"offset":1}}',
        '{"v":2,"at":{"offset":1}}',
        '{"v":"1","at":{"offset":1}}',
        '{"v":1}',
        '{"v":1,"at":null}',
        '{"v":1,"at":[1]}',
        '{"v":1,"end":false}',
        '{"v":1,"end":1}',
    ],
)
def test_another_cursor_is_refused(text: str) -> None:
    """Spec section 2: unknown versions and foreign texts never become a first page silently."""
    with pytest.raises(InvalidCursor):
        Cursor.decoded(text)

"""Every slice makes progress, with a bounded memory (R23)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.progress import (
    REMEMBERED_PAGES,
    CollectionProgress,
    NoProgress,
)

TEXT_COLUMN_BYTES = 65_535


def after_pages(*pages: str) -> CollectionProgress:
    """Progress after pages whose ids are the words of each text."""
    progress = CollectionProgress()
    for ids in pages:
        progress = progress.after_page(ids.split())
    return progress


def test_a_position_is_visited_once() -> None:
    """R23: a next cursor already visited is no progress."""
    progress = CollectionProgress().visiting("page 1").visiting("page 2")
    assert progress.has_visited("page 1")
    assert not progress.has_visited("page 3")
    for visited in ("page 1", "page 2"):
        with pytest.raises(NoProgress):
            progress.visiting(visited)


def test_one_repeated_page_is_forgiven_and_the_second_is_not() -> None:
    """R23: the second time that a page's set of ids equals an earlier page's."""
    assert not after_pages("a b", "c d").is_stuck
    assert not after_pages("a b", "a b").is_stuck
    assert after_pages("a b", "a b", "a b").is_stuck
    assert after_pages("a b", "c d", "a b", "c d").is_stuck


def test_a_page_repeats_whatever_the_order_of_its_rows() -> None:
    """R23: sets of ids are compared."""
    assert after_pages("a b c", "c b a", "b a c").is_stuck
    assert after_pages("a b", "b a", "a a b").repeated_pages == 2


def test_pages_that_merely_shift_are_no_repeat() -> None:
    """R23: new postings push rows over page edges."""
    shifting = after_pages("a b c", "c d e", "e f g", "b c d", "d e f")
    assert (shifting.repeated_pages, shifting.is_stuck) == (0, False)


def test_empty_pages_never_repeat() -> None:
    """R23: an empty page with a next cursor is not the end, nor a repeat."""
    progress = after_pages("a", "", "", "", "")
    assert (progress.repeated_pages, progress.rows_read) == (0, 1)


def test_ids_are_not_confused_with_their_concatenation() -> None:
    """R23: {"ab", "c"} and {"a", "bc"} are different pages."""
    assert after_pages("ab c", "a bc", "abc").repeated_pages == 0


def test_rows_are_counted_with_repeats() -> None:
    """R22: positions of list rows count on over pages, repeated ids included."""
    assert after_pages("a b", "b c c").rows_read == 5


def test_stopped_details_stay_stopped() -> None:
    """R22: a 403 or 429 on a detail ends the details of that cycle."""
    stopped = CollectionProgress().stopping_details()
    assert stopped.after_page(["a"]).visiting("x").details_stopped
    assert CollectionProgress.decoded(stopped.encoded()).details_stopped


def test_what_is_stored_of_a_cycle_is_bounded() -> None:
    """R23: "What this needs across slices is stored on the cycle, bounded"."""
    progress = CollectionProgress()
    for number in range(REMEMBERED_PAGES + 200):
        progress = progress.visiting(f"page {number}").after_page([str(number)])
    assert len(progress.visited_cursors) == len(progress.page_sets) == REMEMBERED_PAGES
    assert len(progress.encoded().encode()) < TEXT_COLUMN_BYTES
    newest = REMEMBERED_PAGES + 199
    assert progress.has_visited(f"page {newest}")
    assert progress.after_page([str(newest)]).repeated_pages == 1


def test_nothing_stored_is_a_fresh_cycle() -> None:
    """R24."""
    assert CollectionProgress.decoded(None) == CollectionProgress.decoded("")
    assert CollectionProgress.decoded(None) == CollectionProgress()


@given(st.lists(st.lists(st.text(max_size=4), max_size=4), max_size=8), st.integers(0, 8))
def test_progress_survives_being_stored_between_slices(
    pages: list[list[str]], stored_after: int
) -> None:
    """R23: a slice boundary anywhere changes nothing."""
    straight = broken = CollectionProgress()
    for number, ids in enumerate(pages):
        if number == stored_after:
            broken = CollectionProgress.decoded(broken.encoded())
        straight = straight.visiting(str(number)).after_page(ids)
        broken = broken.visiting(str(number)).after_page(ids)
    assert broken == straight
    distinct = {frozenset(ids) for ids in pages if ids}
    assert straight.repeated_pages == sum(1 for ids in pages if ids) - len(distinct)

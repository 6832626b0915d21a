"""Pages are handed on only as far as they can be one register (R49, platforms.md 5.5)."""

from collections.abc import Mapping

import pytest

from collection_pipeline.domain.library import LibraryFailure, LibraryReadFailed, SnapshotMoved
from collection_pipeline.platforms.library.envelope import NO_DATA, LibraryAnswer
from collection_pipeline.platforms.library.page_sequence import MOST_PAGES, PageSequence

SIZE = 3


def _rows(*numbers: int) -> tuple[Mapping[str, str], ...]:
    return tuple({"lbrryNm": str(number)} for number in numbers)


def _accept(*answers: LibraryAnswer) -> PageSequence:
    sequence = PageSequence(SIZE)
    for answer in answers:
        assert not sequence.is_complete
        sequence.accept(answer)
    return sequence


FIRST = LibraryAnswer(_rows(1, 2, 3), 7)
SECOND = LibraryAnswer(_rows(4, 5, 6), 7)


def test_the_sequence_is_complete_when_every_stated_row_came() -> None:
    """R49: and not before."""
    assert not _accept(FIRST, SECOND).is_complete
    assert _accept(FIRST, SECOND, LibraryAnswer(_rows(7), 7, 3, SIZE)).is_complete
    assert _accept(LibraryAnswer(_rows(1, 2, 3), 3)).is_complete


@pytest.mark.parametrize("empty", [NO_DATA, LibraryAnswer((), 0)])
def test_no_data_on_the_first_page_is_an_empty_register(empty: LibraryAnswer) -> None:
    """Section 5.3: 03 states a total of 0."""
    sequence = PageSequence(SIZE)
    page = sequence.accept(empty)
    assert (page.rows, page.stated_total, page.number) == ((), 0, 1)
    assert sequence.is_complete


@pytest.mark.parametrize(
    "answers",
    [
        (FIRST, NO_DATA),
        (FIRST, LibraryAnswer((), 7)),
        (FIRST, LibraryAnswer((), 0)),
        (FIRST, LibraryAnswer(_rows(4, 5, 6), 8)),
        (FIRST, LibraryAnswer(_rows(4, 5, 6), 6)),
        (FIRST, LibraryAnswer(_rows(4, 5), 7)),
        (FIRST, LibraryAnswer(_rows(3, 4, 5), 7)),
        (FIRST, SECOND, LibraryAnswer(_rows(7, 8), 7)),
        (FIRST, SECOND, LibraryAnswer(_rows(6), 7)),
        (LibraryAnswer((), 7),),
        (LibraryAnswer(_rows(1, 2), 7),),
    ],
)
def test_pages_that_shifted_are_a_snapshot_that_moved(answers: tuple[LibraryAnswer, ...]) -> None:
    """Section 5.5: a provider uploads during the read; another reading may be whole."""
    with pytest.raises(SnapshotMoved) as moved:
        _accept(*answers)
    assert moved.value.kind is LibraryFailure.RETRY_LATER


@pytest.mark.parametrize(
    "answers",
    [
        (FIRST, LibraryAnswer(_rows(1, 2, 3), 7)),
        (FIRST, LibraryAnswer(_rows(1, 2, 3), 8)),
        (FIRST, LibraryAnswer(_rows(4, 5, 6), 7, 1)),
        (LibraryAnswer(_rows(1, 2, 3), 7, 0),),
        (LibraryAnswer(_rows(1, 2, 3, 4), 7),),
        (LibraryAnswer(_rows(1, 2), 7, 1, 2),),
        (LibraryAnswer(_rows(1, 2, 3), MOST_PAGES * SIZE + 1),),
    ],
)
def test_what_another_reading_would_meet_again_is_a_bad_answer(
    answers: tuple[LibraryAnswer, ...],
) -> None:
    """An ignored page number or page size: the same page for ever, or a part of the rows."""
    with pytest.raises(LibraryReadFailed) as failed:
        _accept(*answers)
    assert (failed.value.kind, type(failed.value)) == (LibraryFailure.BAD_ANSWER, LibraryReadFailed)

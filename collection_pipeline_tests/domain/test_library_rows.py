"""A row of the register becomes a keyed, typed library, and nothing that it says is lost (R49)."""

import json
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_pipeline.domain.library import (
    COLUMN_OF_SPELLING,
    LIBRARY_FIELDS,
    Library,
    LibraryValue,
    Unkeyable,
    library_of,
    value_text,
)
from collection_pipeline.store.schema.libraries import public_libraries

ENGLISH = {
    "lbrryNm": "소나무언덕3호",
    "ctprvnNm": "서울특별시",
    "signguNm": "송파구",
    "lbrrySe": "공공도서관",
    "closeDay": "매주월요일+국가지정공휴일",
    "weekdayOperOpenHhmm": "09:00",
    "weekdayOperColseHhmm": "22:00",
    "satOperOperOpenHhmm": "09:30",
    "satOperCloseHhmm": "24:00",
    "holidayOperOpenHhmm": "00:00",
    "holidayCloseOpenHhmm": "23:59",
    "seatCo": "84",
    "bookCo": "24512",
    "pblictnCo": "17",
    "noneBookCo": "221",
    "lonCo": "5",
    "lonDaycnt": "14",
    "rdnmadr": "서울특별시 송파구 성내천로 319 (마천동)",
    "operInstitutionNm": "서울특별시 송파구청",
    "phoneNumber": "02-443-0130",
    "plotAr": "343",
    "buldAr": "343.5",
    "homepageUrl": "http://www.splib.or.kr",
    "latitude": "37.492325",
    "longitude": "127.156619",
    "referenceDate": "2020-02-20",
    "insttCode": "0230000",
    "insttNm": "서울특별시 송파구",
}
TYPED = {
    "province": "서울특별시",
    "weekday_opens_at": timedelta(hours=9),
    "weekday_closes_at": timedelta(hours=22),
    "saturday_opens_at": timedelta(hours=9, minutes=30),
    "saturday_closes_at": timedelta(hours=24),
    "holiday_opens_at": timedelta(0),
    "holiday_closes_at": timedelta(hours=23, minutes=59),
    "seat_count": 84,
    "loan_days": 14,
    "plot_area_m2": Decimal("343.00"),
    "building_area_m2": Decimal("343.50"),
    "latitude": Decimal("37.4923250"),
    "longitude": Decimal("127.1566190"),
    "reference_date": date(2020, 2, 20),
    "provider_name": "서울특별시 송파구",
}


def _library(**changes: str | None) -> Library:
    found = library_of(ENGLISH | changes)
    assert isinstance(found, Library)
    return found


def test_a_row_is_keyed_by_provider_and_name_and_typed_in_every_column() -> None:
    """Section 5.4: 28 columns, leading zeros of a provider's code kept."""
    library = _library()
    assert (library.provider_code, library.library_name) == ("0230000", "소나무언덕3호")
    assert len(library.values) == 26
    assert {name: library.values[name] for name in TYPED} == TYPED
    assert (library.unparsed, library.raw) == ((), ENGLISH)
    assert None not in library.values.values()


def test_every_field_has_its_column_and_fits_it() -> None:
    """No text that passes here can be too long for the database."""
    columns = public_libraries.c
    for field in LIBRARY_FIELDS:
        length = getattr(columns[field.name].type, "length", None)
        assert length is None or length == field.max_chars, field.name
    assert len({field.name for field in LIBRARY_FIELDS}) == 28
    assert set(ENGLISH) <= set(COLUMN_OF_SPELLING)


def test_korean_english_and_sister_names_make_the_same_library() -> None:
    """Section 5.1 c: a register that changes its names must not look empty or changed."""
    by_column = {COLUMN_OF_SPELLING[name]: text for name, text in ENGLISH.items()}
    korean = {field.korean: by_column[field.name] for field in LIBRARY_FIELDS}
    sister = {"ctprvnNm": "ctpvNm", "insttCode": "instt_code", "insttNm": "instt_nm"}
    sisters = {sister.get(name, name): text for name, text in ENGLISH.items()}
    for row in (korean, sisters):
        library = library_of(row)
        assert isinstance(library, Library)
        assert (library.row_hash, library.raw) == (_library().row_hash, row)


def test_texts_are_trimmed_before_keying_and_kept_as_sent() -> None:
    """Section 5.5: 35 cells of a real snapshot have blanks around them."""
    untrimmed = _library(lbrryNm="\u3000소나무언덕3호 ", bookCo=" 24512\t")
    assert (untrimmed.library_name, untrimmed.raw["bookCo"]) == ("소나무언덕3호", " 24512\t")
    assert untrimmed.row_hash == _library().row_hash


@pytest.mark.parametrize("name", ["lbrryNm", "insttCode"])
@pytest.mark.parametrize("text", ["", " ", None, "absent", "x" * 256, "\ud800", "a\x00b"])
def test_a_row_without_a_usable_key_is_unkeyable_and_kept(name: str, text: str | None) -> None:
    """R51: counted, never an error of the database."""
    row = {**ENGLISH, name: text}
    if text == "absent":
        del row[name]
    found = library_of(row)
    assert isinstance(found, Unkeyable)
    assert found.raw == {sent: said for sent, said in row.items() if said is not None}


@pytest.mark.parametrize(
    ("name", "column", "text"),
    [
        ("weekdayOperColseHhmm", "weekday_closes_at", "24:01"),
        ("weekdayOperColseHhmm", "weekday_closes_at", "25:00"),
        ("weekdayOperColseHhmm", "weekday_closes_at", "9:00"),
        ("weekdayOperColseHhmm", "weekday_closes_at", "09:60"),
        ("weekdayOperColseHhmm", "weekday_closes_at", "휴관"),
        ("bookCo", "book_count", "2147483648"),
        ("bookCo", "book_count", "-1"),
        ("bookCo", "book_count", "1,234"),
        ("bookCo", "book_count", "１２"),
        ("bookCo", "book_count", "9" * 5000),
        ("plotAr", "plot_area_m2", "999999999999.996"),
        ("plotAr", "plot_area_m2", "343㎡"),
        ("plotAr", "plot_area_m2", "NaN"),
        ("plotAr", "plot_area_m2", "1e9"),
        ("latitude", "latitude", "127.15"),
        ("longitude", "longitude", "180.1"),
        ("longitude", "longitude", "1" * 40),
        ("referenceDate", "reference_date", "2026-02-29"),
        ("referenceDate", "reference_date", "20260228"),
        ("referenceDate", "reference_date", "0999-12-31"),
        ("closeDay", "closed_days", "가" * 501),
        ("homepageUrl", "homepage_url", "http://\ud800"),
    ],
)
def test_a_text_that_does_not_fit_is_counted_and_kept(name: str, column: str, text: str) -> None:
    """R51: never cut or dropped; no value, but the text stays in the raw row and in the hash."""
    library = _library(**{name: text})
    assert (library.values[column], library.unparsed) == (None, (column,))
    assert library.raw[name] == text
    assert library.row_hash not in {_library().row_hash, _library(**{name: ""}).row_hash}


@pytest.mark.parametrize(
    ("name", "column", "text", "value"),
    [
        ("bookCo", "book_count", "2147483647", 2147483647),
        ("plotAr", "plot_area_m2", "999999999999.99", Decimal("999999999999.99")),
        ("latitude", "latitude", "-90", Decimal(-90)),
        ("latitude", "latitude", "37.12345674", Decimal("37.1234567")),
        ("closeDay", "closed_days", "가" * 500, "가" * 500),
        ("homepageUrl", "homepage_url", "-", "-"),
    ],
)
def test_the_largest_value_of_a_column_is_a_value(
    name: str, column: str, text: str, value: LibraryValue
) -> None:
    """Nothing that the column can hold is lost to a bound that is too narrow."""
    library = _library(**{name: text})
    assert (library.values[column], library.unparsed) == (value, ())


def test_an_empty_cell_is_empty_and_not_unparsed() -> None:
    """Section 5.4: a third of the homepages and half of the areas are empty."""
    library = _library(plotAr="", homepageUrl=" ", latitude=None)
    assert library.unparsed == ()
    assert {library.values[c] for c in ("plot_area_m2", "homepage_url", "latitude")} == {None}


@pytest.mark.parametrize("name", sorted(ENGLISH.keys() - {"lbrryNm", "insttCode"}))
def test_a_change_in_any_column_changes_the_hash(name: str) -> None:
    """R51: what is not in the hash is never seen to change."""
    assert _library(**{name: ""}).row_hash != _library().row_hash


def test_another_writing_of_the_same_value_is_no_change() -> None:
    """A hash over texts would report a change where the tables hold the same value."""
    assert _library(plotAr="343.00", longitude="127.15661900").row_hash == _library().row_hash


def test_neighbouring_columns_do_not_run_into_each_other() -> None:
    """The hash of a row whose cells slipped by one is another."""
    slipped = _library(ctprvnNm="송파구", signguNm="서울특별시")
    assert slipped.row_hash != _library().row_hash


def test_unknown_columns_stay_in_the_raw_row() -> None:
    """A new column of the sender is neither an error nor a change."""
    library = _library(brandNew="1")
    assert library.raw["brandNew"] == "1"
    assert library.row_hash == _library().row_hash


def test_of_two_names_for_one_column_the_one_with_a_text_counts() -> None:
    """A sender in the middle of renaming sends both."""
    assert _library(ctprvnNm="", ctpvNm="부산광역시").values["province"] == "부산광역시"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(hours=24), "24:00"),
        (timedelta(hours=9, minutes=5), "09:05"),
        (Decimal("343.00"), "343"),
        (Decimal("37.4923250"), "37.492325"),
        (Decimal("100"), "100"),
        (Decimal("0.00"), "0"),
        (date(2026, 3, 5), "2026-03-05"),
        (84, "84"),
        ("가", "가"),
        (None, None),
    ],
)
def test_a_value_has_one_text(value: LibraryValue | None, text: str | None) -> None:
    """The history compares parsed values with those of the database, whose scale is fixed."""
    assert value_text(value) == text


ANY_TEXT = st.text(max_size=30) | st.from_regex(r"[-0-9:.e+%]{0,12}")


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted(COLUMN_OF_SPELLING)) | st.text(), ANY_TEXT))
def test_no_content_of_a_row_raises(row: dict[str, str]) -> None:
    """Whatever a row says, it is a library or unkeyable, and its texts are all still there."""
    found = library_of(row)
    assert json.dumps(dict(found.raw)) == json.dumps(row)

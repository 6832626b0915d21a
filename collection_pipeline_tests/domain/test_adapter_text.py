"""Texts, regions and instants on their way into columns."""

import html
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.domain.posting import DeadlineKind
from collection_pipeline.platforms.adapters.moments import deadline_of, instant_of, instant_of_epoch
from collection_pipeline.platforms.adapters.parsing import JsonObject, raw_json
from collection_pipeline.platforms.adapters.regions import region_of
from collection_pipeline.platforms.adapters.rows import RowReader
from collection_pipeline.platforms.adapters.text import (
    plain_text,
    prose,
    unescaped,
    without_highlight,
)


@pytest.mark.parametrize(
    ("location", "region"),
    [
        ("서울 구로구", "서울"),
        ("서울특별시 서초구 반포대로 20", "서울"),
        ("부산 > 부산진구", "부산"),
        ("경기도 성남시 분당구", "경기"),
        ("전북특별자치도 전주시", "전북"),
        ("강원특별자치도", "강원"),
        ("대한민국 제주특별자치도 제주시", "제주"),
        ("서울,경기 > 성남시", "서울"),
        ("Seoul, South Korea", "서울"),
        ("Remote - Busan", "부산"),
        ("성동구, 서울; Remote", "서울"),
        ("오포읍 광주", None),
        ("광주시 오포읍", None),
        ("판교", None),
        ("London; Stockholm", None),
        ("전국", None),
        ("", None),
        (None, None),
    ],
)
def test_a_region_is_recognised_and_never_guessed(location: str | None, region: str | None) -> None:
    """Spec section 7: location raw and region."""
    assert region_of(location) == region


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-07-31", datetime(2026, 7, 31, 14, 59, 59)),
        ("2026-10-31T00:00:00", datetime(2026, 10, 31, 14, 59, 59)),
        ("2026-10-31 18:00:00", datetime(2026, 10, 31, 9, 0)),
        ("2026-10-31T18:00:00.500", datetime(2026, 10, 31, 9, 0, 0, 500000)),
        ("2022-03-27T23:59:59+0900", datetime(2022, 3, 27, 14, 59, 59)),
        ("2026-08-31T23:59:00-04:00", datetime(2026, 9, 1, 3, 59)),
        ("2026-06-30T14:59:59Z", datetime(2026, 6, 30, 14, 59, 59)),
    ],
)
def test_a_deadline_day_lasts_until_it_ends_in_korea(text: str, at: datetime) -> None:
    """Sections 1C, 2, 3, 4.1."""
    deadline = deadline_of(text)
    assert deadline is not None
    assert (deadline.kind, deadline.at) == (DeadlineKind.DATE, at)


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12-31T23:59:59", "9000-01-01 00:00:00Z"])
def test_a_year_from_9000_on_is_no_deadline(text: str) -> None:
    """Section 3: 9999-12-31 plus nine hours would leave DATETIME's range."""
    deadline = deadline_of(text)
    assert deadline is not None
    assert deadline.kind is DeadlineKind.ALWAYS_OPEN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "0000-00-00",
        "0001-01-01T00:00:00+14:00",
        "2026-02-30",
        "20261231",
        "2026-W01-1",
        "2026-10-31T25:00:00",
        "２０２６-10-31",
        "2026-10-31\n",
        "2026-10-31T10:00:00+99:99",
    ],
)
def test_what_is_no_time_does_not_parse(text: str) -> None:
    """R10: null and named, never a crash."""
    assert deadline_of(text) is None
    assert instant_of(text) is None


@pytest.mark.parametrize("count", [0, -1, 10**12, 10**30, 10**4000])
def test_an_epoch_beyond_the_calendar_does_not_parse(count: int) -> None:
    """R10."""
    assert instant_of_epoch(count) is None


def test_markup_becomes_lines_of_text() -> None:
    """Section 4.1: entities inside are resolved after the tags are gone."""
    markup = (
        "<div><h2>A&amp;B</h2><p>x &lt;y&gt;&nbsp;z<br/>w</p>"
        "<ul><li>1</li>\n<li>\n<p>2</p></li></ul></div>"
    )
    assert plain_text(markup) == "A&B\n\nx <y> z\nw\n\n• 1\n\n• 2"


def test_korean_headings_in_angle_brackets_are_no_markup() -> None:
    """Sections 1C and 3: texts that may or may not be HTML."""
    assert prose("<자격요건>\r\nC++ & <Java> a < b\r") == "<자격요건>\nC++ & <Java> a < b"


def test_a_highlight_leaves_no_space_behind() -> None:
    """Section 3."""
    assert without_highlight('백<span class="x">엔드</span>') == "백엔드"


def test_texts_are_stripped_cut_and_free_of_what_mysql_cannot_store() -> None:
    """NUL and lone surrogates are valid JSON escapes but not utf8mb4."""
    row: JsonObject = {
        "a": " \u0000가\ud800나 \u0000",
        "b": "x" * 9 + " y",
        "c": "  ",
        "d": "😀" * 9,
    }
    reader = RowReader(row)
    assert reader.text("a", 100) == "가나"
    assert reader.text("b", 10) == "x" * 9
    assert reader.text("c", 10) is None
    assert reader.text("d", 5) == "😀" * 5
    assert reader.unparsed == ()
    raw_json(row).encode("utf-8")


def test_lists_hold_at_most_100_entries_of_100_characters() -> None:
    """Spec section 7."""
    entries = [f"{number} " + "x" * 200 for number in range(300)]
    found = RowReader({"a": entries, "b": ",".join(entries)})
    for texts in (found.texts("a"), found.split_texts("b")):
        assert len(texts) == 100
        assert {len(text) for text in texts} == {100}


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "ftp://x/y", "//x/y", "x", "https://[x", "https://x/" + "a" * 2000],
)
def test_a_link_that_nobody_could_follow_is_null_and_named(url: str) -> None:
    """R10."""
    reader = RowReader({"url": url})
    assert reader.link("url") is None
    assert reader.unparsed == ("url",)


def test_an_entity_of_endless_digits_is_no_character() -> None:
    """R10: Python refuses to read such a number; the text around it stays."""
    for digits in ("9" * 5_000, "0" * 5_000 + "65"):
        assert unescaped(f"a&#{digits};b") == "a\ufffdb"
        assert plain_text(f"<p>a&#{digits};b</p>") == "a\ufffdb"
    assert unescaped("&#0000065;&#x41;") == "AA"


def test_a_comment_is_no_text_whatever_it_holds() -> None:
    """R10: tags inside it end with it, unknown ones stay text."""
    assert plain_text("a<!-- <b>hidden</b><br> -->b<Java>") == "ab<Java>"
    assert prose("a<!-- hidden -->b") == "ab"
    assert prose("<자격요건> <Java> a < b") == "<자격요건> <Java> a < b"


@given(st.lists(st.sampled_from(["&", "&amp;", "amp;", "&lt;", "lt;", "&amp", "#38;", "a", ";"])))
def test_the_short_way_for_links_unescapes_like_the_long_one(parts: list[str]) -> None:
    """platforms.md section 2: entities are resolved once, not twice."""
    text = "".join(parts)
    assert unescaped(text) == html.unescape(text)

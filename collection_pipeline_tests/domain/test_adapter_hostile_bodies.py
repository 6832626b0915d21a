"""Bodies that are no list: captchas, cut or swapped envelopes, hostile JSON (R10)."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from collection_pipeline.platforms.adapters.greenhouse import MOST_ROWS
from collection_pipeline.platforms.adapters.parsing import MOST_VALUES, raw_json
from collection_pipeline.platforms.adapters.text import RAW_CHARS
from collection_pipeline.platforms.contract import BadResponse, RequestFailed
from collection_pipeline_tests.kit import platform_bodies as bodies
from collection_pipeline_tests.kit.platform_lists import LISTS, NUMBERS, REGISTRY


@pytest.mark.parametrize(
    ("name", "other"),
    [(name, other) for name in LISTS for other in LISTS if LISTS[name][0] is not LISTS[other][0]],
)
def test_the_envelope_of_another_platform_is_refused(name: str, other: str) -> None:
    """R10: a swapped envelope is no list."""
    platform, condition, _ = LISTS[name]
    adapter = REGISTRY[platform]
    with pytest.raises(RequestFailed):
        adapter.read_page(
            condition, adapter.first_position(condition, 500), bodies.reply(LISTS[other][2])
        )


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"  \n",
        b"null",
        b"0",
        b'"text"',
        b"true",
        b"NaN",
        b"\xff\xfe",
        b"<!doctype html><title>Just a moment...</title>",
        b'{"data": NaN}',
        b'{"data": 1e999}',
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"[" + b"9" * 10_000 + b"]",
    ],
    ids=lambda content: content[:20].decode("latin-1"),
)
def test_what_is_no_json_of_a_list_is_refused(name: str, content: bytes) -> None:
    """R10: captcha pages, constants that JSON does not have, nesting beyond the stack."""
    platform, condition, _ = LISTS[name]
    adapter = REGISTRY[platform]
    with pytest.raises(RequestFailed):
        adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(content))


@pytest.mark.parametrize("name", LISTS)
def test_deep_nesting_inside_a_row_never_crashes(name: str) -> None:
    """R10: a row that parses but cannot be written again is refused too."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    text = json.dumps(body)
    marker = '"id": '
    for depth in (50, 400, 900, 990, 1_000, 5_000):
        deep = text.replace(marker, f'"x": {"[" * depth}{"]" * depth}, {marker}', 1).encode()
        try:
            page = adapter.read_page(
                condition, adapter.first_position(condition, 500), bodies.reply(deep)
            )
        except RequestFailed:
            assert depth > 50
        else:
            assert len(page.rows) == len(NUMBERS)


@pytest.mark.parametrize("name", LISTS)
def test_a_constant_that_json_does_not_have_spoils_the_body_wherever_it_stands(name: str) -> None:
    """R10: it could not be stored as JSON, and nothing that is JSON would write it."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    for constant in ("NaN", "Infinity", "-Infinity", "1e999"):
        bent = json.dumps(body).replace('"id": ', f'"x": {constant}, "id": ', 1).encode()
        with pytest.raises(RequestFailed):
            adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(bent))


def test_a_row_that_cannot_be_written_again_is_refused() -> None:
    """R10: parsing and writing do not fail at the same depth."""
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadResponse):
        raw_json(nested)


def test_a_dropped_list_key_is_never_an_empty_list() -> None:
    """R10: for each platform, each envelope key that carries rows or the end."""
    dropped: list[tuple[str, Callable[[Any], None]]] = [
        ("wanted v4", lambda body: body.pop("data")),
        ("wanted chaos", lambda body: body.pop("links")),
        ("saramin", lambda body: body["jobs"].pop("job")),
        ("saramin", lambda body: body["jobs"].pop("total")),
        ("saramin", lambda body: body.pop("jobs")),
        ("jumpit", lambda body: body["result"].pop("positions")),
        ("jumpit", lambda body: body["result"].pop("totalCount")),
        ("jumpit", lambda body: body.pop("result")),
        ("greenhouse", lambda body: body.pop("jobs")),
        ("greenhouse", lambda body: body.pop("meta")),
    ]
    for name, drop in dropped:
        platform, condition, body = LISTS[name]
        bent = copy.deepcopy(body)
        drop(bent)
        adapter = REGISTRY[platform]
        with pytest.raises(RequestFailed):
            adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(bent))


@pytest.mark.parametrize("name", LISTS)
def test_a_key_that_stands_twice_is_refused(name: str) -> None:
    """R10: the last of two lists would hide the rows of the first."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    text = json.dumps(body, ensure_ascii=False)
    twice = text.replace('{"', '{"id": 1, "id": 2, "', 1)
    assert twice != text
    with pytest.raises(BadResponse, match="twice"):
        adapter.read_page(
            condition, adapter.first_position(condition, 500), bodies.reply(twice.encode())
        )


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("values", [b"{},", b"[],", b'{"a":1},', b'"ab",', b"1,"])
def test_a_body_of_a_million_values_is_refused_before_it_fills_the_memory(
    name: str, values: bytes
) -> None:
    """R10, section 3: 20 MB of empty objects would take half a gigabyte."""
    platform, condition, _ = LISTS[name]
    adapter = REGISTRY[platform]
    content = b"[" + values * MOST_VALUES + b"0]"
    with pytest.raises(BadResponse, match="more than"):
        adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(content))


def test_a_board_of_more_rows_than_any_board_has_is_refused() -> None:
    """R10: a whole board has no page size that would bound it."""
    platform, condition, _ = LISTS["greenhouse"]
    row = {"id": 1, "title": "a"}
    content = {"jobs": [row] * (MOST_ROWS + 1), "meta": {"total": MOST_ROWS + 1}}
    adapter = REGISTRY[platform]
    with pytest.raises(BadResponse, match="rows"):
        adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(content))


@pytest.mark.parametrize("name", LISTS)
def test_a_row_too_long_for_a_statement_is_kept_without_its_raw_form(name: str) -> None:
    """R19, R20: what the server would not take must not keep the whole slice from being stored."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    text = json.dumps(body).replace('"id": ', f'"x": "{"y" * RAW_CHARS}", "id": ', 1)
    page = adapter.read_page(
        condition, adapter.first_position(condition, 500), bodies.reply(text.encode())
    )
    assert len(page.rows) == len(NUMBERS)
    assert [row.raw == "null" for row in page.rows] == [True, *[False] * (len(NUMBERS) - 1)]
    assert "raw" in page.rows[0].unparsed

"""Whatever changes a column changes the signature, or the change would never be stored (R22a)."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collection_pipeline.domain.posting import ListedPosting
from collection_pipeline.platforms.adapters.greenhouse import read_greenhouse_row
from collection_pipeline.platforms.adapters.jumpit_rows import read_jumpit_row
from collection_pipeline.platforms.adapters.lever_rows import read_lever_row
from collection_pipeline.platforms.adapters.saramin_rows import read_saramin_row
from collection_pipeline.platforms.adapters.wanted_rows import read_wanted_row
from collection_pipeline.platforms.contract import BadResponse
from collection_pipeline_tests.kit.platform_bodies import (
    Json,
    greenhouse_row,
    jumpit_row,
    lever_row,
    saramin_row,
    wanted_chaos_row,
    wanted_v4_row,
)

Read = Callable[[Json], ListedPosting]
HYBRID = greenhouse_row(1, location={"name": "Hybrid"})
HYBRID["offices"] = [{"id": 1, "name": "Seoul"}, {"id": 2, "name": "Busan"}]
DAY = "2026-11-30T19:00:00+0900"
DATES = {f"{name}-date": DAY for name in ("posting", "opening", "expiration")}
TIMES = {name.replace("date", "timestamp"): None for name in DATES}
MARKUP = {"opening": "<p>Hello</p>", "descriptionBody": "<p>Build it</p>", "additional": "<b>x</b>"}
NO_TEXTS = {"descriptionPlain": None, "additionalPlain": None, "salaryRange": None}
FORMS: dict[str, tuple[Read, Json]] = {
    "saramin": (read_saramin_row, saramin_row(1)),
    "saramin, dates for times": (read_saramin_row, saramin_row(1, **DATES, **TIMES)),
    "saramin, another name": (read_saramin_row, saramin_row(1, company={"name": "한빛"})),
    "wanted": (read_wanted_row, wanted_v4_row(1)),
    "wanted chaos": (read_wanted_row, wanted_chaos_row(1)),
    "jumpit": (read_jumpit_row, jumpit_row(1)),
    "lever": (read_lever_row, lever_row(1)),
    "lever, markup": (
        read_lever_row,
        lever_row(1, **NO_TEXTS, **MARKUP, salaryDescription="<p>60 to 90</p>"),
    ),
    "lever, one text": (read_lever_row, lever_row(1, **NO_TEXTS, description="<p>Build it</p>")),
    "lever, other texts": (
        read_lever_row,
        lever_row(
            1,
            **NO_TEXTS,
            openingPlain="Hello",
            descriptionBodyPlain="Build it",
            salaryDescriptionPlain="60 to 90",
        ),
    ),
    "greenhouse": (read_greenhouse_row, greenhouse_row(1)),
    "greenhouse, hybrid": (read_greenhouse_row, HYBRID),
}
Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a row, objects and lists included."""
    if path:
        yield path
    inner = list(value.items()) if isinstance(value, dict) else []
    inner += enumerate(value) if isinstance(value, list) else []
    for key, one in inner:
        yield from places(one, (*path, key))


def at(row: Json, path: Path) -> Any:
    """What stands at a place."""
    value: Any = row
    for key in path:
        value = value[key]
    return value


def columns(row: ListedPosting) -> dict[str, object]:
    """What would be stored; the order of skills and of categories says nothing."""
    stored = vars(row.fields)
    return {
        name: sorted(value) if isinstance(value, tuple) else value for name, value in stored.items()
    }


def others(value: Any) -> list[Any]:
    """Values that might stand there instead."""
    found: list[Any] = [None, "", "other", "3", 7, [], {}, True, False, "2027-01-31"]
    if isinstance(value, str):
        found += [f"{value} x", f"x, {value}", value.upper(), ",".join(reversed(value.split(",")))]
    if isinstance(value, int):
        found += [value + 1, str(value + 1), 0]
    if isinstance(value, list):
        found += [value[::-1], value[1:], [*value, "other"], [*value, {"name": "other"}]]
    return found


def changed(row: Json, path: Path, value: Any) -> Json:
    """A copy of the row with ``value`` at ``path``."""
    copied = copy.deepcopy(row)
    at(copied, path[:-1])[path[-1]] = value
    return copied


@pytest.mark.parametrize("form", FORMS)
def test_a_row_with_other_columns_has_another_signature(form: str) -> None:
    """R22a, R34a: for every place of a row and many values there."""
    read, row = FORMS[form]
    base = read(copy.deepcopy(row))
    tried = 0
    for path in places(row):
        if path == ("id",):
            continue
        for other in others(at(row, path)):
            try:
                one = read(changed(row, path, other))
                is_other = columns(one) != columns(base)
            except BadResponse:
                continue
            tried += is_other
            assert not is_other or one.signature != base.signature, (path, other)
    assert tried > 30

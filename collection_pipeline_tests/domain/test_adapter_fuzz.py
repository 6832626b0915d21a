"""Mutated bodies: an adapter refuses them or reads postings of the original, nothing else (R10)."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collection_pipeline.domain.cursor import Cursor
from collection_pipeline.domain.posting import GonePosting, PostingDetail
from collection_pipeline.domain.source import Platform
from collection_pipeline.platforms.contract import RequestFailed
from collection_pipeline_tests.kit import platform_bodies as bodies
from collection_pipeline_tests.kit.platform_lists import LISTS, REGISTRY

DETAILS: dict[str, tuple[Platform, Any]] = {
    "wanted v4": (Platform.WANTED, {"job": bodies.wanted_job(101)}),
    "wanted chaos": (Platform.WANTED, {"data": {"job": bodies.wanted_job(101)}}),
    "jumpit": (Platform.JUMPIT, bodies.jumpit_detail(101)),
}
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**40, -(10**400), 1e308, 2**63, "", "x" * 3_000, [], {}, [[]], {"a": 1}]),
    st.text(alphabet=st.characters(), max_size=20),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=4),
)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every key and list element below ``value``."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    found = []
    for key in keys:
        found += [(*path, key), *places_in(value[key], (*path, key))]
    return found


def mutated(body: Any, data: st.DataObject) -> bytes:
    """``body`` with one to three places dropped or replaced, perhaps cut off."""
    bent = copy.deepcopy(body)
    for _ in range(data.draw(st.integers(0, 3))):
        places = places_in(bent)
        if not places:
            break
        *path, last = data.draw(st.sampled_from(places))
        owner = bent
        for key in path:
            owner = owner[key]
        if data.draw(st.booleans()):
            del owner[last]
        else:
            # A copy: a later mutation may bend the drawn list itself.
            owner[last] = copy.deepcopy(data.draw(ODD_VALUES))
    text = json.dumps(bent).encode()
    if data.draw(st.integers(0, 9)) == 0:
        return text[: data.draw(st.integers(0, len(text)))]
    return text


def ids_in(platform: Platform, content: bytes) -> list[str]:
    """The ids that the mutated list itself carries, in order; every row must be one of them."""
    body = json.loads(content)
    match platform:
        case Platform.WANTED:
            rows = body["data"]
        case Platform.SARAMIN:
            job = body["jobs"].get("job") or []
            rows = job if isinstance(job, list) else [job]
        case Platform.JUMPIT:
            rows = body["result"]["positions"]
        case Platform.GREENHOUSE:
            rows = body["jobs"]
        case _:
            rows = body
    return [str(row["id"]).strip() for row in rows]


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_mutated_list_is_refused_or_holds_only_its_own_postings(
    name: str, data: st.DataObject
) -> None:
    """R10: no other exception, no row left out or made up, everything storable."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    content = mutated(body, data)
    try:
        page = adapter.read_page(
            condition, adapter.first_position(condition, 500), bodies.reply(content)
        )
    except RequestFailed:
        return
    assert [row.source_job_id for row in page.rows] == ids_in(platform, content)
    for row in page.rows:
        row.raw.encode("utf-8")
        repr(row.fields).encode("utf-8")
        assert row.fields.title
        assert len(row.fields.title) <= 500
    if page.next_position is not None:
        Cursor(page.next_position).encoded()
        adapter.list_request(condition, page.next_position)


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_cut_off_list_is_always_refused(name: str, data: st.DataObject) -> None:
    """R10: half a body never reads as a shorter list."""
    platform, condition, body = LISTS[name]
    adapter = REGISTRY[platform]
    text = json.dumps(body).encode()
    content = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(RequestFailed):
        adapter.read_page(condition, adapter.first_position(condition, 500), bodies.reply(content))


@pytest.mark.parametrize("name", DETAILS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_mutated_detail_is_refused_gone_or_storable(name: str, data: st.DataObject) -> None:
    """R22: a failed detail is counted; it never ends the slice with another exception."""
    platform, body = DETAILS[name]
    adapter = REGISTRY[platform]
    try:
        found = adapter.read_detail({}, "101", bodies.reply(mutated(body, data)))
    except RequestFailed:
        return
    if isinstance(found, GonePosting):
        return
    assert isinstance(found, PostingDetail)
    found.raw.encode("utf-8")
    repr(found.changes).encode("utf-8")

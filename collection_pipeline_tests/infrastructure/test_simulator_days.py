"""Catalogues are deterministic and change from day to day as the scenario says."""

from datetime import date
from typing import Any

import pytest

from collection_pipeline.simulator.scenario import ScenarioError, load_scenario, parse_scenario
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import (
    JUMPIT,
    WANTED_CHAOS,
    WANTED_V4,
    call,
    one_source,
    saramin,
    target,
)

CHANGES = {"2": {"remove": 3, "add": 2, "edit": 1}, "3": {"restore": 1}}


def test_two_simulators_of_one_scenario_serve_the_same_bytes() -> None:
    bodies = []
    for _ in range(2):
        with one_source("saramin", "backend", 300, changes=CHANGES) as server:
            server.set_day("2026-12-02")
            bodies.append(call(server.base_url, saramin("backend", 1, 110)).body)
    assert bodies[0] == bodies[1]


def test_another_seed_or_key_gives_other_postings() -> None:
    rules = [{"platform": "saramin", "key": key, "count": 20} for key in ("one", "two")]
    texts = []
    for seed in (1, 2):
        with SimulatorServer(
            scenario={"seed": seed, "base_date": "2026-12-01", "sources": rules}
        ) as server:
            texts += [call(server.base_url, saramin(key)).text for key in ("one", "two")]
            assert not set(server.catalogue("saramin", "one")) & set(
                server.catalogue("saramin", "two")
            )
    assert len(set(texts)) == 4


def test_an_id_belongs_to_one_search_only() -> None:
    rules = [{"platform": "jumpit", "key": f"k{number}", "count": 3} for number in range(400)]
    with SimulatorServer(scenario={"sources": rules}) as server:
        ids = [item for rule in rules for item in server.catalogue("jumpit", str(rule["key"]))]
    assert len(set(ids)) == 1200


def test_postings_go_come_and_return_by_the_days_of_the_scenario() -> None:
    with one_source("wanted", "872", 37, changes=CHANGES) as server:
        first, second, third, later = (
            server.catalogue("wanted", "872", date(2026, 12, day)) for day in (1, 2, 3, 9)
        )
    assert (len(first), len(second), len(third)) == (37, 36, 37)
    assert len(set(first) - set(second)) == 3
    assert second[:2] == [item for item in second if item not in first]
    assert len(set(third) - set(second)) == 1
    assert set(third) - set(second) < set(first)
    assert later == third


def test_a_returning_posting_takes_its_old_place() -> None:
    with one_source("wanted", "872", 37, changes=CHANGES) as server:
        first = server.catalogue("wanted", "872", date(2026, 12, 1))
        third = server.catalogue("wanted", "872", date(2026, 12, 3))
    assert [item for item in third if item in set(first)] == [
        item for item in first if item in set(third)
    ]


def test_an_edit_shows_in_the_row_and_only_there() -> None:
    changes = {"2": {"edit": 1}}
    with one_source("jumpit", "1", 16, changes=changes) as server:
        asked = target(JUMPIT, jobCategory=1)
        before = call(server.base_url, asked).json["result"]["positions"]
        server.set_day("2026-12-02")
        after = call(server.base_url, asked).json["result"]["positions"]
    differing = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(differing) == 1
    old, new = differing[0]
    assert old["id"] == new["id"]
    assert old["title"] != new["title"]


def test_rows_do_not_change_because_a_day_has_passed() -> None:
    with one_source("wanted", "518", 20) as server:
        asked = target(WANTED_CHAOS, job_group_id=518)
        before = call(server.base_url, asked).body
        server.set_day("2027-03-01")
        assert call(server.base_url, asked).body == before


def test_a_gone_posting_answers_as_its_platform_does() -> None:
    changes = {"2": {"remove": 12}}
    with one_source("wanted", "518", 40, changes=changes) as server:
        before = set(server.catalogue("wanted", "518"))
        server.set_day("2026-12-02")
        gone = before - set(server.catalogue("wanted", "518"))
        answers = [call(server.base_url, f"/api/v4/jobs/{item}") for item in sorted(gone)]
    forms = {
        (answer.status, answer.json["job"]["status"] if answer.status == 200 else None)
        for answer in answers
    }
    assert (404, None) in forms
    assert {form for form in forms if form[0] == 200} <= {(200, "close"), (200, "draft")}
    assert len(forms) > 1


def test_changes_of_every_day_go_on_for_a_year() -> None:
    changes = {"*": {"remove": 2, "add": 2, "edit": 1}}
    with one_source("saramin", "backend", 100, changes=changes) as server:
        start, end = (
            server.catalogue("saramin", "backend", day)
            for day in (date(2026, 12, 1), date(2027, 11, 30))
        )
    assert len(end) == 100
    assert len(set(start) & set(end)) < 20


def test_the_first_run_date_that_is_set_is_day_1_without_a_base_date() -> None:
    rule = {"platform": "wanted", "key": "872", "count": 5, "changes": {"2": {"add": 1}}}
    with SimulatorServer(scenario={"sources": [rule]}) as server:
        days = [server.set_day(day) for day in ("2026-05-10", "2026-05-11", "2026-05-09")]
        assert days == [1, 2, 1]
        assert len(server.catalogue("wanted", "872", date(2026, 5, 11))) == 6


def test_the_demo_scenario_has_the_sources_that_the_demonstration_needs() -> None:
    with SimulatorServer(scenario="demo") as server:
        server.set_day("2026-12-01")
        counts = {
            (platform, key): len(server.catalogue(platform, key))
            for platform, key in (
                ("saramin", "backend"),
                ("saramin", "everything"),
                ("saramin", "nothing"),
                ("saramin", "single"),
                ("wanted", "872"),
                ("wanted", "518"),
                ("jumpit", "1"),
                ("greenhouse", "daangn-demo"),
                ("lever", "moloco-demo"),
                ("lever", "euro-demo"),
            )
        }
        second_page = target(WANTED_CHAOS, job_group_id=669, limit=100, offset=100)
        answers = []
        for day in ("2026-12-01", "2026-12-02"):
            server.set_day(day)
            answers.append(call(server.base_url, second_page))
        first_page = call(server.base_url, target(WANTED_V4, tag_type_ids=669, limit=100))
    assert list(counts.values()) == [2594, 6200, 0, 1, 37, 200, 340, 45, 130, 12]
    assert [answer.status for answer in answers] == [429, 429]
    assert answers[0].headers["retry-after"] == "2"
    assert first_page.status == 200


@pytest.mark.parametrize(
    "document",
    [
        {"souces": []},
        {"sources": [{"platform": "monster", "key": "x", "count": 1}]},
        {"sources": [{"platform": "wanted", "key": "x", "count": -1}]},
        {"sources": [{"platform": "wanted", "key": "x", "count": 1, "changes": {"1": {}}}]},
        {"wanted_over_limit": "maybe"},
    ],
)
def test_a_misspelt_scenario_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        parse_scenario(document)


def test_an_unknown_scenario_name_is_refused() -> None:
    with pytest.raises(ScenarioError):
        load_scenario("no-such-scenario")

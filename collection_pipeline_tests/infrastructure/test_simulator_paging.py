"""Every platform's list ends as its wire contract says (R23)."""

from urllib.parse import parse_qs, urlsplit

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


def follow(server: SimulatorServer, first: str) -> list[list[str]]:
    """The ids of each page from `first` on, by the next link."""
    pages: list[list[str]] = []
    ahead: str | None = first
    while ahead is not None:
        body = call(server.base_url, ahead).json
        pages.append([str(row["id"]) for row in body["data"]])
        ahead = body["links"]["next"]
    return pages


def test_wanted_pages_follow_relative_links_to_a_null() -> None:
    with one_source("wanted", "872", 37) as server:
        first = target(WANTED_V4, tag_type_ids=872, country="kr", years=-1)
        ahead = call(server.base_url, first).json["links"]["next"]
        pages = follow(server, first)
        served = server.catalogue("wanted", "872")
    assert ahead.startswith(WANTED_V4 + "?")
    query = parse_qs(urlsplit(ahead).query)
    assert (query["offset"], query["limit"], query["years"]) == (["20"], ["20"], ["-1"])
    assert [len(page) for page in pages] == [20, 17]
    assert [item for page in pages for item in page] == served


def test_a_wanted_list_of_whole_pages_ends_with_its_last_row() -> None:
    with one_source("wanted", "518", 200) as server:
        pages = follow(server, target(WANTED_CHAOS, job_group_id=518, limit=100))
    assert [len(page) for page in pages] == [100, 100]


def test_a_wanted_list_of_whole_pages_can_end_with_an_empty_page() -> None:
    with one_source("wanted", "518", 200, boundary_next=True) as server:
        pages = follow(server, target(WANTED_CHAOS, job_group_id=518, limit=100))
    assert [len(page) for page in pages] == [100, 100, 0]


def test_wanted_past_the_end_is_empty_with_a_null_link() -> None:
    with one_source("wanted", "518", 5) as server:
        body = call(server.base_url, target(WANTED_CHAOS, job_group_id=518, offset=400)).json
    assert body == {"data": [], "links": {"next": None}}


def test_wanted_caps_or_refuses_a_limit_above_100() -> None:
    rule = {"platform": "wanted", "key": "518", "count": 150}
    asked = target(WANTED_CHAOS, job_group_id=518, limit=500)
    with SimulatorServer(scenario={"sources": [rule]}) as server:
        capped = call(server.base_url, asked)
    strict = {"sources": [rule], "wanted_over_limit": "reject"}
    with SimulatorServer(scenario=strict) as server:
        refused = call(server.base_url, asked)
    assert len(capped.json["data"]) == 100
    assert refused.status == 400


def test_an_unknown_wanted_group_is_empty_and_a_comma_list_an_error() -> None:
    with one_source("wanted", "518", 5) as server:
        unknown = call(server.base_url, target(WANTED_CHAOS, job_group_id=999_999)).json
        comma = call(server.base_url, target(WANTED_CHAOS, job_group_id=518, job_ids="872,669"))
    assert unknown["data"] == []
    assert comma.status == 400


def test_saramin_counts_pages_from_0_and_caps_the_count() -> None:
    with one_source("saramin", "backend", 250) as server:
        pages = [
            call(server.base_url, saramin("backend", start, 500)).json["jobs"] for start in range(4)
        ]
        served = server.catalogue("saramin", "backend")
    assert [page["count"] for page in pages] == [110, 110, 30, 0]
    assert {page["total"] for page in pages} == {"250"}
    assert [job["id"] for page in pages[:3] for job in page["job"]] == served


def test_jumpit_counts_pages_from_1_and_forgets_the_total_past_the_end() -> None:
    with one_source("jumpit", "1", 40) as server:
        results = [
            call(server.base_url, target(JUMPIT, jobCategory=1, page=page, size=100)).json["result"]
            for page in (1, 2, 3, 4)
        ]
        zeroth = call(server.base_url, target(JUMPIT, jobCategory=1, page=0)).json["result"]
    assert [len(result["positions"]) for result in results] == [16, 16, 8, 0]
    assert [result["totalCount"] for result in results] == [40, 40, 40, 0]
    assert zeroth["positions"] == results[0]["positions"]


def test_a_jumpit_keyword_with_a_blank_is_dropped() -> None:
    with SimulatorServer() as server:
        totals = [
            call(server.base_url, target(JUMPIT, keyword=word)).json["result"]["totalCount"]
            for word in ("서비스 기획", "프로덕트 매니저", "없는말")
        ]
    assert totals[0] == totals[1] > 0
    assert totals[2] == 0


def test_lever_pages_by_skip_until_a_short_page() -> None:
    with one_source("lever", "site", 130) as server:
        pages = [
            call(server.base_url, f"/v0/postings/site?mode=json&skip={skip}&limit=100").json
            for skip in (0, 100, 200)
        ]
        served = server.catalogue("lever", "site")
    assert [len(page) for page in pages] == [100, 30, 0]
    assert [row["id"] for page in pages for row in page] == served


def test_a_numbered_key_has_that_many_results_on_every_platform() -> None:
    with SimulatorServer() as server:
        total = call(server.base_url, saramin("demo-2594")).json["jobs"]["total"]
        board = call(server.base_url, "/v1/boards/demo-7/jobs").json
    assert total == "2594"
    assert board["meta"]["total"] == 7


def test_the_default_count_is_for_keys_that_the_scenario_does_not_name() -> None:
    with SimulatorServer(scenario={"default_count": 23}) as server:
        total = call(server.base_url, saramin("anything")).json["jobs"]["total"]
        board = call(server.base_url, "/v1/boards/anything/jobs")
    assert total == "23"
    assert board.status == 404

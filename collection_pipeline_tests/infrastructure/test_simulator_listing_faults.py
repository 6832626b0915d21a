"""Faults that disturb paging really do so (R23, R23a, I8)."""

from collections.abc import Iterator
from typing import Any

import pytest

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import (
    JUMPIT,
    WANTED_CHAOS,
    call,
    saramin,
    source,
    target,
)

RULES = [
    source("wanted", "518", 250),
    source("saramin", "backend", 330),
    source("jumpit", "1", 100),
    source("lever", "site", 130),
    source("greenhouse", "board", 5),
]


@pytest.fixture
def server() -> Iterator[SimulatorServer]:
    with SimulatorServer(scenario={"base_date": "2026-12-01", "sources": RULES}) as running:
        yield running


def wanted_page(server: SimulatorServer, page: int) -> Any:
    asked = target(WANTED_CHAOS, job_group_id=518, limit=100, offset=page * 100)
    return call(server.base_url, asked).json


def wanted_ids(server: SimulatorServer, page: int) -> list[str]:
    return [str(row["id"]) for row in wanted_page(server, page)["data"]]


def saramin_jobs(server: SimulatorServer, start: int) -> Any:
    return call(server.base_url, saramin("backend", start, 110)).json["jobs"]


def test_a_next_link_points_to_its_own_page(server: SimulatorServer) -> None:
    server.add_fault({"name": "next_self", "platform": "wanted", "page": 1})
    assert "offset=100" in wanted_page(server, 1)["links"]["next"]
    assert "offset=100" in wanted_page(server, 0)["links"]["next"]
    assert wanted_page(server, 2)["links"]["next"] is None


def test_a_next_link_points_to_an_earlier_page(server: SimulatorServer) -> None:
    server.add_fault({"name": "next_back", "platform": "wanted", "page": 2})
    assert "offset=100" in wanted_page(server, 2)["links"]["next"]
    server.clear_faults()
    server.add_fault({"name": "next_back", "platform": "wanted", "page": 2, "to_page": 0})
    assert wanted_page(server, 2)["links"]["next"].endswith("offset=0")


def test_a_next_link_points_to_a_foreign_origin(server: SimulatorServer) -> None:
    server.add_fault({"name": "next_foreign", "platform": "wanted", "page": 0})
    assert wanted_page(server, 0)["links"]["next"].startswith("https://evil.example/api/chaos/")


def test_a_next_link_is_absolute_on_the_same_origin_and_still_ends(server: SimulatorServer) -> None:
    server.add_fault({"name": "next_absolute", "platform": "wanted"})
    assert wanted_page(server, 0)["links"]["next"].startswith(f"{server.base_url}/api/chaos/")
    assert wanted_page(server, 2)["links"]["next"] is None


def test_an_empty_page_still_has_a_next_page(server: SimulatorServer) -> None:
    server.add_fault({"name": "empty_page_with_next", "page": 1})
    wanted = wanted_page(server, 1)
    assert wanted["data"] == []
    assert "offset=200" in wanted["links"]["next"]
    jumpit = call(server.base_url, target(JUMPIT, jobCategory=1, page=2)).json["result"]
    assert (jumpit["positions"], jumpit["totalCount"]) == ([], 100)
    assert (saramin_jobs(server, 1)["job"], saramin_jobs(server, 1)["total"]) == ([], "330")


def test_an_ignored_offset_makes_every_page_page_1(server: SimulatorServer) -> None:
    server.add_fault({"name": "offset_ignored"})
    pages = [saramin_jobs(server, start)["job"] for start in range(3)]
    assert pages[0] == pages[1] == pages[2]
    first, second = wanted_page(server, 0), wanted_page(server, 1)
    assert first["data"] == second["data"]
    assert "offset=200" in second["links"]["next"]
    skipped = call(server.base_url, "/v0/postings/site?mode=json&skip=100&limit=100").json
    assert len(skipped) == 100


def test_shifting_pages_repeat_rows_at_their_edges(server: SimulatorServer) -> None:
    server.add_fault({"name": "shifting", "platform": "wanted", "rows": 2})
    pages = [wanted_ids(server, page) for page in range(3)]
    assert pages[0] == server.catalogue("wanted", "518")[:100]
    assert pages[1][:2] == pages[0][-2:]
    assert pages[2][:2] == pages[1][-2:]
    assert {item for page in pages for item in page} == set(server.catalogue("wanted", "518"))


def test_a_posting_that_came_in_while_reading_has_a_detail(server: SimulatorServer) -> None:
    server.add_fault({"name": "shifting", "platform": "wanted", "rows": 150})
    newcomer = wanted_ids(server, 1)[0]
    assert newcomer not in server.catalogue("wanted", "518")
    assert call(server.base_url, f"/api/v4/jobs/{newcomer}").json["job"]["status"] == "active"


def test_vanishing_rows_make_offset_paging_skip_others(server: SimulatorServer) -> None:
    server.add_fault({"name": "vanish", "platform": "wanted", "rows": 3})
    read = {item for page in range(3) for item in wanted_ids(server, page)}
    skipped = set(server.catalogue("wanted", "518")) - read
    assert len(skipped) == 6
    assert call(server.base_url, f"/api/v4/jobs/{skipped.pop()}").status == 200


def test_totals_change_from_page_to_page(server: SimulatorServer) -> None:
    server.add_fault({"name": "changing_total", "platform": "saramin"})
    totals = [saramin_jobs(server, start)["total"] for start in range(3)]
    assert totals == ["335", "325", "340"]
    assert len(saramin_jobs(server, 2)["job"]) == 110


def test_a_total_shrinks_below_the_rows_that_are_there(server: SimulatorServer) -> None:
    server.add_fault({"name": "total_shrunk", "platform": "saramin", "page": 1})
    server.add_fault({"name": "total_shrunk", "platform": "jumpit", "total": 3})
    assert [saramin_jobs(server, start)["total"] for start in (0, 1)] == ["330", "165"]
    jumpit = call(server.base_url, target(JUMPIT, jobCategory=1)).json["result"]
    assert (jumpit["totalCount"], len(jumpit["positions"])) == (3, 16)


def test_zero_results_are_a_healthy_looking_empty_answer(server: SimulatorServer) -> None:
    server.add_fault({"name": "zero_results"})
    assert saramin_jobs(server, 0) == {"count": 0, "start": 0, "total": "0", "job": []}
    assert wanted_page(server, 0) == {"data": [], "links": {"next": None}}
    assert call(server.base_url, "/v1/boards/board/jobs").json == {"jobs": [], "meta": {"total": 0}}


def test_a_middle_page_is_short_while_the_list_goes_on(server: SimulatorServer) -> None:
    server.add_fault({"name": "short_pages", "platform": "jumpit"})
    sizes = [
        len(
            call(server.base_url, target(JUMPIT, jobCategory=1, page=page)).json["result"][
                "positions"
            ]
        )
        for page in range(1, 8)
    ]
    assert sizes == [16, 14, 16, 16, 14, 16, 4]


@pytest.mark.parametrize(
    ("form", "expected"), [("absent", "missing"), ("null", None), ("empty", "")]
)
def test_one_row_lacks_its_id_or_title(
    server: SimulatorServer, form: str, expected: object
) -> None:
    server.add_fault({"name": "missing_id", "platform": "wanted", "row": 4, "form": form})
    server.add_fault({"name": "missing_title", "platform": "saramin", "row": 1, "form": form})
    ids = [row.get("id", "missing") for row in wanted_page(server, 0)["data"]]
    titles = [job["position"].get("title", "missing") for job in saramin_jobs(server, 0)["job"]]
    assert [place for place, value in enumerate(ids) if value == expected] == [4]
    assert [place for place, value in enumerate(titles) if value == expected] == [1]
    assert len(server.records()[0]["ids"]) == 99


def test_a_spoilt_row_is_whole_again_without_the_fault(server: SimulatorServer) -> None:
    server.add_fault({"name": "missing_title", "platform": "saramin", "count": 1})
    assert "title" not in saramin_jobs(server, 0)["job"][0]["position"]
    assert "title" in saramin_jobs(server, 0)["job"][0]["position"]


def test_an_envelope_changes_its_name(server: SimulatorServer) -> None:
    server.add_fault({"name": "changed_envelope"})
    assert "data" not in wanted_page(server, 0)
    assert set(call(server.base_url, saramin("backend")).json) == {"jobs_v2"}
    assert "result" not in call(server.base_url, target(JUMPIT, jobCategory=1)).json
    assert "jobs" not in call(server.base_url, "/v1/boards/board/jobs").json
    lever = call(server.base_url, "/v0/postings/site?mode=json").json
    assert set(lever) == {"postings"}

"""Faults that replace an answer: statuses, block pages, error bodies, gone details (R10, R29)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import pytest

from collection_pipeline.simulator.fault_plan import FAULTS, FaultError
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import (
    JUMPIT,
    WANTED_CHAOS,
    call,
    saramin,
    source,
    target,
)

KEY = "s3cret/key+with=signs"
RULES = [
    source("wanted", "518", 250),
    source("wanted", "872", 30),
    source("saramin", "backend", 30),
    source("jumpit", "1", 40),
    source("greenhouse", "board", 5),
    source("lever", "site", 5),
]
PAGE = target(WANTED_CHAOS, job_group_id=518, limit=100)
OTHER_PAGE = target(WANTED_CHAOS, job_group_id=872, limit=100)
LISTS = {
    "wanted": PAGE,
    "saramin": saramin("backend", key=KEY),
    "jumpit": target(JUMPIT, jobCategory=1),
    "greenhouse": "/v1/boards/board/jobs",
    "lever": "/v0/postings/site?mode=json",
}


@pytest.fixture
def server() -> Iterator[SimulatorServer]:
    with SimulatorServer(scenario={"sources": RULES}, access_key=KEY) as running:
        yield running


@pytest.mark.parametrize("status", [403, 404, 429, 500, 503])
def test_a_status_takes_the_place_of_the_answer(server: SimulatorServer, status: int) -> None:
    server.add_fault({"name": f"http_{status}", "platform": "wanted", "key": "518"})
    assert call(server.base_url, PAGE).status == status
    assert call(server.base_url, OTHER_PAGE).status == 200


def test_any_other_status_can_be_had(server: SimulatorServer) -> None:
    server.add_fault({"name": "http_status", "status": 418})
    assert call(server.base_url, PAGE).status == 418


def test_a_403_is_the_page_of_a_content_network(server: SimulatorServer) -> None:
    server.add_fault({"name": "http_403"})
    answer = call(server.base_url, PAGE)
    assert answer.headers["content-type"].startswith("text/html")
    assert "CloudFront" in answer.text


@pytest.mark.parametrize("value", ["2", "-5", "soon", ""])
def test_retry_after_is_sent_as_it_is_written(server: SimulatorServer, value: str) -> None:
    server.add_fault({"name": "http_429", "retry_after": value})
    assert call(server.base_url, PAGE).headers["retry-after"] == value


def test_retry_after_can_be_a_date_and_can_be_absent(server: SimulatorServer) -> None:
    server.add_fault({"name": "http_503", "retry_after": "date+90", "count": 1})
    server.add_fault({"name": "http_429", "from": 2})
    moment = parsedate_to_datetime(call(server.base_url, PAGE).headers["retry-after"])
    assert 60 < (moment - datetime.now(UTC)).total_seconds() <= 91
    assert "retry-after" not in call(server.base_url, PAGE).headers


@pytest.mark.parametrize("status", [301, 302])
def test_a_redirect_names_another_place(server: SimulatorServer, status: int) -> None:
    server.add_fault({"name": "redirect", "status": status, "platform": "saramin"})
    answer = call(server.base_url, LISTS["saramin"])
    assert answer.status == status
    assert answer.headers["location"].startswith("https://127.0.0.1:")
    assert quote(KEY, safe="") in answer.headers["location"]


def test_a_captcha_is_a_page_for_people_with_200(server: SimulatorServer) -> None:
    server.add_fault({"name": "captcha"})
    answer = call(server.base_url, PAGE)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<form" in answer.text


@pytest.mark.parametrize("platform", LISTS)
def test_every_platform_has_a_flat_error_body_with_200(
    server: SimulatorServer, platform: str
) -> None:
    names: dict[str, dict[str, object]] = {
        "wanted": {"error_code": 4},
        "saramin": {"code": 4},
        "jumpit": {"code": "E004", "result": None},
        "greenhouse": {"status": 500},
        "lever": {"ok": False},
    }
    server.add_fault({"name": "error_body", "platform": platform})
    answer = call(server.base_url, LISTS[platform])
    assert answer.status == 200
    assert names[platform].items() <= answer.json.items()


@pytest.mark.parametrize(
    ("carrier", "path"),
    [("error", ("error",)), ("result", ("result",)), ("jobs_error", ("jobs", "error"))],
)
def test_an_error_code_lies_where_the_carrier_puts_it(
    server: SimulatorServer, carrier: str, path: tuple[str, ...]
) -> None:
    server.add_fault({"name": "error_body", "carrier": carrier, "code": 99})
    body: Any = call(server.base_url, LISTS["saramin"]).json
    for name in path:
        body = body[name]
    assert body["code"] == 99


@pytest.mark.parametrize(
    ("carrier", "expected"),
    [("null", b'{"data":null,'), ("empty", b'{"ok":false,"error":{}}'), ("xml", b"<?xml")],
)
def test_the_other_carriers_are_nulls_an_empty_error_and_xml(
    server: SimulatorServer, carrier: str, expected: bytes
) -> None:
    server.add_fault({"name": "error_body", "carrier": carrier})
    assert call(server.base_url, LISTS["lever"]).body.startswith(expected)


@pytest.mark.parametrize("encoding", ["raw", "percent", "double"])
def test_an_error_message_echoes_the_access_key(server: SimulatorServer, encoding: str) -> None:
    spelled = {"raw": KEY, "percent": quote(KEY, safe="")}
    spelled["double"] = quote(spelled["percent"], safe="")
    server.add_fault({"name": "key_echo", "encoding": encoding})
    answer = call(server.base_url, LISTS["saramin"])
    assert answer.status == 200
    assert f"access-key={spelled[encoding]} " in answer.json["message"]


def test_a_body_is_empty_or_not_json(server: SimulatorServer) -> None:
    server.add_fault({"name": "empty_body", "count": 1})
    server.add_fault({"name": "broken_json", "from": 2})
    assert call(server.base_url, PAGE).body == b""
    broken = call(server.base_url, PAGE)
    with pytest.raises(ValueError):
        _ = broken.json


@pytest.mark.parametrize(
    ("form", "status", "state"),
    [("404", 404, None), ("close", 200, "close"), ("draft", 200, "draft")],
)
def test_a_wanted_detail_is_gone_in_three_ways(
    server: SimulatorServer, form: str, status: int, state: str | None
) -> None:
    item = server.catalogue("wanted", "518")[0]
    server.add_fault({"name": "detail_gone", "id": item, "form": form})
    answer = call(server.base_url, f"/api/chaos/jobs/v4/{item}/details")
    assert answer.status == status
    assert status == 404 or answer.json["data"]["job"]["status"] == state
    assert call(server.base_url, PAGE).status == 200


def test_a_jumpit_detail_is_gone_with_c003(server: SimulatorServer) -> None:
    gone, alive = server.catalogue("jumpit", "1")[:2]
    server.add_fault({"name": "detail_gone", "platform": "jumpit", "id": gone})
    answer = call(server.base_url, f"/api/position/{gone}")
    assert (answer.status, answer.json["code"]) == (400, "C003")
    assert call(server.base_url, f"/api/position/{alive}").status == 200


@pytest.mark.parametrize("status", [403, 429, 500])
def test_a_detail_fails_while_its_list_does_not(server: SimulatorServer, status: int) -> None:
    server.add_fault({"name": f"http_{status}", "platform": "jumpit", "kind": "detail", "key": "1"})
    item = server.catalogue("jumpit", "1")[3]
    assert call(server.base_url, f"/api/position/{item}").status == status
    assert call(server.base_url, LISTS["jumpit"]).status == 200


def test_a_fault_can_fall_on_a_page_a_day_and_some_requests_only(server: SimulatorServer) -> None:
    server.set_day("2026-12-01")
    server.add_fault({"name": "http_500", "page": 1, "days": [2], "from": 2, "count": 2})
    second = target(WANTED_CHAOS, job_group_id=518, limit=100, offset=100)
    assert [call(server.base_url, second).status for _ in range(3)] == [200, 200, 200]
    server.set_day("2026-12-02")
    assert call(server.base_url, PAGE).status == 200
    statuses = [call(server.base_url, second).status for _ in range(4)]
    assert statuses == [200, 500, 500, 200]
    assert [(fault["seen"], fault["acted"]) for fault in server.faults()] == [(4, 2)]


@pytest.mark.parametrize(
    "document",
    [
        {"name": "htp_500"},
        {"name": "http_500", "retry_after": "2"},
        {"name": "http_500", "kind": "page"},
        {"name": "http_500", "page": "1"},
        {"name": "slow", "seconds": "1"},
        {"name": "error_body", "carrier": "fax"},
    ],
)
def test_a_misspelt_fault_is_refused(server: SimulatorServer, document: dict[str, Any]) -> None:
    with pytest.raises(FaultError):
        server.add_fault(document)
    assert server.faults() == []


def test_every_fault_can_be_switched_on_by_its_name(server: SimulatorServer) -> None:
    for name in FAULTS:
        server.add_fault({"name": name})
    assert {fault["name"] for fault in server.faults()} == set(FAULTS)

"""The request log and the admin interface (I6, I8, R29)."""

import json
import socket
import time
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import pytest

from collection_pipeline.simulator.connection import RequestReader, clock_us, stamp_arrivals
from collection_pipeline.simulator.listener import NotLoopbackError
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import (
    WANTED_CHAOS,
    call,
    one_source,
    saramin,
    target,
)

KEY = "s3cret/key+with=signs"
ADMIN = "/__simulator/"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_is_in_the_file_before_the_answer_arrives(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "requests.jsonl"
    rule = {"platform": "saramin", "key": "backend", "count": 30}
    with SimulatorServer(scenario={"sources": [rule]}, log_path=path) as server:
        for start in range(3):
            body = call(server.base_url, saramin("backend", start)).json
            last = lines(path)[-1]
            assert last["ids"] == [job["id"] for job in body["jobs"]["job"]]
            assert len(lines(path)) == start + 1
        assert server.records() == lines(path)


def test_a_line_says_what_was_asked_and_what_was_served() -> None:
    with one_source("wanted", "518", 250) as server:
        server.set_day("2026-12-02")
        server.add_fault({"name": "shifting", "platform": "wanted"})
        asked = target(WANTED_CHAOS, job_group_id=518, limit=100, offset=200)
        call(server.base_url, asked)
        item = server.catalogue("wanted", "518")[0]
        call(server.base_url, f"/api/v4/jobs/{item}")
        call(server.base_url, "/robots.txt")
        listed, detail, stray = server.records()
        host = server.base_url.removeprefix("http://")
    assert listed["platform"] == "wanted"
    assert (listed["kind"], listed["page"], listed["status"]) == ("list", 2, 200)
    assert (listed["path"], listed["query"]) == tuple(asked.split("?"))
    assert (listed["search_key"], listed["fault"]) == ("518", "shifting")
    assert (listed["host_header"], listed["run_date"]) == (host, "2026-12-02")
    assert listed["key_ok"] is None
    assert (detail["kind"], detail["item_id"], detail["ids"]) == ("detail", item, [item])
    assert detail["search_key"] == "518"
    assert (stray["platform"], stray["status"], stray["ids"]) == (None, 404, [])
    assert len({record["connection"] for record in (listed, detail, stray)}) == 3


def test_the_time_of_a_line_is_the_moment_of_arrival() -> None:
    with one_source("wanted", "518", 5) as server:
        server.add_fault({"name": "delay", "seconds": 0.3})
        before = time.time_ns() // 1000
        call(server.base_url, target(WANTED_CHAOS, job_group_id=518))
        record = server.records()[0]
    assert before - 50_000 <= record["at_us"] < before + 250_000
    stamp = datetime.fromisoformat(record["at"])
    assert record["at"].endswith("Z")
    assert round((stamp - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6) == pytest.approx(
        record["at_us"], abs=2
    )


def test_a_reader_that_wakes_late_still_knows_when_the_request_came() -> None:
    """I6: the receiver's own delay must not look like the sender's."""
    late_us = 80_000
    errors: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        stamp_arrivals(door)
        with (
            socket.create_connection(door.getsockname()) as client,
            door.accept()[0] as served,
        ):
            reader = RequestReader(served, 1, "all")
            # The kernel's stamps come on a moment after they are asked for.
            while len(errors) < 20 and (not errors or errors[-1] > late_us / 2):
                sent_us = clock_us()
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                Event().wait(late_us / 1e6)
                request = reader.next()
                assert request is not None
                errors.append(request.arrival_us - sent_us)
    assert -1_000 < errors[-1] < late_us / 2


def test_no_line_holds_the_access_key(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    rule = {"platform": "saramin", "key": "backend", "count": 30}
    with SimulatorServer(scenario={"sources": [rule]}, log_path=path, access_key=KEY) as server:
        call(server.base_url, saramin("backend", key=KEY))
        call(server.base_url, saramin("backend", key="another"))
        call(server.base_url, saramin(KEY, key=KEY))
        call(server.base_url, "/stray/" + quote(KEY, safe="") + "?key=" + quote(KEY, safe=""))
        server.add_fault({"name": "key_echo"})
        call(server.base_url, saramin("backend", key=KEY))
        assert [record["key_ok"] for record in server.records()] == [True, False, True, None, True]
    text = path.read_text(encoding="utf-8")
    for form in (KEY, quote(KEY, safe=""), quote(quote(KEY, safe=""), safe=""), "another"):
        assert form not in text
    assert "access-key=***&keywords=backend" in text


def test_an_answer_that_nobody_can_read_counts_no_ids() -> None:
    with one_source("wanted", "518", 50) as server:
        asked = target(WANTED_CHAOS, job_group_id=518)
        for name in ("truncated_gzip", "wrong_encoding", "broken_json", "changed_envelope"):
            server.add_fault({"name": name, "count": 1})
            call(server.base_url, asked)
        call(server.base_url, asked)
        assert [len(record["ids"]) for record in server.records()] == [0, 0, 0, 0, 20]


def test_the_day_is_set_and_seen_over_http() -> None:
    with one_source("wanted", "872", 9, changes={"2": {"remove": 4}}) as server:
        url = server.base_url
        state = call(url, ADMIN + "day", method="POST", body={"run_date": "2026-12-02"}).json
        seen = call(url, ADMIN).json
        refused = call(url, ADMIN + "day", method="POST", body={"run_date": "tomorrow"})
    assert (state["day"], state["run_date"], state["base_date"]) == (2, "2026-12-02", "2026-12-01")
    assert state["sources"] == [{"platform": "wanted", "key": "872", "eu": False, "count": 5}]
    assert seen == state
    assert refused.status == 400


def test_faults_are_switched_over_http() -> None:
    with one_source("wanted", "518", 9) as server:
        url, asked = server.base_url, target(WANTED_CHAOS, job_group_id=518)
        documents = [{"name": "http_500"}, {"name": "zero_results"}]
        numbers = call(url, ADMIN + "faults", method="POST", body=documents).json["numbers"]
        assert call(url, asked).status == 500
        call(url, f"{ADMIN}faults?number={numbers[0]}", method="DELETE")
        assert call(url, asked).json["data"] == []
        listed = call(url, ADMIN + "faults").json
        assert [(fault["name"], fault["seen"]) for fault in listed["faults"]] == [
            ("zero_results", 2)
        ]
        call(url, ADMIN + "faults", method="DELETE")
        assert len(call(url, asked).json["data"]) == 9
        assert call(url, ADMIN + "faults", method="POST", body={"name": "no"}).status == 400
        assert call(url, f"{ADMIN}faults?number=99", method="DELETE").status == 404


def test_the_catalogue_over_http_is_the_oracle_of_a_day() -> None:
    changes = {"2": {"remove": 4, "edit": 2}}
    with one_source("wanted", "872", 9, changes=changes, closed_rows=1) as server:
        asked = f"{ADMIN}catalogue?platform=wanted&key=872"
        first = call(server.base_url, f"{asked}&run_date=2026-12-01").json
        second = call(server.base_url, f"{asked}&run_date=2026-12-02").json
        assert second["ids"] == server.catalogue("wanted", "872", date(2026, 12, 2))
        unknown = call(server.base_url, f"{ADMIN}catalogue?platform=wanted&key=nobody")
    assert (first["count"], second["count"], second["day"]) == (9, 5, 2)
    assert set(first["ids"]) - set(second["ids"]) == set(second["gone"])
    assert len(second["edited"]) == 2
    assert first["inactive"] == first["ids"][-1:]
    assert unknown.status == 404


def test_a_scenario_is_replaced_over_http() -> None:
    with one_source("wanted", "518", 9) as server:
        server.add_fault({"name": "http_500"})
        rule = {"platform": "wanted", "key": "518", "count": 3}
        faults = [{"name": "http_403", "page": 1}]
        document = {"sources": [rule], "faults": faults}
        state = call(server.base_url, ADMIN + "scenario", method="POST", body=document).json
        page = call(server.base_url, target(WANTED_CHAOS, job_group_id=518)).json
        refused = call(server.base_url, ADMIN + "scenario", method="POST", body={"source": 1})
        kept = call(server.base_url, ADMIN).json
    assert len(page["data"]) == 3
    assert [fault["name"] for fault in state["faults"]] == ["http_403"]
    assert refused.status == 400
    assert kept["sources"] == state["sources"]


def test_the_log_is_read_in_parts_over_http() -> None:
    with one_source("wanted", "518", 9) as server:
        asked = target(WANTED_CHAOS, job_group_id=518)
        for _ in range(3):
            call(server.base_url, asked)
        part = call(server.base_url, ADMIN + "log?since=2").json
        call(server.base_url, ADMIN + "log", method="DELETE")
        empty = call(server.base_url, ADMIN + "log").json
    assert (len(part["records"]), part["next"]) == (1, 3)
    assert empty == {"records": [], "next": 0}


def test_admin_requests_are_neither_logged_nor_disturbed() -> None:
    with one_source("wanted", "518", 9) as server:
        server.add_fault({"name": "http_500"})
        assert call(server.base_url, ADMIN).status == 200
        assert server.records() == []


def test_each_platform_can_have_a_port_of_its_own() -> None:
    rule = {"platform": "wanted", "key": "518", "count": 9}
    with SimulatorServer(scenario={"sources": [rule]}, separate_ports=True) as server:
        urls = server.exports()
        page = call(urls["COLLECTION_WANTED_BASE_URL"], target(WANTED_CHAOS, job_group_id=518)).json
    assert len(page["data"]) == 9
    assert len({url for name, url in urls.items() if name.endswith("_BASE_URL")}) == 7


def test_only_this_machine_is_served() -> None:
    with pytest.raises(NotLoopbackError):
        SimulatorServer(host="0.0.0.0")

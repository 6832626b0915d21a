"""The simulated register: the wire contract of platforms.md section 5, read without the client."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from collection_pipeline.simulator.fault_plan import FaultError
from collection_pipeline.simulator.library_columns import KOREAN_NAMES
from collection_pipeline.simulator.library_csv import LibraryCsvError
from collection_pipeline.simulator.scenario import ScenarioError
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.library_reading import KEY, library_simulator
from collection_pipeline_tests.kit.simulator_calls import Answer, call, saramin

PATH = "/openapi/tn_pubr_public_lbrry_api"
ENCODED = quote(KEY, safe="")
COUNT = 25
CHANGES = {"2": {"remove": 3, "add": 2, "edit": 4}, "3": {"restore": 1}}


@pytest.fixture(scope="module")
def running() -> Iterator[SimulatorServer]:
    with library_simulator(count=COUNT, changes=CHANGES) as server:
        yield server


@pytest.fixture
def server(running: SimulatorServer) -> Iterator[SimulatorServer]:
    yield running
    running.clear_faults()
    running.set_day("2026-12-01")


def _get(server: SimulatorServer, key: str = ENCODED, **given: object) -> Answer:
    query = "&".join(f"{name}={value}" for name, value in ({"type": "json"} | given).items())
    return call(server.base_url, f"{PATH}?serviceKey={key}&{query}")


def _body(server: SimulatorServer, **given: object) -> Any:
    return _get(server, ENCODED, **given).json["body"]


def _code(answer: Answer) -> str:
    return str(answer.json["header"]["resultCode"])


def test_the_form_of_2026_has_no_wrapper_and_rows_in_item(server: SimulatorServer) -> None:
    """Section 5.1 b."""
    answer = _get(server, pageNo=2, numOfRows=10)
    assert answer.json["header"] == {"resultCode": "00", "resultMsg": "NORMAL_SERVICE"}
    body = answer.json["body"]
    counts = {name: body[name] for name in ("totalCount", "numOfRows", "pageNo")}
    assert counts == {"totalCount": COUNT, "numOfRows": 10, "pageNo": 2}
    assert len(body["items"]["item"]) == 10
    assert _body(server, pageNo=25, numOfRows=1)["items"]["item"]["ctprvnNm"] == "서울특별시"


def test_the_form_before_has_a_wrapper_a_list_and_counts_as_texts() -> None:
    """Section 5.1 a."""
    with library_simulator(count=COUNT, envelope="wrapped") as server:
        document = _get(server, numOfRows=10).json["response"]
        assert document["header"]["type"] == "json"
        assert document["body"]["totalCount"] == str(COUNT)
        assert document["body"]["pageNo"] == "1"
        assert [type(row) for row in document["body"]["items"]] == [dict] * 10


def test_rows_have_28_columns_of_texts_and_unique_keys() -> None:
    """Section 5.4, 5.5: provider and name together are unique, names alone are not."""
    with library_simulator(count=1_000) as server:
        rows = _body(server, numOfRows=1_000)["items"]["item"]
    assert {tuple(row) for row in rows} == {tuple(KOREAN_NAMES)}
    assert {type(text) for row in rows for text in row.values()} == {str}
    names = [row["lbrryNm"].strip() for row in rows]
    assert len({(row["insttCode"], name) for row, name in zip(rows, names, strict=True)}) == 1_000
    assert len(set(names)) < 1_000
    for name in ("plotAr", "phoneNumber", "homepageUrl", "latitude"):
        assert 0 < [row[name] for row in rows].count("") < 1_000
    assert any(row["weekdayOperColseHhmm"] == "24:00" for row in rows)
    assert any(row["lbrryNm"] != row["lbrryNm"].strip() for row in rows)


def test_parameters_are_judged_as_documented(server: SimulatorServer) -> None:
    """Section 5: ten rows by default, a thousand at most, page 0 as page 1, filters ignored."""
    assert len(_body(server)["items"]["item"]) == 10
    assert _body(server, pageNo=0, numOfRows=5) == _body(server, pageNo=1, numOfRows=5)
    assert _body(server, CTPRVN=1)["totalCount"] == COUNT
    assert _code(_get(server, pageNo=26, numOfRows=1)) == "03"
    for name, wrong in (("numOfRows", 1_001), ("numOfRows", 0), ("pageNo", "x")):
        assert _code(_get(server, ENCODED, **{name: wrong})) == "10"
    assert call(server.base_url, f"{PATH}?serviceKey={ENCODED}", method="POST").status == 405


def test_without_a_type_the_answer_is_xml(server: SimulatorServer) -> None:
    """Section 5."""
    root = ElementTree.fromstring(_get(server, type="xml", numOfRows=3).text)
    assert (root.tag, len(root.findall("body/items/item"))) == ("response", 3)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (ENCODED, None),
        (KEY.replace("+", "%2B"), None),
        (KEY, "30"),
        (quote(ENCODED, safe=""), "30"),
        ("other", "30"),
        ("", "20"),
    ],
)
def test_the_key_is_decoded_exactly_once(
    server: SimulatorServer, key: str, code: str | None
) -> None:
    """Section 5.2: a bare ``+`` is a blank; a second encoding is another key; the log has none."""
    start = len(server.records())
    answer = _get(server, key)
    (record,) = server.records(start)
    assert record["key_ok"] is (code is None)
    assert record["platform"] == "library"
    assert "s3cretKEY" not in json.dumps(record)
    if code is None:
        assert _code(answer) == "00"
    else:
        root = ElementTree.fromstring(answer.text)
        assert (answer.status, root.tag) == (200, "OpenAPI_ServiceResponse")
        assert root.findtext("cmmMsgHeader/returnReasonCode") == code


def test_the_quota_holds_for_a_day() -> None:
    """Section 5.3: it is counted by accepted key and is new at 00:00 KST."""
    with library_simulator(count=1, quota=2) as server:
        server.set_day("2026-12-01")
        _get(server, "wrong")
        assert [_code(_get(server)) for _ in range(2)] == ["00", "00"]
        assert "<returnReasonCode>22<" in _get(server).text
        server.set_day("2026-12-02")
        assert _code(_get(server)) == "00"


def test_the_register_changes_from_day_to_day_and_the_same_way_again(
    server: SimulatorServer,
) -> None:
    """I8: what was served is known afterwards."""
    days = []
    for day in ("2026-12-01", "2026-12-02", "2026-12-03", "2026-12-02"):
        server.set_day(day)
        rows = _body(server, numOfRows=100)["items"]["item"]
        days.append({f"{row['insttCode']}/{row['lbrryNm'].strip()}": row for row in rows})
        assert list(days[-1]) == server.catalogue("library", "all")
    first, second, third, again = days
    assert (len(first.keys() - second.keys()), len(second.keys() - first.keys())) == (3, 2)
    assert len([key for key in first.keys() & second.keys() if first[key] != second[key]]) == 4
    assert len(third.keys() & first.keys() - second.keys()) == 1
    assert again == second


@pytest.mark.parametrize("carrier", ["gateway_xml", "gateway_json", "service", "flat"])
@pytest.mark.parametrize("status", [200, 403])
def test_every_carrier_of_an_error_can_be_had(
    server: SimulatorServer, carrier: str, status: int
) -> None:
    """Section 5.3, written out by hand."""
    name = "LIMITED NUMBER OF SERVICE REQUESTS EXCEEDS ERROR"
    server.add_fault(
        {"name": "library_error", "carrier": carrier, "code": 22, "status": status, "spaced": True}
    )
    answer = _get(server)
    bodies = {
        "gateway_xml": "<OpenAPI_ServiceResponse><cmmMsgHeader><errMsg>SERVICE ERROR</errMsg>"
        f"<returnAuthMsg>{name}</returnAuthMsg><returnReasonCode>22</returnReasonCode>"
        "</cmmMsgHeader></OpenAPI_ServiceResponse>",
        "gateway_json": {
            "OpenAPI_ServiceResponse": {
                "cmmMsgHeader": {
                    "errMsg": "SERVICE ERROR",
                    "returnAuthMsg": name,
                    "returnReasonCode": "22",
                }
            }
        },
        "service": {"header": {"resultCode": "22", "resultMsg": name}},
        "flat": {"responseTime": "2026-12-01T00:00:00", "resultCode": "22", "resultMsg": name},
    }
    assert answer.status == status
    assert (answer.text if carrier == "gateway_xml" else answer.json) == bodies[carrier]


def test_the_forms_of_a_page_can_be_had(server: SimulatorServer) -> None:
    """Section 5.1: commas before the bracket, other names, nothing for items, another charset."""
    server.add_fault({"name": "library_form", "commas": True, "count": 1})
    text = _get(server, numOfRows=1).text
    assert '",}]' in text
    assert json.loads(text.replace('",}]', '"}]')) == {
        "header": {"resultCode": "00", "resultMsg": "NORMAL_SERVICE"},
        "body": _body(server, numOfRows=1)
        | {"items": [_body(server, numOfRows=1)["items"]["item"]]},
    }
    server.add_fault({"name": "library_form", "names": "korean", "count": 1})
    assert "도서관명" in _body(server, numOfRows=1)["items"]["item"]
    server.add_fault({"name": "library_form", "charset": "cp949"})
    assert "도서관" in _get(server, numOfRows=1).body.decode("cp949")
    server.clear_faults()
    server.add_fault({"name": "zero_results"})
    server.add_fault({"name": "library_form", "items": "text"})
    assert (_body(server)["items"], _body(server)["totalCount"]) == ("", 0)


def test_faults_of_the_register_fall_on_nothing_else(server: SimulatorServer) -> None:
    """A plan without a platform must not spoil the postings."""
    server.add_fault({"name": "library_error"})
    assert "jobs" in call(server.base_url, saramin("backend")).json
    with pytest.raises(FaultError, match="carrier"):
        server.add_fault({"name": "library_error", "carrier": "null"})


@pytest.mark.parametrize(
    "rule",
    [{"cuont": 1}, {"count": -1}, {"quota": 0}, {"envelope": "new"}, {"changes": {"1": {}}}],
)
def test_a_misspelt_register_is_refused(rule: dict[str, Any]) -> None:
    """A typing error would silently give a different simulation."""
    with pytest.raises(ScenarioError):
        library_simulator(**rule)


def _csv(*rows: list[str]) -> str:
    lines = [list(KOREAN_NAMES.values()), *rows]
    return "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


ROW = [f"값{place}" for place in range(28)]


@pytest.mark.parametrize("encoding", ["cp949", "utf-8", "utf-8-sig"])
def test_a_file_takes_the_place_of_invented_rows(tmp_path: Path, encoding: str) -> None:
    """Section 5.5: the portal's file is CP949; its cells are served untouched, in its order."""
    path = tmp_path / "libraries.csv"
    path.write_text(_csv(ROW, [" 나 ", *ROW[1:]]), encoding=encoding)
    with SimulatorServer(library_csv=path, service_key=KEY) as server:
        body = _body(server)
    assert body["totalCount"] == 2
    assert [row["lbrryNm"] for row in body["items"]["item"]] == ["값0", " 나 "]
    assert list(body["items"]["item"][0].values()) == ROW


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("도서관명,시도명\na,b\n", "no column"),
        (_csv(ROW, ROW[:-1]), "line 3 has 27 cells"),
        (_csv(ROW) + '"open', "not CSV"),
        ("", "no column"),
    ],
)
def test_a_file_that_is_no_register_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """Serving a part of it would be another simulation."""
    path = tmp_path / "libraries.csv"
    path.write_text(text, encoding="cp949")
    with pytest.raises(LibraryCsvError, match=words):
        SimulatorServer(library_csv=path)


def test_the_process_serves_the_file_and_prints_address_and_key(tmp_path: Path) -> None:
    """The exports are all that a client needs."""
    path = tmp_path / "libraries.csv"
    path.write_text(_csv(ROW), encoding="cp949")
    command = [sys.executable, "-m", "collection_pipeline.simulator", "--library-csv", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            exports: dict[str, str] = {}
            while "COLLECTION_SARAMIN_ACCESS_KEY" not in exports:
                name, _, value = process.stdout.readline().strip().partition("=")
                exports[name.removeprefix("export ")] = value
            key = quote(exports["COLLECTION_LIBRARY_SERVICE_KEY"], safe="")
            target = f"{PATH}?serviceKey={key}&type=json"
            answer = call(exports["COLLECTION_LIBRARY_BASE_URL"], target)
        finally:
            process.terminate()
    assert answer.json["body"]["items"]["item"]["lbrryNm"] == "값0"

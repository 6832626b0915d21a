"""The simulator's bodies have the shapes of the platforms' wire contracts."""

import gzip
import json
import re
from html import unescape
from uuid import UUID
from xml.etree import ElementTree

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import (
    ACCESS_KEY,
    JUMPIT,
    SARAMIN,
    WANTED_CHAOS,
    WANTED_V4,
    call,
    one_source,
    saramin,
    target,
)


def test_a_wanted_v4_row_has_a_deadline_a_status_and_a_list_of_categories() -> None:
    with one_source("wanted", "872", 60, closed_rows=2) as server:
        page = call(server.base_url, target(WANTED_V4, tag_type_ids=872, limit=100)).json
    rows = page["data"]
    assert len(rows) == 60
    assert all({"due_time", "status", "category_tags", "position"} <= set(row) for row in rows)
    assert all(isinstance(row["id"], int) for row in rows)
    assert all(isinstance(row["category_tags"], list) for row in rows)
    deadlines = {row["due_time"] for row in rows}
    assert None in deadlines
    assert any(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in deadlines if day)
    assert [row["status"] for row in rows].count("close") == 2


def test_a_wanted_chaos_row_has_no_deadline_no_status_and_one_category() -> None:
    with one_source("wanted", "518", 30) as server:
        page = call(server.base_url, target(WANTED_CHAOS, job_group_id=518, limit=100)).json
    assert set(page) == {"data", "links"}
    for row in page["data"]:
        assert not {"due_time", "status", "category_tags"} & set(row)
        assert isinstance(row["category_tag"], dict)
        assert "full_location" not in row["address"]
        assert all(isinstance(skill, int) for skill in row["skill_tags"])


def test_the_wanted_details_nest_the_title_in_different_places() -> None:
    with one_source("wanted", "518", 40) as server:
        ids = server.catalogue("wanted", "518")
        v4 = call(server.base_url, f"/api/v4/jobs/{ids[0]}").json
        chaos = call(server.base_url, f"/api/chaos/jobs/v4/{ids[0]}/details").json
        dues = [
            call(server.base_url, f"/api/v4/jobs/{item}").json["job"]["due_time"] for item in ids
        ]
    assert v4["job"]["position"] == chaos["data"]["job"]["detail"]["position"]
    assert "position" not in chaos["data"]["job"]
    assert chaos["data"]["job"]["name"] is None
    assert "title" in v4["job"]["skill_tags"][0]
    assert {"text", "tag_type_id"} <= set(chaos["data"]["skill_tags"][0])
    assert any(due and due.endswith("T00:00:00") for due in dues)


def test_saramin_says_numbers_as_strings_and_names_with_entities() -> None:
    with one_source("saramin", "backend", 110) as server:
        body = call(server.base_url, saramin("backend", count=110)).json
    jobs = body["jobs"]
    assert (jobs["count"], jobs["start"], jobs["total"]) == (110, 0, "110")
    for job in jobs["job"]:
        assert isinstance(job["id"], str)
        assert job["posting-timestamp"].isdigit()
        assert "&gt;" in job["position"]["location"]["name"]
        assert isinstance(job["position"]["experience-level"]["code"], int)
    assert any("salary" not in job for job in jobs["job"])
    assert any("href" not in job["company"]["detail"] for job in jobs["job"])
    names = {unescape(job["company"]["detail"]["name"]) for job in jobs["job"]}
    assert any(name.startswith("(주)") for name in names)
    assert any(name.startswith("주식회사 ") for name in names)


def test_saramin_gives_an_expiration_to_some_rows_without_a_deadline_and_not_to_others() -> None:
    with one_source("saramin", "backend", 110) as server:
        jobs = call(server.base_url, saramin("backend", count=110)).json["jobs"]["job"]
    dated = [job for job in jobs if job["close-type"]["code"] == "1"]
    undated = [job for job in jobs if job["close-type"]["code"] in ("2", "3", "4")]
    assert {job["close-type"]["code"] for job in jobs} == {"1", "2", "3", "4"}
    assert all(int(job["expiration-timestamp"]) % 86_400 == 14 * 3600 + 3599 for job in dated)
    assert {"expiration-timestamp" in job for job in undated} == {True, False}


def test_one_saramin_row_is_an_object_and_no_row_an_empty_list() -> None:
    scenario = {"sources": [{"platform": "saramin", "key": "single", "count": 1}]}
    with SimulatorServer(scenario=scenario) as server:
        single = call(server.base_url, saramin("single")).json["jobs"]
        nothing = call(server.base_url, saramin("nobody knows")).json["jobs"]
    assert isinstance(single["job"], dict)
    assert single["total"] == "1"
    assert nothing["job"] == []
    assert nothing["total"] == "0"


def test_saramin_answers_xml_unless_json_is_asked_for() -> None:
    with one_source("saramin", "backend", 12) as server:
        answer = call(server.base_url, saramin("backend"), {"Accept": "*/*"})
        refused = call(server.base_url, SARAMIN, {"Accept": "*/*"})
    jobs = ElementTree.fromstring(answer.body).find("jobs")
    assert jobs is not None
    assert jobs.attrib == {"count": "10", "start": "0", "total": "12"}
    assert len(jobs.findall("job")) == 10
    assert jobs.findtext("job/position/title")
    assert ElementTree.fromstring(refused.body).findtext("code") == "1"


def test_saramin_refuses_a_missing_and_a_wrong_key_with_200() -> None:
    with one_source("saramin", "backend", 12) as server:
        missing = call(server.base_url, target(SARAMIN, keywords="backend"))
        wrong = call(server.base_url, saramin("backend", key="guess"))
        number = call(server.base_url, target(SARAMIN, access__key=ACCESS_KEY, start="x"))
    assert [answer.status for answer in (missing, wrong, number)] == [200, 200, 200]
    assert [answer.json["code"] for answer in (missing, wrong, number)] == [1, 2, 3]
    assert "jobs" not in wrong.json


def test_jumpit_lists_and_details_spell_the_same_posting_differently() -> None:
    with one_source("jumpit", "1", 60) as server:
        body = call(server.base_url, target(JUMPIT, jobCategory=1, page=1)).json
        rows = body["result"]["positions"]
        detail = call(server.base_url, f"/api/position/{rows[0]['id']}").json
    assert (body["code"], body["result"]["totalCount"], len(rows)) == ("P004", 60, 16)
    assert {"scrapCount" in row for row in rows} == {True, False}
    assert isinstance(rows[0]["techStacks"][0], str)
    assert detail["code"] == "C001"
    assert detail["result"]["title"] == rows[0]["title"]
    assert [entry["stack"] for entry in detail["result"]["techStacks"]] == rows[0]["techStacks"]
    assert {"qualifications", "publishedAt", "jobCategories"} <= set(detail["result"])


def test_jumpit_has_both_forms_of_always_open() -> None:
    with one_source("jumpit", "1", 160) as server:
        rows = [
            row
            for page in range(1, 11)
            for row in call(server.base_url, target(JUMPIT, jobCategory=1, page=page)).json[
                "result"
            ]["positions"]
        ]
    endless = {row["closedAt"] for row in rows if row["alwaysOpen"]}
    dated = [row["closedAt"] for row in rows if not row["alwaysOpen"]]
    assert endless == {None, "9999-12-31T23:59:59"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT23:59:59", closed) for closed in dated)


def test_a_jumpit_keyword_puts_spans_into_titles() -> None:
    with one_source("jumpit", "엔지니어", 16) as server:
        plain = call(server.base_url, f"/api/position/{server.catalogue('jumpit', '엔지니어')[0]}")
        rows = call(server.base_url, target(JUMPIT, keyword="엔지니어")).json["result"]["positions"]
    assert all("<span>" in row["title"] and "</span>" in row["title"] for row in rows)
    stripped = re.sub(r"</?span>", "", rows[0]["title"])
    assert stripped == plain.json["result"]["title"]


def test_a_missing_jumpit_position_is_a_400_with_its_own_code() -> None:
    with one_source("jumpit", "1", 1) as server:
        gone = call(server.base_url, "/api/position/7")
        plural = call(server.base_url, f"/api/positions/{server.catalogue('jumpit', '1')[0]}")
    assert (gone.status, gone.json["code"]) == (400, "C003")
    assert plural.status == 404


def test_greenhouse_gives_the_whole_board_with_escaped_content() -> None:
    with one_source("greenhouse", "daangn-demo", 45) as server:
        path = "/v1/boards/daangn-demo/jobs"
        body = call(server.base_url, f"{path}?content=true").json
        bare = call(server.base_url, path).json
        unknown = call(server.base_url, "/v1/boards/nobody/jobs")
    assert body["meta"]["total"] == len(body["jobs"]) == 45
    for job in body["jobs"]:
        assert job["id"] > 2**32
        assert re.search(r"-0[45]:00$", job["updated_at"])
        assert job["content"].startswith("&lt;")
        assert unescape(job["content"]).startswith("<div")
    assert {job["metadata"] is None for job in body["jobs"]} == {True, False}
    assert "content" not in bare["jobs"][0]
    assert unknown.status == 404
    assert unknown.json["error"]


def test_lever_gives_a_bare_array_and_knows_its_region() -> None:
    rules = [
        {"platform": "lever", "key": "asia", "count": 12},
        {"platform": "lever", "key": "euro", "count": 3, "eu": True},
    ]
    with SimulatorServer(scenario={"sources": rules}) as server:
        rows = call(server.base_url, "/v0/postings/asia?mode=json").json
        eu_rows = call(server.lever_eu_base_url, "/v0/postings/euro?mode=json").json
        strangers = [
            call(server.base_url, "/v0/postings/euro?mode=json"),
            call(server.lever_eu_base_url, "/v0/postings/asia?mode=json"),
            call(server.base_url, "/v0/postings/nobody?mode=json"),
        ]
        page = call(server.base_url, "/v0/postings/asia", {"Accept": "text/html"})
    assert isinstance(rows, list)
    assert len(eu_rows) == 3
    assert all(str(UUID(row["id"])) == row["id"] for row in rows)
    assert all(row["createdAt"] > 10**12 for row in rows)
    for answer in strangers:
        assert answer.status == 404
        assert answer.json == {"ok": False, "error": "Document not found"}
    assert page.headers["content-type"].startswith("text/html")


def test_a_client_that_accepts_gzip_gets_the_same_body_packed() -> None:
    with one_source("greenhouse", "board", 20) as server:
        path = "/v1/boards/board/jobs?content=true"
        plain = call(server.base_url, path, {"Accept-Encoding": "identity"})
        packed = call(server.base_url, path, {"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body)) == plain.json

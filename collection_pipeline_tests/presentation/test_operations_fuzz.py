"""The API fuzzed from its own OpenAPI document, over a filled database (schemathesis).

The oracle is the document: no 5xx, only documented statuses and content types, every body of its
schema, nothing accepted that the document forbids, no method that it does not name.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import truth_table
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.operations_client import (
    RUNS_PATH,
    Operations,
    add_run,
    opened_operations,
    set_service_time,
)

EXAMPLES = {RUNS_PATH: 60, "/healthz": 5, "/metrics": 5}
CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture
def filled(store: Store) -> Iterator[Operations]:
    """The service at noon over a database in which every kind of row is there."""
    store.gate.ensure_headers()
    store.write("UPDATE job_posting_collection_sla_snapshots SET capture_status = 'CAPTURED'")
    for line in truth_table():
        source = store.add_source("wanted")
        store.add_cycle(
            source,
            line.status,
            is_complete=int(line.is_complete),
            fetched_count=int(line.fetched),
            continuation_cursor="{}",
        )
        add_run(store, source, DAY - timedelta(days=1), "FAILED", failure_reason="\u202e<script>")
        store.write(
            "INSERT INTO job_posting_collection_sla_snapshot_items (snapshot_id, job_source_id, "
            "source_label, cycle_status) SELECT id, :source, 'a', :status "
            "FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day",
            source=source,
            status=line.status.value,
            day=DAY,
        )
    store.write(
        "INSERT INTO collection_ticks (tick_id, worker, started_at) VALUES ('t', 'w', :at)",
        at=NOON,
    )
    set_service_time(store)
    with opened_operations(store.url) as opened:
        yield opened


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", EXAMPLES)
def test_no_request_of_the_document_breaks_the_service(
    filled: Operations, path: str, mode: GenerationMode
) -> None:
    """Section 9: the document is exact, and nothing that it can describe is a 5xx."""
    address = str(filled.client.base_url)
    schema = schemathesis.openapi.from_dict(filled.get("/openapi.json").json())
    operation = schema[path]["GET"]
    if mode is GenerationMode.NEGATIVE and path != RUNS_PATH:
        assert not list(operation.iter_parameters())
        return
    answered: set[int] = set()

    @settings(
        max_examples=EXAMPLES[path],
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def fuzz(case: Any) -> None:
        answer = case.call(base_url=address, session=session)
        answered.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    with requests.Session() as session:
        fuzz()
    if path == RUNS_PATH:
        assert answered >= ({200} if mode is GenerationMode.POSITIVE else {422})
    else:
        assert answered == {200}


def test_the_document_is_complete(filled: Operations) -> None:
    """Section 9: the three addresses, read-only, each parameter, and problems for every error."""
    document = filled.get("/openapi.json").json()
    assert set(document["paths"]) == set(EXAMPLES)
    assert all(set(operations) == {"get"} for operations in document["paths"].values())
    operation = document["paths"][RUNS_PATH]["get"]
    assert [one["name"] for one in operation["parameters"]] == [
        "from",
        "to",
        "jobSourceId",
        "status",
        "limit",
        "after",
        "snapshotDate",
    ]
    assert set(operation["responses"]) == {"200", "400", "421", "422", "500", "503"}
    for status in ("421", "422", "500", "503"):
        assert list(operation["responses"][status]["content"]) == ["application/problem+json"]
    snapshot = document["components"]["schemas"]["SlaSnapshot"]
    assert "items" not in snapshot["required"]
    assert set(snapshot["properties"]["captureStatus"]["enum"]) == {
        "PENDING",
        "CAPTURED",
        "MISSED",
        "NOT_APPLICABLE",
        "UNAVAILABLE",
    }
    assert set(CycleStatus) == set(document["components"]["schemas"]["CycleStatus"]["enum"])
    assert "securitySchemes" not in document["components"]


def test_the_document_names_the_token_where_one_is_needed(store: Store) -> None:
    """OpenAPI: bearer or basic; health can be asked without."""
    token = "planted-token-4711"
    with opened_operations(store.url, token=token) as operations:
        headers = {"Authorization": f"Bearer {token}"}
        document = operations.client.get("/openapi.json", headers=headers).json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "basic"}
    paths = document["paths"]
    assert paths[RUNS_PATH]["get"]["security"] == [{"bearer": []}, {"basic": []}]
    assert {} in paths["/healthz"]["get"]["security"]
    assert "401" in paths[RUNS_PATH]["get"]["responses"]
    assert token not in str(document)

"""Errors of the operations service are problem details that say what to write (RFC 9457)."""

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, text

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.html_reading import read_html
from collection_pipeline_tests.kit.operations_client import (
    RUNS_PATH,
    Operations,
    opened_operations,
)
from collection_pipeline_tests.kit.servers import create_database, drop_database

HIDDEN = "hidden-word"


@pytest.fixture(scope="module")
def operations(migrated_url: str) -> Iterator[Operations]:
    """One service for all: what is wrong with a request does not depend on what is stored."""
    with opened_operations(migrated_url) as opened:
        yield opened


def the_problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem details of an answer, which must be well formed."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert list(document) == ["type", "title", "status", "detail", "instance", "errors"]
    assert (document["type"], document["status"]) == ("about:blank", status)
    assert document["title"] == httpx.codes.get_reason_phrase(status) or status == 422
    assert document["instance"] == answer.request.url.path
    return document


@pytest.mark.parametrize(
    ("query", "parameter", "said"),
    [
        ("limit=0", "limit", "from 1 to 500"),
        ("limit=501", "limit", "from 1 to 500"),
        ("limit=1.0", "limit", "from 1 to 500"),
        ("limit=%2B5", "limit", "from 1 to 500"),
        ("limit=", "limit", "from 1 to 500"),
        ("jobSourceId=0", "jobSourceId", "whole number from 1"),
        ("jobSourceId=9223372036854775808", "jobSourceId", "whole number from 1"),
        ("jobSourceId=1_0", "jobSourceId", "whole number from 1"),
        ("jobSourceId=%D9%A1", "jobSourceId", "whole number from 1"),
        ("status=success", "status", "NOT_STARTED, PENDING"),
        ("status=CAPTURING", "status", "BUDGET_EXHAUSTED"),
        ("from=2026-12-1", "from", "YYYY-MM-DD"),
        ("from=2026-02-30", "from", "YYYY-MM-DD"),
        ("to=20261201", "to", "YYYY-MM-DD"),
        ("to=1764547200", "to", "YYYY-MM-DD"),
        ("to=0999-12-31", "to", "YYYY-MM-DD"),
        ("snapshotDate=2026-12-01T00:00:00", "snapshotDate", "YYYY-MM-DD"),
        ("from=2026-12-02&to=2026-12-01", "from", "not after `to`"),
        ("after=abc", "after", "nextAfter"),
        ("after=0000000000000000000001", "after", "nextAfter"),
        ("after=ffffff0000000000000001", "after", "nextAfter"),
        ("after=0b4e4effffffffffffffff", "after", "nextAfter"),
        ("jobSourceID=1", "jobSourceID", "no such parameter"),
        ("page=2", "page", "no such parameter"),
        ("status=FAILED&status=SUCCESS", "status", "write it once"),
        ("limit=5&limit=5", "limit", "write it once"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_to_write(
    operations: Operations, query: str, parameter: str, said: str
) -> None:
    """Section 9: unknown, repeated and bad parameters are refused, each with what to write."""
    (error,) = the_problem(operations.client.get(f"{RUNS_PATH}?{query}"), 422)["errors"]
    assert error["parameter"] == parameter
    assert said in error["detail"]


def test_every_wrong_parameter_is_named_once(operations: Operations) -> None:
    """RFC 9457: one answer tells all; the value that came is not sent back."""
    answer = operations.get(RUNS_PATH, limit=HIDDEN, status=HIDDEN, nonsense=HIDDEN)
    errors = the_problem(answer, 422)["errors"]
    assert [error["parameter"] for error in errors] == ["status", "limit", "nonsense"]
    assert HIDDEN not in answer.text


@pytest.mark.parametrize(
    "path", ["/api/operations/collection-runs/", "/api", "/docs", "/x?token=a"]
)
def test_an_unknown_address_is_a_problem_too(operations: Operations, path: str) -> None:
    """RFC 9457: 404, without the query; there is no page that loads from other hosts."""
    assert the_problem(operations.client.get(path), 404)["errors"] == []


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("path", "accept", "is_page"),
    [
        ("/docs", BROWSER, True),
        ("/sources/1/", "TEXT/HTML", True),
        ("/apis", BROWSER, True),
        ("/docs", "*/*", False),
        ("/docs", "text/html;q=0", False),
        ("/docs", "text/html;q=0.5, application/json", False),
        ("/api/nothing", BROWSER, False),
        ("/healthz/", BROWSER, False),
        ("/static/none.css", BROWSER, False),
    ],
)
def test_an_unknown_address_is_a_page_for_a_browser(
    operations: Operations, path: str, accept: str, is_page: bool
) -> None:
    """Section 9: 404 in the form that was asked for; what programs ask is never a page."""
    answer = operations.client.get(path, headers={"Accept": accept})
    if not is_page:
        the_problem(answer, 404)
        return
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "404" in read_html(answer.text).one("div", "problem").text


def test_the_page_of_an_unknown_address_leads_nowhere_else(operations: Operations) -> None:
    """A path that begins with two slashes would name a host in its link to the other language."""
    base = operations.client.base_url
    url = httpx.URL(scheme=base.scheme, host=base.host, port=base.port, raw_path=b"//evil.test/x")
    answer = operations.client.get(url, headers={"Accept": BROWSER})
    assert answer.status_code == 404
    other = read_html(answer.text).one("a", "language").attributes["href"]
    assert other == "/evil.test/x?lang=en"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", [RUNS_PATH, "/nowhere"])
def test_only_get_and_head_exist(operations: Operations, method: str, path: str) -> None:
    """Section 9: read-only; 405 says what is allowed."""
    answer = operations.client.request(method, path)
    the_problem(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", [RUNS_PATH, "/metrics", "/openapi.json", "/nowhere"])
def test_head_answers_as_get_without_the_body(operations: Operations, path: str) -> None:
    """HTTP: same status, same type, no byte."""
    got, head = operations.client.get(path), operations.client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    assert int(head.headers["content-length"]) > 0


@pytest.mark.parametrize("path", [RUNS_PATH, "/healthz", "/metrics", "/openapi.json", "/nowhere"])
def test_every_answer_carries_the_security_headers(operations: Operations, path: str) -> None:
    """Errors too: nothing may be framed, sniffed, stored or sent on."""
    headers = operations.client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


def test_a_defect_is_a_problem_that_tells_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """R29: 500 without a traceback; the log has the kind and the place, not what the error says."""
    with opened_operations(store.url) as operations:

        def failing(*_: object) -> None:
            raise RuntimeError(HIDDEN)

        operations.context.clock.now = failing  # type: ignore[method-assign,assignment]  # meant
        with caplog.at_level(logging.DEBUG):
            answer = operations.get(RUNS_PATH)
        the_problem(answer, 500)
        assert answer.headers["cache-control"] == "no-store"
        assert HIDDEN not in answer.text + caplog.text
        assert "RuntimeError" in caplog.text and "test_operations_problems.py:" in caplog.text


def test_a_statement_that_the_server_refuses_is_a_defect(store: Store) -> None:
    """A mistake of ours must not look like an outage, for which one waits."""
    with opened_operations(store.url) as operations:

        def mistaken(connection: Connection) -> object:
            return connection.execute(text("SELECT nonsense nonsense nonsense"))

        operations.context.clock.now = mistaken  # type: ignore[method-assign,assignment]  # meant
        the_problem(operations.get(RUNS_PATH), 500)


def test_an_absent_database_is_a_problem_that_says_when_to_come_back() -> None:
    """503 with Retry-After; neither password nor address are shown."""
    url = f"mysql://me:{HIDDEN}@127.0.0.1:1/queue"
    with opened_operations(url) as operations:
        answer = operations.get(RUNS_PATH)
    document = the_problem(answer, 503)
    assert int(answer.headers["retry-after"]) > 0
    assert "does not answer" in document["detail"]
    assert HIDDEN not in answer.text


def test_an_older_schema_is_a_problem_that_says_what_to_run(
    database_server: PrivateServer,
) -> None:
    """R34: expand-only, but this release's columns must be there."""
    url = create_database(database_server)
    try:
        with opened_operations(url) as operations:
            document = the_problem(operations.get(RUNS_PATH), 503)
    finally:
        drop_database(database_server, url)
    assert "collection-pipeline db migrate" in document["detail"]

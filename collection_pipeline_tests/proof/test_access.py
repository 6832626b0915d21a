"""Every address of the operations service, as the process that others can reach (R29, section 9).

The addresses are the application's own list, so one that is added later is asked here too.
"""

import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from starlette.routing import BaseRoute, Mount, Route

from collection_pipeline.operations.app import STATIC_FOLDER, create_app
from collection_pipeline.operations.context import open_context
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.command_line import CommandLine, finished
from collection_pipeline_tests.kit.database import PLATFORMS
from collection_pipeline_tests.kit.operations_client import RUNS_PATH
from collection_pipeline_tests.kit.proof import record
from collection_pipeline_tests.kit.simulator_calls import Answer, call

TOKEN = "planted-token-4711/+"
PORT_OF = re.compile(r"http://0\.0\.0\.0:([0-9]+)")
GARBAGE_LINE = "WARNING:  Invalid HTTP request received."
METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "FOO")
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
CSP = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
UNWANTED_HEADERS = (
    *("server", "x-powered-by", "set-cookie", "via", "location", "access-control-allow-origin"),
    *("access-control-allow-credentials", "access-control-allow-methods", "link", "refresh"),
)
"""Banners, sessions, permissions to other origins, and ways to somewhere else."""
TRICKS = (
    *("//", "//healthz", "/healthz/", "/HEALTHZ", "/healthz;x", "/healthz%00", "/./healthz/../"),
    *("/healthz%2f..%2fmetrics", "/%2e%2e/metrics", "/static/../metrics", "/static//style.css"),
    *("/static/%2e%2e/routes.py", "/static/..%2froutes.py", "/static/%5c..%5croutes.py"),
    *("/static/%2fetc%2fpasswd", "/static/", "/docs", "/redoc", "/api", "/metrics/", "/.env"),
    *("/" + "x" * 2_000, "/%ff", "/?token=" + TOKEN, f"{RUNS_PATH}?access_token={TOKEN}"),
)


SAME_PLACE = ("/static//style.css", f"/?token={TOKEN}")
"""The only ones that name something which is there."""


@dataclass(frozen=True)
class Service:
    """A service beyond loopback, asked as it is and with its token."""

    port: int

    def ask(
        self, path: str, method: str = "GET", *, token: str | None = None, **headers: str
    ) -> Answer:
        """One answer; the path goes out as it is written, this client tidies nothing up."""
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        return call(f"http://127.0.0.1:{self.port}", path, {**given, **headers}, method)


@pytest.fixture(scope="module")
def service(migrated_url: str) -> Iterator[Service]:
    """``operations --host 0.0.0.0`` with a token."""
    cli = CommandLine({"COLLECTION_DATABASE_URL": migrated_url})
    process = cli.process("operations", "--host", "0.0.0.0", "--port", "0", OPERATIONS_TOKEN=TOKEN)
    try:
        assert process.stdout is not None
        said = PORT_OF.search(process.stdout.readline())
        assert said is not None
        yield Service(int(said[1]))
    finally:
        process.terminate()
        ended = finished(process)
    assert ended.code == 0
    assert set(ended.err.splitlines()) <= {GARBAGE_LINE}, "what was asked is logged"


@pytest.fixture(scope="module")
def addresses(migrated_url: str) -> list[str]:
    """Each of the application's own, with something in the place of a parameter."""
    context = open_context(load_settings({}), migrated_url, None, PLATFORMS)
    try:
        routes = list(every_route(create_app(context, token=TOKEN).routes))
    finally:
        context.close()
    found = [re.sub(r"{[^}]*}", "1", one.path) for one in routes if isinstance(one, Route)]
    files = [f"/static/{file.name}" for file in STATIC_FOLDER.iterdir()]
    assert [one.path for one in routes if isinstance(one, Mount)] == ["/static"]
    assert len(found) == len(routes) - 1, "an address of another kind is asked by nobody here"
    assert {"/", "/healthz", "/metrics", RUNS_PATH, "/sources/1"} <= set(found)
    return [*found, *files]


def every_route(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Those of included routers too."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is None:
            yield route
        else:
            yield from every_route(included.routes)


def test_no_address_says_anything_without_the_token(service: Service, addresses: list[str]) -> None:
    """Section 9: 401 for everything that is and is not there, but one word of health."""
    asked = 0
    for path in (*addresses, "/nowhere", f"{RUNS_PATH}?limit=x", *TRICKS):
        for token in (None, "wrong", TOKEN[:-1], TOKEN.upper(), ""):
            answer = service.ask(path, token=token)
            asked += 1
            if path == "/healthz":
                assert list(answer.json) == ["status"]
                continue
            assert answer.status == 401, f"{path} with {token}"
            assert set(answer.json) <= {"type", "title", "status", "detail", "instance", "errors"}
    record("access", addresses_asked_without_token=asked)


def test_no_way_of_writing_a_path_leaves_the_service(service: Service) -> None:
    """Section 9: with the token too there is nothing but what the service serves."""
    for path in TRICKS:
        answer = service.ask(path, token=TOKEN)
        assert answer.status in {200, 404, 422}, path
        if answer.status == 200:
            assert path in SAME_PLACE, path
        assert "def " not in answer.text and "root:" not in answer.text


def test_every_address_only_reads(service: Service, addresses: list[str]) -> None:
    """Section 9: any other method is refused before the token is even looked at."""
    for path in (*addresses, "/nowhere"):
        for method in METHODS:
            for token in (None, TOKEN):
                answer = service.ask(path, method, token=token)
                assert answer.status == 405, f"{method} {path}"
                assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("token", [None, TOKEN])
def test_every_answer_has_the_headers_and_none_that_tells_or_permits(
    service: Service, addresses: list[str], token: str | None
) -> None:
    """Section 9: pages, documents, files and errors alike, also to another origin's question."""
    statuses = set()
    for path in (*addresses, "/nowhere", f"{RUNS_PATH}?limit=x", "/?day=x", *TRICKS):
        for method in ("GET", "HEAD", "POST"):
            answer = service.ask(path, method, token=token, Origin="https://evil.test")
            statuses.add(answer.status)
            where = f"{method} {path}: {answer.status}"
            assert_secure(answer, where)
            if not path.startswith("/static/"):
                assert answer.headers["cache-control"] == "no-store", where
    wanted = {401, 405} if token is None else {200, 404, 405, 422}
    assert statuses >= wanted


def test_an_answer_that_no_application_made_tells_nothing(service: Service) -> None:
    """What the HTTP parser refuses by itself has no banner and no echo either."""
    for request in (
        b"GARBAGE\r\n\r\n",
        b"GET /planted HTTP/1.x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        said = raw_answer(service.port, request)
        assert said.startswith(b"HTTP/1.1 4"), request
        lowered = said.lower()
        assert b"server:" not in lowered and b"uvicorn" not in lowered
        assert b"planted" not in lowered and b"traceback" not in lowered


def assert_secure(answer: Answer, where: str) -> None:
    """The policy in whole, the other headers, and none of the unwanted ones."""
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy == CSP, where
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers.get(name) == value, f"{where}: {name}"
    assert not set(UNWANTED_HEADERS) & set(answer.headers), where


def raw_answer(port: int, request: bytes) -> bytes:
    """What comes back to bytes that are no good request."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        said = b""
        while data := line.recv(65_536):
            said += data
    return said

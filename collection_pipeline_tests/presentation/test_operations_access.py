"""Who may ask the operations service: names on loopback, the token beyond it (R29)."""

import hmac
import logging
import socket
from base64 import b64encode
from collections.abc import Iterator

import httpx
import pytest

from collection_pipeline.operations.listening import CannotServe, bound, url_of
from collection_pipeline_tests.kit.operations_client import (
    RUNS_PATH,
    Operations,
    opened_operations,
)

TOKEN = "s3cret:wörd/+"
PATHS = [RUNS_PATH, "/metrics", "/openapi.json", "/nowhere", "/", "/static/style.css"]


def basic(user: str, password: str) -> str:
    """The header's value of HTTP Basic, in UTF-8."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def carrying(given: str) -> dict[bytes, bytes]:
    """The header ``Authorization``, in UTF-8."""
    return {b"Authorization": given.encode()}


@pytest.fixture(scope="module")
def guarded(migrated_url: str) -> Iterator[Operations]:
    """The service with a token."""
    with opened_operations(migrated_url, token=TOKEN) as opened:
        yield opened


@pytest.fixture(scope="module")
def local(migrated_url: str) -> Iterator[Operations]:
    """The service on loopback, without a token."""
    with opened_operations(migrated_url) as opened:
        yield opened


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_the_token(guarded: Operations, path: str) -> None:
    """401 for every address, known or not, with both ways in which it may be sent."""
    answer = guarded.client.get(path)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get_list("www-authenticate") == [
        'Bearer realm="collection-pipeline"',
        'Basic realm="collection-pipeline", charset="UTF-8"',
    ]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    "given",
    [
        f"Bearer {TOKEN}",
        f"bearer  {TOKEN}",
        basic("anybody", TOKEN),
        basic("", TOKEN),
        basic("anybody", TOKEN).replace("Basic", "BASIC"),
    ],
)
def test_the_token_opens_everything(guarded: Operations, given: str) -> None:
    """As bearer, or as the password of any user; it may hold a colon and no ASCII."""
    headers = carrying(given)
    assert guarded.client.get(RUNS_PATH, headers=headers).status_code == 200
    assert guarded.client.get("/nowhere", headers=headers).status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Token {TOKEN}",
        TOKEN,
        basic(TOKEN, ""),
        basic(TOKEN, "x"),
        "Basic !!!",
        "Basic " + b64encode(TOKEN.encode()).decode(),
    ],
)
def test_anything_else_opens_nothing(guarded: Operations, given: str) -> None:
    """Neither a part of the token nor the token in the user's place."""
    answer = guarded.client.get(RUNS_PATH, headers=carrying(given))
    assert answer.status_code == 401


def test_the_token_in_the_query_opens_nothing(guarded: Operations) -> None:
    """R29: addresses are kept by browsers, proxies and logs."""
    assert guarded.get(RUNS_PATH, token=TOKEN, access_token=TOKEN).status_code == 401


def test_the_token_is_compared_in_constant_time(
    guarded: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison that ends at the first difference tells the token byte by byte."""
    compared: list[tuple[bytes, bytes]] = []

    def comparing(given: bytes, wanted: bytes) -> bool:
        compared.append((given, wanted))
        return False

    monkeypatch.setattr(hmac, "compare_digest", comparing)
    for given in (f"Bearer {TOKEN}", basic("me", TOKEN)):
        answer = guarded.client.get(RUNS_PATH, headers=carrying(given))
        assert answer.status_code == 401
    assert compared == [(TOKEN.encode(), TOKEN.encode())] * 2


def test_health_says_one_word_without_the_token(guarded: Operations) -> None:
    """A monitor needs no secret, and learns no more than whether it is fit."""
    bare = guarded.client.get("/healthz")
    assert list(bare.json()) == ["status"]
    full = guarded.client.get("/healthz", headers=carrying(basic("me", TOKEN)))
    assert list(full.json()) == ["status", "checks"]
    assert (bare.status_code, bare.json()["status"]) == (full.status_code, full.json()["status"])


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:3001", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:3001"],
)
def test_loopback_is_served_under_its_own_names(local: Operations, host: str) -> None:
    """Any port: a tunnel may end at another one."""
    assert local.client.get(RUNS_PATH, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:3001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost:80@evil.example",
        "localhost:x",
        "0.0.0.0",
        "[::2]",
        "",
    ],
)
def test_a_foreign_name_is_refused_on_loopback(local: Operations, host: str) -> None:
    """DNS rebinding: another site's name that points to 127.0.0.1 reads nothing here."""
    for path in (RUNS_PATH, "/", "/healthz", "/metrics"):
        answer = local.client.get(path, headers={"Host": host})
        assert answer.status_code == 421
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("names", ["", "Host: localhost\r\nHost: evil.example\r\n"])
def test_a_request_without_one_name_is_refused_on_loopback(local: Operations, names: str) -> None:
    """None (HTTP/1.0) or two: then nobody knows for whom it was meant."""
    port = local.client.base_url.port
    assert port is not None
    with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
        line.sendall(f"GET {RUNS_PATH} HTTP/1.0\r\n{names}\r\n".encode())
        assert line.recv(65_536).split(b"\r\n")[0].split(b" ")[1] == b"421"


def test_beyond_loopback_any_name_is_served(migrated_url: str) -> None:
    """There the token guards: the service does not know under which names it is reached."""
    with opened_operations(migrated_url, token=TOKEN, allowed_hosts=None) as operations:
        headers = {**carrying(f"Bearer {TOKEN}"), b"Host": b"ops.example"}
        assert operations.client.get(RUNS_PATH, headers=headers).status_code == 200
        assert operations.client.get(RUNS_PATH, headers={"Host": "ops.example"}).status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_beyond_loopback_no_token_means_no_service(host: str) -> None:
    """Section 9: it refuses to start, and names what to set."""
    with pytest.raises(CannotServe, match="COLLECTION_OPERATIONS_TOKEN"):
        bound(host, 0, has_token=False)


@pytest.mark.parametrize(
    ("host", "has_token"),
    [("127.0.0.1", False), ("127.0.0.2", False), ("localhost", False), ("0.0.0.0", True)],
)
def test_loopback_needs_no_token(host: str, has_token: bool) -> None:
    """Section 9: every address of 127.0.0.0/8 is loopback; with a token anything goes."""
    with bound(host, 0, has_token=has_token) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener.getsockname()).endswith(f":{port}")


def test_an_address_that_cannot_be_had_is_said() -> None:
    """A name of nowhere, an address of another machine, a taken port."""
    for host in ("no.such.name.invalid", "192.0.2.1", "x" * 70):
        with pytest.raises(CannotServe, match=host):
            bound(host, 0, has_token=True)
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(CannotServe, match="in use"),
    ):
        bound("127.0.0.1", taken.getsockname()[1], has_token=False)


def test_the_token_is_in_no_log_and_no_answer(
    migrated_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """R29: right, wrong, misplaced, on a path that fails, and where the database is away."""
    planted = "planted-token-4711"
    said: list[httpx.Response] = []
    ways = [{"Authorization": f"Bearer {planted}"}, {"Authorization": basic("me", planted)}]
    ways += [{"Authorization": f"Digest {planted}"}, {"Host": planted}, {}]
    with caplog.at_level(logging.DEBUG):
        for url in (migrated_url, "mysql://me:planted-token-4711@127.0.0.1:1/queue"):
            with opened_operations(url, token=planted) as operations:
                for headers in ways:
                    for path in (RUNS_PATH, f"{RUNS_PATH}?limit=x", "/metrics", "/healthz", "/no"):
                        said.append(operations.client.get(path, headers=headers))
    ours = [one for one in caplog.records if not one.name.startswith(("httpx", "httpcore"))]
    assert planted not in "".join(f"{one.getMessage()} {one.exc_text}" for one in ours)
    assert planted not in "".join(f"{one.text} {one.headers}" for one in said)
    assert {one.status_code for one in said} >= {200, 401, 404, 421, 422, 503}

"""A planted key fails in every way and shows up nowhere but on the wire (R29, I9)."""

import gzip
import json
import socket
import traceback
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

import pytest

from collection_pipeline.platforms.contract import PlatformRequest, RequestFailed, RequestPolicy
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline_tests.kit.executor_fixtures import (
    ANY_PATH,
    failure_of,
    get,
    make_settings,
    with_secret,
)
from collection_pipeline_tests.kit.hostile_server import (
    HostileServer,
    Peer,
    Script,
    answering,
    answering_then_closing,
    reply,
)
from collection_pipeline_tests.kit.log_watching import log_everything, logged_by_the_test

KEY = "s3cretKEY+/with%odd=="
CORE = "s3cretKEY"
ENCODED = quote(KEY, safe="")
ECHO = f"{KEY} {ENCODED} {quote_plus(ENCODED)} {json.dumps(KEY)}".replace("/", "\\/")


@pytest.fixture(autouse=True)
def debug_logging(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Everything is logged, as when somebody hunts a fault; no filter is left from before."""
    log_everything(caplog)
    yield
    assert CORE not in logged_by_the_test(caplog)


def _reset(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def _silent(peer: Peer) -> None:
    peer.read_request()
    peer.hold()


FAILING: dict[str, Script] = {
    "a status whose headers and body echo the key": answering(
        reply(ECHO.encode(), "403 No", (f"Location: /?k={KEY}", f"X: {ECHO}"))
    ),
    "a redirect to the key": answering(reply(b"", "302 Found", (f"Location: /x?k={ENCODED}",))),
    "a reset": _reset,
    "no answer": _silent,
    "a cut body": answering_then_closing(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + b"x"),
    "headers that cannot be parsed": answering_then_closing(
        f"HTTP/1.1 200 OK\r\n{KEY}\r\nA: b\r\n".encode()
    ),
    "a status line made of the key": answering_then_closing(f"{KEY} {KEY}\r\n\r\n".encode()),
    "an encoding named like the key": answering(reply(b"", headers=(f"Content-Encoding: {KEY}",))),
    "a chunk size made of the key": answering_then_closing(
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n".encode()
    ),
    "a length made of the key": answering(
        f"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: {KEY}\r\n\r\n".encode()
    ),
}


def _with_key(base_url: str, path: str = "/jobs", **changes: object) -> PlatformRequest:
    return get(base_url, path, secret_params=(("access-key", KEY),), **changes)


def _assert_no_trace_of_the_key(failed: RequestFailed) -> None:
    shown = [str(failed), repr(failed), repr(failed.__dict__), repr(failed.args)]
    shown.append("".join(traceback.format_exception(failed)))
    assert CORE not in "".join(shown)
    assert failed.__cause__ is None
    assert failed.__context__ is None


@pytest.mark.parametrize("way", FAILING)
def test_no_failure_shows_the_key(way: str) -> None:
    """R29: not in the text, the traceback, the repr, a cause, a context or the log."""
    settings = with_secret(make_settings(), KEY)
    with HostileServer(FAILING[way]) as server, RequestsSender(settings) as sender:
        request = _with_key(server.base_url)
        failed = failure_of(lambda: sender.send(request, ANY_PATH, 0.5))
        assert ENCODED in server.requests[0].target
    _assert_no_trace_of_the_key(failed)


def _unreachable_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: _with_key(f"http://127.0.0.1:{_unreachable_port()}"),
        lambda: _with_key(f"https://127.0.0.1:{_unreachable_port()}"),
        lambda: _with_key("https://no-such-host.invalid"),
        lambda: _with_key(f"https://{'x' * 70}.invalid"),
        lambda: _with_key("https://\u2603..invalid"),
        lambda: _with_key(f"http://{CORE}.example"),
        lambda: _with_key("http://127.0.0.1:1", path=f"/{quote(KEY, safe='')}"),
        lambda: _with_key("http://127.0.0.1:1", headers={"X": f"{KEY}\r\nY: z"}),
        lambda: _with_key("http://127.0.0.1:1", params=(("limit", KEY),)),
    ],
)
def test_no_failure_before_sending_shows_the_key(make: Callable[[], PlatformRequest]) -> None:
    """R29: refused connections, names that do not resolve, policy refusals."""
    policy = RequestPolicy(ANY_PATH.path_pattern, {"limit": 10})
    with RequestsSender(with_secret(make_settings(), KEY)) as sender:
        request = make()
        _assert_no_trace_of_the_key(failure_of(lambda: sender.send(request, policy, 2.0)))


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_key_that_the_platform_echoes_is_not_handed_on(encoding: str) -> None:
    """R29: what is handed on is stored in tables; the rest of the body stays as it was."""
    body = json.dumps({"self": f"/jobs?access-key={ENCODED}", "key": KEY, "n": 1}).encode()
    wire = gzip.compress(body) if encoding == "gzip" else body
    echo = reply(wire, headers=(f"Content-Encoding: {encoding}", f"Link: </?k={ENCODED}>"))
    settings = with_secret(make_settings(), KEY)
    with HostileServer(answering(echo)) as server, RequestsSender(settings) as sender:
        answer = sender.send(_with_key(server.base_url), ANY_PATH, 5.0)
    assert json.loads(answer.body) == {
        "self": "/jobs?access-key=[redacted]",
        "key": "[redacted]",
        "n": 1,
    }
    assert answer.headers["link"] == "</?k=[redacted]>"


def test_a_key_that_only_the_request_names_is_redacted_too() -> None:
    """R29: also where the settings do not know the key, as in a second platform's adapter."""
    script = answering(reply(ECHO.encode()))
    with HostileServer(script) as server, RequestsSender(make_settings()) as sender:
        answer = sender.send(_with_key(server.base_url), ANY_PATH, 5.0)
    assert CORE.encode() not in answer.body


def test_the_query_is_not_logged_even_without_any_secret(caplog: pytest.LogCaptureFixture) -> None:
    """R29: the library logs each request's target; search words are nobody's business either."""
    with (
        HostileServer(answering(reply(b"{}"))) as server,
        RequestsSender(make_settings()) as sender,
    ):
        sender.send(get(server.base_url, params=(("q", "word"),)), ANY_PATH, 5.0)
    assert "GET /jobs?[redacted]" in caplog.text
    assert "word" not in caplog.text

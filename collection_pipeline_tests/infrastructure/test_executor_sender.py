"""What is sent, over which connection, and what each status means (R28, section 4)."""

import errno
import socket
from functools import partial

import pytest
import requests
from urllib3.connection import HTTPConnection
from urllib3.exceptions import NewConnectionError

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.platforms.contract import RequestFailed, RequestPolicy
from collection_pipeline.platforms.wire.network_failure import network_failure
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import USER_AGENT
from collection_pipeline_tests.kit.executor_fixtures import (
    ANY_PATH,
    failure_of,
    failure_to_send,
    get,
    make_settings,
    send_to,
)
from collection_pipeline_tests.kit.hostile_server import (
    HostileServer,
    Peer,
    answering,
    answering_then_closing,
    reply,
)

BODY = b'{"jobs": [1, 2, 3]}'
DEADLINE = 5.0
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        CHUNKED + b"zz\r\nabc\r\n",
    ],
)
def test_a_reply_that_is_not_http_is_a_bad_response(data: bytes) -> None:
    """Section 4: something answered, but not the platform."""
    failed = failure_of(lambda: send_to(answering_then_closing(data)))
    assert failed.failure.reason is Reason.BAD_RESPONSE


def test_a_reset_is_a_connection_failure() -> None:
    """Section 4: before and in the middle of the body."""

    def reset_at_once(peer: Peer) -> None:
        peer.read_request()
        peer.reset()

    def reset_in_the_body(peer: Peer) -> None:
        peer.read_request()
        peer.send(PLAIN_HEAD + b"x")
        peer.reset()

    for script in (reset_at_once, reset_in_the_body):
        failed = failure_of(partial(send_to, script))
        assert failed.failure.reason is Reason.CONNECTION


def test_a_refused_connection_is_a_connection_failure() -> None:
    """Section 4."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with RequestsSender(make_settings()) as sender:
        failed = failure_to_send(sender, get(f"http://127.0.0.1:{port}"))
    assert failed.failure.reason is Reason.CONNECTION
    assert failed.failure.detail == f"GET 127.0.0.1:{port}/jobs: connection refused"


@pytest.mark.parametrize(
    ("status", "reason", "wish"),
    [
        ("403 Forbidden", Reason.FORBIDDEN, 9.0),
        ("429 Too Many Requests", Reason.RATE_LIMITED, 9.0),
        ("503 Service Unavailable", Reason.HTTP_5XX, 9.0),
        ("500 Oops", Reason.HTTP_5XX, None),
        ("404 Not Found", Reason.HTTP_4XX, None),
        ("400 Bad Request", Reason.HTTP_4XX, None),
        ("301 Moved", Reason.HTTP_3XX, None),
        ("304 Not Modified", Reason.HTTP_3XX, None),
        ("202 Accepted", Reason.BAD_RESPONSE, None),
        ("204 No Content", Reason.BAD_RESPONSE, None),
        ("103 Early Hints", Reason.BAD_RESPONSE, None),
        ("777 Odd", Reason.BAD_RESPONSE, None),
    ],
)
def test_a_status_that_is_not_accepted_is_a_failure_with_its_reason(
    status: str, reason: Reason, wish: float | None
) -> None:
    """Section 4, R26: no redirect is followed; only throttling statuses carry a wish."""
    headers = ("Retry-After: 9", "Location: /elsewhere")
    with HostileServer(answering(reply(b"{}", status, headers))) as server:
        with RequestsSender(make_settings()) as sender:
            failed = failure_to_send(sender, get(server.base_url, params=(("q", "word"),)))
        assert len(server.requests) == 1
    code = int(status[:3])
    assert (failed.failure.reason, failed.status, failed.retry_after_seconds) == (
        reason,
        code,
        wish,
    )
    assert failed.failure.detail == f"GET 127.0.0.1:{server.port}/jobs: status {code}"


def test_the_body_of_a_redirect_is_not_read() -> None:
    """R28: the library would read it whole, at whatever size and speed, for the next request."""

    def trickle(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 1000\r\n\r\n")
        peer.drip(b"x" * 1000, 0.05)

    failed = failure_of(lambda: send_to(trickle, 1.0))
    assert failed.failure.reason is Reason.HTTP_3XX


def test_an_unreachable_network_is_no_timeout() -> None:
    """Section 4: the library counts this among its timeouts."""
    failed = NewConnectionError(HTTPConnection("127.0.0.1"), "connecting failed")
    failed.__cause__ = OSError(errno.ENETUNREACH, "unreachable")
    assert network_failure(requests.ConnectionError(failed))[0] is Reason.CONNECTION


def test_an_accepted_status_is_a_reply_with_its_body_and_lower_case_headers() -> None:
    """The adapter reads some error bodies by itself."""
    with HostileServer(answering(reply(BODY, "400 Bad", ("X-Code: C003",)))) as server:
        request = get(server.base_url, accepted_statuses=frozenset({200, 400}))
        with RequestsSender(make_settings()) as sender:
            answer = sender.send(request, ANY_PATH, DEADLINE)
    assert (answer.status, answer.headers["x-code"], answer.body) == (400, "C003", BODY)


def test_the_request_is_sent_as_the_adapter_wrote_it() -> None:
    """R28: order and repeats stay, keys come last, the sender's own headers win, no cookie."""
    with HostileServer(answering(reply(BODY, headers=("Set-Cookie: a=b",)))) as server:
        request = get(
            server.base_url,
            "/v1/%ED%95%9C",
            params=(("b", "1 2"), ("a", "x&y"), ("b", "\uae30")),
            secret_params=(("access-key", "k+/="),),
            headers={"Accept": "application/json", "User-Agent": "me", "accept-encoding": "br"},
        )
        policy = RequestPolicy("/v1/[^/]+")
        with RequestsSender(make_settings()) as sender:
            for _ in range(2):
                sender.send(request, policy, DEADLINE)
    seen = server.requests[1]
    assert seen.target == "/v1/%ED%95%9C?b=1+2&a=x%26y&b=%EA%B8%B0&access-key=k%2B%2F%3D"
    names = ("host", "accept", "user-agent", "accept-encoding", "cookie", "authorization")
    assert [seen.header(name) for name in names] == [
        f"127.0.0.1:{server.port}",
        "application/json",
        USER_AGENT,
        "gzip",
        None,
        None,
    ]
    assert {seen.connection for seen in server.requests} == {1}


def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """R28: the host that the policy names is the host that is asked."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send_to(answering(reply(BODY))).body == BODY


@pytest.mark.parametrize("idle_seconds", [3.9, 4.1])
def test_a_connection_that_idled_too_long_is_replaced_before_it_can_fail(
    idle_seconds: float,
) -> None:
    """R28 has no retries, so a keep-alive that the server is about to close must not be used."""
    clock = [100.0]
    with (
        HostileServer(answering(reply(BODY))) as server,
        RequestsSender(make_settings(), monotonic=lambda: clock[0]) as sender,
    ):
        sender.send(get(server.base_url), ANY_PATH, DEADLINE)
        clock[0] += idle_seconds
        sender.send(get(server.base_url), ANY_PATH, DEADLINE)
    assert server.connections == (1 if idle_seconds < 4 else 2)


def test_a_shorter_keep_alive_of_the_server_is_respected() -> None:
    """R28."""
    clock = [100.0]
    with (
        HostileServer(answering(reply(BODY, headers=("Keep-Alive: timeout=2, max=9",)))) as server,
        RequestsSender(make_settings(), monotonic=lambda: clock[0]) as sender,
    ):
        for pause in (0.9, 1.1, 0.0):
            sender.send(get(server.base_url), ANY_PATH, DEADLINE)
            clock[0] += pause
    assert [seen.connection for seen in server.requests] == [1, 1, 2]


def test_a_connection_that_the_server_closed_while_idle_is_replaced() -> None:
    """R28: the close is seen before anything is written."""
    with (
        HostileServer(answering_then_closing(reply(BODY)), answering(reply(BODY))) as server,
        RequestsSender(make_settings()) as sender,
    ):
        assert sender.send(get(server.base_url), ANY_PATH, DEADLINE).body == BODY
        for thread in list(server._threads):
            thread.join(5)
        assert sender.send(get(server.base_url), ANY_PATH, DEADLINE).body == BODY


def test_nothing_is_sent_against_the_policy() -> None:
    """R28: not even a connection is made."""
    with HostileServer(answering(reply(BODY))) as server, RequestsSender(make_settings()) as sender:
        policy = RequestPolicy("/jobs", {"limit": 10})
        for request in (
            get(server.base_url, "/other"),
            get(server.base_url, params=(("limit", "11"),)),
            get(server.base_url, headers={"X": "a\r\nHost: b"}),
            get(server.base_url, headers={"host": "elsewhere.example"}),
        ):
            failed = failure_of(partial(sender.send, request, policy, DEADLINE))
            assert failed.failure.reason is Reason.POLICY
            with pytest.raises(RequestFailed, match="POLICY"):
                sender.open(request, policy)
        assert server.connections == 0


def test_opening_ahead_sends_nothing_and_the_request_uses_that_connection() -> None:
    """R26: connecting must not delay the send."""
    with HostileServer(answering(reply(BODY))) as server, RequestsSender(make_settings()) as sender:
        sender.open(get(server.base_url), ANY_PATH)
        sender.open(get(server.base_url), ANY_PATH)
        assert server.requests == []
        sender.send(get(server.base_url), ANY_PATH, DEADLINE)
        assert server.connections == 1


def test_what_the_last_check_raises_keeps_the_request_from_being_sent() -> None:
    """R25, R26: the check runs when only the write is left; the sender stays usable."""

    class Refused(Exception):
        pass

    def refuse() -> None:
        raise Refused

    with HostileServer(answering(reply(BODY))) as server, RequestsSender(make_settings()) as sender:
        with pytest.raises(Refused):
            sender.send(get(server.base_url), ANY_PATH, DEADLINE, refuse)
        assert sender.send(get(server.base_url), ANY_PATH, DEADLINE).body == BODY
        assert len(server.requests) == 1

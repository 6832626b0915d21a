"""The whole request ends at its deadline, and TLS is real (section 3, R28)."""

import socket
import ssl
import time
from pathlib import Path

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
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
    Script,
    answering,
    reply,
)
from collection_pipeline_tests.kit.tls_identity import make_tls_identity

BODY = b'{"jobs": [1, 2, 3]}'
DEADLINE = 5.0
SHORT_DEADLINE = 0.4
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


def test_a_host_that_does_not_answer_the_connection_ends_at_the_connect_timeout() -> None:
    """Section 3: the connect timeout is shorter than the request's deadline."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        request = get(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with RequestsSender(make_settings(CONNECT_TIMEOUT_SECONDS=1)) as sender:
            started_at = time.monotonic()
            failed = failure_to_send(sender, request, deadline_seconds=20.0)
            took = time.monotonic() - started_at
        for filler in fillers:
            filler.close()
    assert failed.failure.reason is Reason.TIMEOUT
    assert 0.9 <= took < 3


def _drip(head: bytes, body: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(head)
        peer.drip(body, 0.05)

    return script


def _silent(peer: Peer) -> None:
    peer.read_request()
    peer.hold()


@pytest.mark.parametrize(
    "script",
    [
        _silent,
        _drip(b"", PLAIN_HEAD + b"x" * 100),
        _drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
        _drip(PLAIN_HEAD, b"x" * 100),
        _drip(PLAIN_HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), b"x" * 100),
        _drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100),
        _drip(CHUNKED, b"1\r\nx\r\n" * 50),
        _drip(CHUNKED + b"64\r\n", b"x" * 100),
    ],
)
def test_a_reply_that_trickles_ends_at_the_total_deadline(script: Script) -> None:
    """R28: each byte would renew a read timeout; the deadline is for the whole request."""
    started_at = time.monotonic()
    failed = failure_of(lambda: send_to(script, SHORT_DEADLINE))
    took = time.monotonic() - started_at
    assert failed.failure.reason is Reason.TIMEOUT
    assert SHORT_DEADLINE <= took < SHORT_DEADLINE + 0.4


def test_the_deadline_holds_over_tls(tmp_path: Path) -> None:
    """R28, section 3: in the handshake, before the headers, and in the body."""
    context, authority = make_tls_identity(tmp_path)
    slow = _drip(PLAIN_HEAD, b"x" * 100)
    with (
        HostileServer(_silent, slow, tls=context) as server,
        HostileServer(_hold) as mute,
        RequestsSender(make_settings(), verify=str(authority)) as sender,
    ):
        mute_url = mute.base_url.replace("http:", "https:")
        for base_url in (server.base_url, server.base_url, mute_url):
            started_at = time.monotonic()
            failed = failure_to_send(sender, get(base_url), SHORT_DEADLINE)
            assert failed.failure.reason is Reason.TIMEOUT
            assert time.monotonic() - started_at < SHORT_DEADLINE + 0.4


def _hold(peer: Peer) -> None:
    peer.hold()


def test_https_is_verified_and_its_failure_is_a_connection_failure(tmp_path: Path) -> None:
    """Section 4, R28: an unknown authority is not trusted; a trusted one works, kept alive."""
    context, authority = make_tls_identity(tmp_path)
    with HostileServer(answering(reply(BODY)), tls=context) as server:
        with RequestsSender(make_settings()) as sender:
            failed = failure_to_send(sender, get(server.base_url))
        assert failed.failure.reason is Reason.CONNECTION
        assert "TLS failed" in failed.failure.detail
        assert server.requests == []
        with RequestsSender(make_settings(), verify=str(authority)) as sender:
            sender.open(get(server.base_url), ANY_PATH)
            bodies = [sender.send(get(server.base_url), ANY_PATH, DEADLINE).body for _ in range(2)]
        assert bodies == [BODY, BODY]
        assert [seen.connection for seen in server.requests] == [2, 2]


def test_a_connection_that_is_not_tls_is_a_connection_failure() -> None:
    """Section 4."""
    with HostileServer(lambda peer: peer.send(b"HTTP/1.0 400 no\r\n\r\n")) as server:
        request = get(server.base_url.replace("http:", "https:"))
        with RequestsSender(make_settings()) as sender:
            assert failure_to_send(sender, request).failure.reason is Reason.CONNECTION


def test_a_trusted_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    """R28: the certificate is for 127.0.0.1, the request for localhost."""
    context, authority = make_tls_identity(tmp_path)
    assert isinstance(context, ssl.SSLContext)
    with HostileServer(answering(reply(BODY)), tls=context) as server:
        request = get(f"https://localhost:{server.port}")
        with RequestsSender(make_settings(), verify=str(authority)) as sender:
            assert failure_to_send(sender, request).failure.reason is Reason.CONNECTION

"""Faults of the coding and the transport, judged from the raw bytes (R28)."""

import gzip
import http.client
import json
import socket
import time
import zlib
from collections.abc import Iterator
from threading import Event
from urllib.parse import urlsplit

import pytest

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.simulator_calls import call, one_source

BOARD = "/v1/boards/board/jobs?content=true"
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def server() -> Iterator[SimulatorServer]:
    with one_source("greenhouse", "board", 30) as running:
        yield running


def open_socket(server: SimulatorServer, timeout: float = 5.0) -> socket.socket:
    parts = urlsplit(server.base_url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout)


def ask(client: socket.socket, target: str = BOARD) -> None:
    client.sendall(f"GET {target} HTTP/1.1\r\nHost: simulator\r\n\r\n".encode())


def await_line(server: SimulatorServer) -> None:
    """Wait until the request is in the log, which is before its answer."""
    deadline = time.monotonic() + 5
    while not server.records():
        assert time.monotonic() < deadline, "the request was never logged"
        Event().wait(0.005)


def test_a_truncated_gzip_stream_is_cut_inside_the_stream(server: SimulatorServer) -> None:
    server.add_fault({"name": "truncated_gzip"})
    answer = call(server.base_url, BOARD, GZIP)
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(answer.body)
    with pytest.raises(EOFError):
        gzip.decompress(answer.body)
    begun = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(answer.body)
    assert begun.startswith(b'{"jobs":[')
    assert not begun.endswith(b"}}")


@pytest.mark.parametrize("label", ["gzip", "br", "deflate"])
def test_a_wrong_label_names_a_coding_that_the_body_has_not(
    server: SimulatorServer, label: str
) -> None:
    server.add_fault({"name": "wrong_encoding", "label": label})
    answer = call(server.base_url, BOARD, GZIP)
    assert answer.headers["content-encoding"] == label
    assert len(json.loads(answer.body)["jobs"]) == 30


def test_a_packed_body_can_lack_its_label(server: SimulatorServer) -> None:
    server.add_fault({"name": "wrong_encoding", "label": "unlabelled"})
    answer = call(server.base_url, BOARD, GZIP)
    assert "content-encoding" not in answer.headers
    assert len(json.loads(gzip.decompress(answer.body))["jobs"]) == 30


def test_a_small_body_unpacks_to_a_large_one(server: SimulatorServer) -> None:
    server.add_fault({"name": "oversize", "size": 21_000_000})
    answer = call(server.base_url, BOARD, GZIP)
    assert len(answer.body) < 100_000
    assert len(gzip.decompress(answer.body)) == 21_000_000


def test_a_large_body_can_come_unpacked(server: SimulatorServer) -> None:
    server.add_fault({"name": "oversize", "size": 3_000_000, "packed": False})
    assert len(call(server.base_url, BOARD, GZIP).body) == 3_000_000


@pytest.mark.parametrize("kept", [0.5, 1.0])
def test_a_reset_in_the_body_leaves_it_shorter_than_stated(
    server: SimulatorServer, kept: float
) -> None:
    server.add_fault({"name": "reset_midbody", "kept": kept})
    with open_socket(server) as client:
        ask(client)
        received = b""
        with pytest.raises(ConnectionResetError):
            while True:
                received += client.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    stated = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    assert 0 < len(body) < stated


def test_a_reset_comes_before_any_byte(server: SimulatorServer) -> None:
    server.add_fault({"name": "reset"})
    with pytest.raises(ConnectionResetError):
        call(server.base_url, BOARD)
    assert server.records()[0]["status"] is None


def test_a_timeout_sends_nothing_and_ends_when_the_client_leaves(server: SimulatorServer) -> None:
    server.add_fault({"name": "timeout", "count": 1})
    with open_socket(server, 0.3) as client:
        ask(client)
        with pytest.raises(TimeoutError):
            client.recv(1)
    deadline = time.monotonic() + 5
    while server.open_connections:
        assert time.monotonic() < deadline, "the connection outlived its client"
        Event().wait(0.01)
    assert server.records()[0]["fault"] == "timeout"
    assert server.records()[0]["status"] is None
    assert call(server.base_url, BOARD).status == 200


def test_a_slow_body_comes_byte_by_byte(server: SimulatorServer) -> None:
    server.add_fault({"name": "slow", "seconds": 0.05})
    with open_socket(server) as client:
        ask(client)
        received = b""
        while b"\r\n\r\n" not in received:
            received += client.recv(1024)
        body = received.partition(b"\r\n\r\n")[2]
        started = time.monotonic()
        pieces = [client.recv(1024) for _ in range(6)]
        spent = time.monotonic() - started
    assert len(body) <= 1
    assert [len(piece) for piece in pieces] == [1] * 6
    assert spent >= 0.2


def test_a_slow_head_comes_byte_by_byte(server: SimulatorServer) -> None:
    server.add_fault({"name": "slow", "seconds": 0.02, "part": "headers"})
    with open_socket(server) as client:
        ask(client)
        assert [client.recv(1024) for _ in range(4)] == [b"H", b"T", b"T", b"P"]


def test_a_delayed_answer_is_whole(server: SimulatorServer) -> None:
    server.add_fault({"name": "delay", "seconds": 0.3})
    started = time.monotonic()
    assert len(call(server.base_url, BOARD).json["jobs"]) == 30
    assert time.monotonic() - started >= 0.3


def test_stopping_ends_silent_answers(server: SimulatorServer) -> None:
    server.add_fault({"name": "timeout"})
    with open_socket(server) as client:
        ask(client)
        await_line(server)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 2
        assert client.recv(1) == b""


def test_one_connection_serves_many_requests(server: SimulatorServer) -> None:
    parts = urlsplit(server.base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        for _ in range(5):
            connection.request("GET", BOARD)
            assert len(json.loads(connection.getresponse().read())["jobs"]) == 30
    finally:
        connection.close()
    assert len({record["connection"] for record in server.records()}) == 1


def test_many_connections_are_open_at_once(server: SimulatorServer) -> None:
    clients = [open_socket(server) for _ in range(100)]
    try:
        for client in clients:
            ask(client, "/v1/boards/nobody/jobs")
        firsts = [client.recv(65_536) for client in clients]
    finally:
        for client in clients:
            client.close()
    assert all(first.startswith(b"HTTP/1.1 404 ") for first in firsts)


def test_what_is_not_http_is_refused(server: SimulatorServer) -> None:
    with open_socket(server) as client:
        client.sendall(b"hello\r\n\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 400 ")
        assert client.recv(1) == b""

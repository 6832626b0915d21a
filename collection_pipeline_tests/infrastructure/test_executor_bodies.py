"""Bodies that lie about their coding, length or size (section 3, section 4)."""

import gzip
import zlib
from functools import partial

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline_tests.kit.executor_fixtures import (
    failure_of,
    send_to,
)
from collection_pipeline_tests.kit.hostile_server import (
    Peer,
    answering,
    answering_then_closing,
    reply,
)

BODY = b'{"jobs": [1, 2, 3]}'
PACKED = gzip.compress(BODY, mtime=0)
"""Without a time: every worker of a parallel run must see the same parameters."""
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


def raw_deflate(data: bytes) -> bytes:
    """Deflate without zlib's header, as some servers understand the label."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("label", "wire"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", PACKED),
        ("X-GZIP", PACKED),
        ("identity, gzip", PACKED),
        ("gzip", gzip.compress(BODY[:7], mtime=0) + gzip.compress(BODY[7:], mtime=0)),
        ("gzip", PACKED + b"\0\0\0"),
        ("deflate", zlib.compress(BODY)),
        ("deflate", raw_deflate(BODY)),
    ],
)
def test_encodings_that_were_asked_for_are_decoded(label: str, wire: bytes) -> None:
    """R28: also byte for byte, so that no decoder depends on where the network cuts."""
    headers = (f"Content-Encoding: {label}",) if label else ()
    assert send_to(answering(reply(wire, headers=headers))).body == BODY
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in wire) + b"0\r\n\r\n"
    head = CHUNKED[:-2] + f"Content-Encoding: {label}\r\n\r\n".encode()
    assert send_to(answering(head + chunks)).body == BODY


@pytest.mark.parametrize(
    ("label", "wire", "reason"),
    [
        ("br", BODY, Reason.BAD_RESPONSE),
        ("zstd", BODY, Reason.BAD_RESPONSE),
        ("gzip, gzip", gzip.compress(PACKED, mtime=0), Reason.BAD_RESPONSE),
        ("gzip", BODY, Reason.BAD_RESPONSE),
        ("gzip", zlib.compress(BODY), Reason.BAD_RESPONSE),
        ("gzip", b"", Reason.BAD_RESPONSE),
        ("deflate", BODY, Reason.BAD_RESPONSE),
        ("deflate", PACKED, Reason.BAD_RESPONSE),
        ("gzip", PACKED[:-9] + b"\0" * 9, Reason.BAD_RESPONSE),
        ("gzip", PACKED[:-9], Reason.CONNECTION),
        ("gzip", PACKED[:1], Reason.CONNECTION),
        ("gzip", PACKED + PACKED[:-9], Reason.CONNECTION),
        ("deflate", zlib.compress(BODY)[:-5], Reason.CONNECTION),
    ],
)
def test_a_body_that_is_not_what_its_label_says_is_refused(
    label: str, wire: bytes, reason: Reason
) -> None:
    """Section 4: a wrong encoding is BAD_RESPONSE, a stream that was cut off is CONNECTION."""
    script = answering(reply(wire, headers=(f"Content-Encoding: {label}",)))
    failed = failure_of(lambda: send_to(script))
    assert (failed.failure.reason, failed.status) == (reason, 200)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        PLAIN_HEAD,
        PLAIN_HEAD + b"x" * 99,
        CHUNKED,
        CHUNKED + b"5\r\nab",
        CHUNKED + b"5\r\nabcde\r\n",
        CHUNKED + b"-5\r\nabcde\r\n" + b"x" * 1000,
    ],
)
def test_a_reply_that_ends_early_is_a_connection_failure(data: bytes) -> None:
    """Section 4: a short body must never look like a short list."""
    failed = failure_of(lambda: send_to(answering_then_closing(data)))
    assert failed.failure.reason is Reason.CONNECTION


@pytest.mark.parametrize("excess", [0, 1])
def test_the_size_limit_counts_decoded_bytes(excess: int) -> None:
    """R28: exactly the limit is allowed, one byte more is POLICY, however it is packed."""
    body = b"x" * (200_000 + excess)
    for wire, headers in (
        (body, ()),
        (gzip.compress(body), ("Content-Encoding: gzip",)),
        (raw_deflate(body), ("Content-Encoding: deflate",)),
    ):
        script = answering(reply(wire, headers=headers))
        if excess:
            failed = failure_of(partial(send_to, script, MAX_RESPONSE_BYTES=200_000))
            assert failed.failure.reason is Reason.POLICY
        else:
            assert send_to(script, MAX_RESPONSE_BYTES=200_000).body == body


def test_a_compressed_bomb_never_fills_the_memory() -> None:
    """R28, section 3: 200 MB in less than one; what is held stays near the limit."""
    import tracemalloc

    packer = zlib.compressobj(1, wbits=31)
    block = b"\0" * 1_000_000
    bomb = b"".join(packer.compress(block) for _ in range(200)) + packer.flush()
    script = answering(reply(bomb, headers=("Content-Encoding: gzip",)))
    tracemalloc.start()
    try:
        failed = failure_of(lambda: send_to(script, MAX_RESPONSE_BYTES=1_000_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert failed.failure.reason is Reason.POLICY
    assert peak < 12_000_000


def test_an_endless_stream_of_empty_members_is_bounded() -> None:
    """R28, section 3: it decodes to nothing for ever."""
    members = gzip.compress(b"") * 20_000
    script = answering(reply(members, headers=("Content-Encoding: gzip",)))
    failed = failure_of(lambda: send_to(script, MAX_RESPONSE_BYTES=1_000))
    assert failed.failure.reason is Reason.POLICY


def test_a_negative_chunk_size_does_not_mean_everything() -> None:
    """R28, section 3: the standard library would read to the end of an endless body."""

    def endless(peer: Peer) -> None:
        peer.read_request()
        peer.send(CHUNKED + b"-1\r\n")
        peer.drip(b"x" * 1000, 0.05)

    assert failure_of(lambda: send_to(endless, 1.0)).failure.reason is Reason.CONNECTION


@pytest.mark.parametrize(("members", "is_read"), [(1_000, True), (1_001, False)])
def test_a_body_of_very_many_members_is_refused(members: int, is_read: bool) -> None:
    """Section 3: each costs a look at all that came with it, so many would only cost time."""
    wire = gzip.compress(b"[]", mtime=0) + gzip.compress(b"", mtime=0) * (members - 1)
    script = answering(reply(wire, headers=("Content-Encoding: gzip",)))
    if is_read:
        assert send_to(script).body == b"[]"
    else:
        assert failure_of(lambda: send_to(script)).failure.reason is Reason.POLICY

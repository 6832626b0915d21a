"""Hostile ways to deliver a reply, and how a list request must end by section 4 of the rules.

An attack does not know the platform: what it does happens before an adapter reads anything.
"""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from collection_pipeline_tests.kit.fault_table import COMPLETE
from collection_pipeline_tests.kit.hostile_platform import Attack
from collection_pipeline_tests.kit.hostile_server import Peer, reply

HUGE = 50_000_000
BLOCK = b" " * 1_000_000
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
REDIRECTS = (300, 301, 302, 303, 305, 307, 308)
LONG_LINE = 100_000
CLOSE = ("Connection: close",)


@dataclass(frozen=True)
class WireAttack:
    """A name, what is done, and the table's word (``fault_table``) for how the cycle ends."""

    name: str
    attack: Attack
    end: str


@cache
def packed(coding: str) -> bytes:
    """50 MB of blanks in a coding's bytes."""
    match coding:
        case "gzip":
            return gzip.compress(b" " * HUGE, 1, mtime=0)
        case "deflate":
            return zlib.compress(b" " * HUGE, 1)
        case _:
            packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
            return packer.compress(b" " * HUGE) + packer.flush()


def pack_all() -> None:
    """Makes the bombs now: making one takes longer than a test's deadline may be."""
    for coding in ("gzip", "deflate", "raw"):
        packed(coding)


def coded(label: str, make: Callable[[bytes], bytes]) -> Attack:
    """A body that ``make`` makes, under a content coding's label."""

    def attack(peer: Peer, body: bytes) -> None:
        headers = (f"Content-Encoding: {label}", "Connection: close")
        peer.send(reply(make(body), headers=headers))

    return attack


def raw(make: Callable[[bytes], bytes]) -> Attack:
    """Exactly the bytes that ``make`` makes of the genuine body, then the end."""
    return lambda peer, body: peer.send(make(body))


def head(*lines: str) -> Attack:
    """The genuine body behind header lines of one's own, without a length, then the end."""
    text = "\r\n".join(lines).encode("latin-1")
    return raw(lambda body: OK + text + b"\r\n\r\n" + body)


def endless(start: bytes, block: bytes) -> Attack:
    """``start``, then ``block`` for as long as the client listens."""

    def attack(peer: Peer, _body: bytes) -> None:
        peer.send(start)
        while True:
            peer.send(block)

    return attack


def slowly(data: Callable[[bytes], bytes], interval_seconds: float = 0.2) -> Attack:
    """One byte at a time, for longer than any deadline of a test."""
    return lambda peer, body: peer.drip(data(body), interval_seconds)


def held(make: Callable[[bytes], bytes]) -> Attack:
    """What ``make`` makes, and then silence on an open connection."""

    def attack(peer: Peer, body: bytes) -> None:
        peer.send(make(body))
        peer.hold()

    return attack


def with_length(length: object, body: bytes) -> bytes:
    """``body`` under a stated length."""
    return OK + f"Content-Length: {length}\r\n\r\n".encode() + body


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def redirecting(status: int) -> WireAttack:
    """To the same address again, with a body that nobody should read."""
    headers = ("Location: /again", f"Content-Length: {HUGE}")
    lines = "\r\n".join((f"HTTP/1.1 {status} Moved", *headers)).encode()
    return WireAttack(
        f"redirect {status}", raw(lambda body: lines + b"\r\n\r\n" + body), "HTTP_3XX"
    )


WIRE_ATTACKS = (
    # Section 3: the size is of decoded bytes, while streaming.
    WireAttack("50 MB", endless(with_length(HUGE, b""), BLOCK), "POLICY"),
    WireAttack("endless chunks", endless(CHUNKED, chunk(BLOCK)), "POLICY"),
    WireAttack("endless body", endless(OK + b"\r\n", BLOCK), "POLICY"),
    WireAttack("gzip bomb", coded("gzip", lambda _: packed("gzip")), "POLICY"),
    WireAttack("deflate bomb", coded("deflate", lambda _: packed("deflate")), "POLICY"),
    WireAttack("raw deflate bomb", coded("deflate", lambda _: packed("raw")), "POLICY"),
    WireAttack("br bomb", coded("br", lambda _: packed("gzip")), "BAD_RESPONSE"),
    WireAttack(
        "gzip twice", coded("gzip, gzip", lambda b: gzip.compress(gzip.compress(b))), "BAD_RESPONSE"
    ),
    WireAttack(
        "gzip bomb in gzip",
        coded("gzip", lambda _: gzip.compress(packed("gzip"))),
        "BAD_RESPONSE",
    ),
    WireAttack(
        "gzip bomb labelled deflate", coded("deflate", lambda _: packed("gzip")), "BAD_RESPONSE"
    ),
    WireAttack(
        "endless empty gzip members",
        endless(OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 10_000),
        "POLICY",
    ),
    WireAttack("gzip then garbage", coded("gzip", lambda b: gzip.compress(b) + b"x"), COMPLETE),
    WireAttack("coding of 50 names", coded(", ".join(["gzip"] * 50), bytes), "BAD_RESPONSE"),
    # The deadline is for the whole request.
    WireAttack("a byte at a time", slowly(partial(with_length, 5_000)), "TIMEOUT"),
    WireAttack("a header byte at a time", slowly(reply), "TIMEOUT"),
    WireAttack("a chunk at a time", slowly(lambda _: CHUNKED + b"1\r\n \r\n" * 100), "TIMEOUT"),
    WireAttack("silence", held(lambda _: b""), "TIMEOUT"),
    WireAttack("half a body, then silence", held(lambda b: reply(b)[:-20]), "TIMEOUT"),
    WireAttack("endless 100", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), "TIMEOUT"),
    # R28: no redirect is followed.
    *map(redirecting, REDIRECTS),
    # A head that is not HTTP, or without a bound.
    WireAttack("HTTP/0.9", raw(bytes), "BAD_RESPONSE"),
    WireAttack("HTTP/9.9", raw(lambda b: b"HTTP/9.9 200 OK\r\n\r\n" + b), "BAD_RESPONSE"),
    WireAttack(
        "status of 6 digits", raw(lambda b: b"HTTP/1.1 200200 OK\r\n\r\n" + b), "BAD_RESPONSE"
    ),
    WireAttack(
        "103 before 200", raw(lambda b: b"HTTP/1.1 103 -\r\n\r\n" + reply(b)), "BAD_RESPONSE"
    ),
    WireAttack("long status line", raw(lambda _: OK[:-2] + b"x" * LONG_LINE), "BAD_RESPONSE"),
    WireAttack("endless status line", endless(b"HTTP/1.1 200 ", BLOCK), "BAD_RESPONSE"),
    WireAttack("long header", head(f"X: {'x' * LONG_LINE}"), "BAD_RESPONSE"),
    WireAttack("endless header", endless(OK + b"X: ", BLOCK), "BAD_RESPONSE"),
    WireAttack("10,000 headers", head(*(f"X-{n}: 1" for n in range(10_000))), "BAD_RESPONSE"),
    WireAttack("endless headers", endless(OK, b"X: 1\r\n" * 1_000), "BAD_RESPONSE"),
    WireAttack("NUL and high bytes in a header", head("X: \x00\xff\x07", "Y: 1"), COMPLETE),
    WireAttack("a header without a colon", head("nonsense"), COMPLETE),
    # Lengths and chunks that lie.
    WireAttack("closed at once", raw(lambda _: b""), "CONNECTION"),
    WireAttack("head only", raw(lambda _: OK), "CONNECTION"),
    WireAttack("length too long", raw(lambda b: with_length(len(b) + 9, b)), "CONNECTION"),
    WireAttack("length too short", raw(lambda b: with_length(len(b) - 9, b)), "BAD_RESPONSE"),
    WireAttack("length of 400 digits", raw(lambda b: with_length("9" * 400, b)), "CONNECTION"),
    WireAttack("length of 5,000 digits", raw(lambda b: with_length("9" * 5_000, b)), COMPLETE),
    WireAttack("negative length", raw(lambda b: with_length(-1, b)), COMPLETE),
    WireAttack("two lengths", raw(lambda b: with_length(f"{len(b)}, 7", b)), "BAD_RESPONSE"),
    WireAttack("cut without a length", raw(lambda b: OK + b"\r\n" + b[:-9]), "BAD_RESPONSE"),
    WireAttack("extra data behind", raw(lambda b: reply(b, headers=CLOSE) + b), COMPLETE),
    WireAttack("chunks cut off", raw(lambda b: CHUNKED + chunk(b)), "CONNECTION"),
    WireAttack("chunk size no number", raw(lambda b: CHUNKED + b"xyz\r\n" + b), "BAD_RESPONSE"),
    WireAttack("negative chunk", raw(lambda b: CHUNKED + b"-5\r\n" + b), "CONNECTION"),
    WireAttack("chunk of 2^64", raw(lambda b: CHUNKED + b"f" * 16 + b"\r\n" + b), "CONNECTION"),
    WireAttack("endless chunk size", endless(CHUNKED, BLOCK.replace(b" ", b"0")), "CONNECTION"),
    WireAttack("endless trailer line", endless(CHUNKED + b"0\r\nX: ", BLOCK), "CONNECTION"),
    WireAttack("endless trailers", endless(CHUNKED + b"0\r\n", b"X: 1\r\n" * 1_000), "TIMEOUT"),
)

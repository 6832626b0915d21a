"""A reply's body, decoded while it streams and never larger than the limit (spec section 3).

The limit counts decoded bytes, so a small compressed body cannot fill the memory: the decompressor
is asked for no more than is still allowed, plus one byte that tells "too large".
"""

import zlib
from collections.abc import Iterable

GZIP_MAGIC = b"\x1f\x8b"
WIRE_SLACK_BYTES = 65_536
"""Compressed bytes may exceed the decoded ones by headers; an endless stream of them may not."""
MOST_MEMBERS = 1_000
"""Of one gzip body; packers that split write members of 64 kB, and empty ones cost only time."""
PLAIN_STARTS = (b"{", b"[", b"<")
"""Raw deflate has no header: plain text read as such may look cut off instead of wrong."""
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_NAMES = {"": "identity", "identity": "identity", "gzip": "gzip", "x-gzip": "gzip"}
_ENCODINGS = {**_NAMES, "deflate": "deflate"}


class BodyTooLarge(Exception):
    """The decoded body, or what it is packed in, exceeds its limit (POLICY)."""


class BodyCutOff(Exception):
    """The compressed stream ended before its own end mark (CONNECTION)."""


class UnreadableEncoding(Exception):
    """The content encoding is not one we asked for, or the body is not what it says."""


def decode_body(chunks: Iterable[bytes], content_encoding: str, limit_bytes: int) -> bytes:
    """The decoded bytes of ``chunks``, at most ``limit_bytes``.

    Raises ``BodyTooLarge``, ``BodyCutOff`` or ``UnreadableEncoding``; passes on what ``chunks``
    raises.
    """
    labels = [label.strip().lower() for label in content_encoding.split(",")]
    names = [_ENCODINGS.get(label) for label in labels]
    encodings = [name for name in names if name != "identity"]
    if None in encodings or len(encodings) > 1:
        raise UnreadableEncoding("a content encoding that was not asked for")
    if not encodings:
        return _collect(chunks, limit_bytes)
    inflater = _Inflater(is_gzip=encodings == ["gzip"], limit_bytes=limit_bytes)
    try:
        for chunk in chunks:
            inflater.feed(chunk)
        return inflater.finish()
    except zlib.error:
        raise UnreadableEncoding(f"the body is not {encodings[0]}") from None


def _collect(chunks: Iterable[bytes], limit_bytes: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > limit_bytes:
            raise BodyTooLarge
    return bytes(body)


class _Inflater:
    """Bounded decompression of gzip (also of several members) and of both kinds of deflate."""

    def __init__(self, *, is_gzip: bool, limit_bytes: int) -> None:
        self._is_gzip = is_gzip
        self._limit = limit_bytes
        self._wire_left = limit_bytes + limit_bytes // 100 + WIRE_SLACK_BYTES
        self._body = bytearray()
        self._head = b""
        self._start = b""
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, chunk: bytes) -> None:
        self._wire_left -= len(chunk)
        if self._wire_left < 0:
            raise BodyTooLarge
        data = self._head + chunk
        self._head = b""
        self._start = self._start or data[:1]
        while data:
            if self._stream is None:
                if len(data) < len(GZIP_MAGIC):
                    self._head = data
                    return
                if self._members and not (self._is_gzip and data.startswith(GZIP_MAGIC)):
                    return
                if self._members == MOST_MEMBERS:
                    raise BodyTooLarge
                self._stream = zlib.decompressobj(self._window(data))
            data = self._inflate(self._stream, data)

    def finish(self) -> bytes:
        if not self._start:
            raise UnreadableEncoding("an empty body with a content encoding")
        if self._stream is not None or not self._members:
            if self._start in PLAIN_STARTS:
                raise UnreadableEncoding("a plain body with a content encoding")
            raise BodyCutOff
        return bytes(self._body)

    def _inflate(self, stream: "zlib._Decompress", data: bytes) -> bytes:
        room = self._limit - len(self._body)
        self._body += stream.decompress(data, room + 1)
        if len(self._body) > self._limit:
            raise BodyTooLarge
        if not stream.eof:
            return stream.unconsumed_tail
        self._stream = None
        self._members += 1
        return stream.unused_data

    def _window(self, data: bytes) -> int:
        if self._is_gzip:
            return _GZIP_WINDOW
        has_zlib_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
        return zlib.MAX_WBITS if has_zlib_header else -zlib.MAX_WBITS

"""Faults of the content coding: cut gzip streams, wrong labels, bodies that unpack too large."""

import gzip
from dataclasses import replace
from functools import lru_cache

from collection_pipeline.simulator.fault_plan import Fault
from collection_pipeline.simulator.messages import Reply

GZIP_HEADER_BYTES = 10


def recoded(reply: Reply, fault: Fault) -> Reply:
    """The reply with its coding spoilt; the same reply for any other fault."""
    settings = fault.settings
    if fault.name == "truncated_gzip":
        packed = gzip.compress(reply.body)
        kept = max(GZIP_HEADER_BYTES + 2, int(len(packed) * float(settings["kept"])))
        return replace(reply, body=packed[: min(kept, len(packed) - 9)], encoding="gzip")
    if fault.name == "wrong_encoding":
        label = str(settings["label"])
        if label == "unlabelled":
            return replace(reply, body=gzip.compress(reply.body), encoding="identity")
        return replace(reply, encoding=label)
    if fault.name == "oversize":
        size = int(settings["size"])
        if settings["packed"]:
            return replace(reply, body=packed_blanks(size), encoding="gzip")
        return replace(reply, body=blanks(size), encoding="identity")
    return reply


def blanks(size: int) -> bytes:
    """A JSON text of `size` bytes that says nothing."""
    return b'{"data":[' + b" " * max(0, size - 11) + b"]}"


@lru_cache(maxsize=4)
def packed_blanks(size: int) -> bytes:
    """The same packed to about a thousandth."""
    return gzip.compress(blanks(size))

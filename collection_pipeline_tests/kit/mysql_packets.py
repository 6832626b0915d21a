"""Cuts the client's side of the MySQL protocol into packets.

Invariant: bytes pass unchanged; the reader only says where a packet ends and what it asks for.
A packet is a length of 3 bytes, a sequence number and the payload; a new command has number 0, so
the login, which goes on counting from the server's greeting, is never taken for one.
"""

from dataclasses import dataclass

HEADER_BYTES = 4
COM_QUERY = 0x03


@dataclass(frozen=True)
class Packet:
    """One packet with its header; `statement` is the text of a query, else ''."""

    raw: bytes
    statement: str


def split_packets(buffer: bytearray) -> list[Packet]:
    """Takes all whole packets off the front of the buffer."""
    packets = []
    while len(buffer) >= HEADER_BYTES:
        end = HEADER_BYTES + int.from_bytes(buffer[:3], "little")
        if len(buffer) < end:
            break
        packets.append(_packet(bytes(buffer[:end])))
        del buffer[:end]
    return packets


def is_commit(statement: str) -> bool:
    """True for the text that a driver sends to commit."""
    return statement.strip().rstrip(";").strip().upper() == "COMMIT"


def ends_transaction(statement: str) -> bool:
    """True for COMMIT and for a whole ROLLBACK."""
    text = statement.strip().rstrip(";").strip().upper()
    return text in {"COMMIT", "ROLLBACK"}


def _packet(raw: bytes) -> Packet:
    is_query = raw[3] == 0 and raw[HEADER_BYTES : HEADER_BYTES + 1] == bytes([COM_QUERY])
    return Packet(raw, raw[HEADER_BYTES + 1 :].decode("utf-8", "replace") if is_query else "")

"""The continuation cursor: opaque versioned JSON of at most 1,024 bytes (spec section 2).

It says either where the next list page begins (a platform's own position) or that the list has
ended and only details are left (R22).
"""

import json
from dataclasses import dataclass
from typing import Self

CURSOR_VERSION = 1
CURSOR_MAX_BYTES = 1024


class InvalidCursor(ValueError):
    """The stored cursor is not one that this release can continue from."""


class CursorTooLong(ValueError):
    """A platform's position does not fit into a cursor."""


@dataclass(frozen=True)
class Cursor:
    """``position`` is the platform's own; ``None`` once the list has ended."""

    position: dict[str, str | int] | None

    @property
    def list_ended(self) -> bool:
        """True when only details are left."""
        return self.position is None

    def encoded(self) -> str:
        """The text that is stored; equal positions give equal texts."""
        body: dict[str, object] = {"v": CURSOR_VERSION}
        if self.position is None:
            body["end"] = True
        else:
            body["at"] = self.position
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if len(text.encode()) > CURSOR_MAX_BYTES:
            raise CursorTooLong(f"the platform's next position exceeds {CURSOR_MAX_BYTES} bytes")
        return text

    @classmethod
    def decoded(cls, text: str) -> Self:
        """The cursor stored as ``text``; raises ``InvalidCursor`` for anything else."""
        try:
            body = json.loads(text)
        except ValueError:
            raise InvalidCursor("the stored cursor is not JSON") from None
        if not isinstance(body, dict) or body.get("v") != CURSOR_VERSION:
            raise InvalidCursor(f"the stored cursor is not of version {CURSOR_VERSION}")
        if body.get("end") is True:
            return cls(None)
        position = body.get("at")
        if not isinstance(position, dict):
            raise InvalidCursor("the stored cursor has no position")
        return cls(position)

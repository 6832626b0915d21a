"""The log of platform requests: what an auditor compares the client's tables with (I6, I8).

Invariant: a request's line is written and flushed before its answer leaves, so that killing the
client, or the simulator, loses no request that was answered. No line holds an access key.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, TextIO
from urllib.parse import quote

from collection_pipeline.simulator.messages import Request

HIDDEN = "***"
KEPT_IN_MEMORY = 200_000
KEY_PARAMETERS = frozenset({"access-key", "serviceKey"})


class RequestLog:
    """An append-only list of records, in memory and as JSON lines."""

    def __init__(self, path: Path | None, *secrets: str) -> None:
        self._records: list[dict[str, Any]] = []
        self._dropped = 0
        self._forms = sorted(
            {form for secret in secrets for form in _spellings(secret)} - {""},
            key=len,
            reverse=True,
        )
        self._lock = Lock()
        self._file: TextIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")

    def write(self, record: dict[str, Any]) -> None:
        """Append one record."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            self._records.append(record)
            if len(self._records) > KEPT_IN_MEMORY:
                del self._records[: KEPT_IN_MEMORY // 2]
                self._dropped += KEPT_IN_MEMORY // 2
            if self._file is not None:
                self._file.write(line + "\n")
                self._file.flush()

    def records(self, since: int = 0) -> list[dict[str, Any]]:
        """Copies of the records from number `since` on (0 is the first ever written)."""
        with self._lock:
            return [dict(entry) for entry in self._records[max(0, since - self._dropped) :]]

    def __len__(self) -> int:
        with self._lock:
            return self._dropped + len(self._records)

    def forget(self) -> None:
        """Empty the memory; the file stays as it is."""
        with self._lock:
            self._dropped = 0
            self._records.clear()

    def close(self) -> None:
        """Close the file; later records stay in memory only."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def clean(self, text: str) -> str:
        """The text without the access key, by parameter name and by value."""
        parts = text.split("&")
        names = [part.partition("=")[0] for part in parts]
        kept = [
            f"{name}={HIDDEN}" if name in KEY_PARAMETERS and part != name else part
            for name, part in zip(names, parts, strict=True)
        ]
        text = "&".join(kept)
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text


def _spellings(secret: str) -> set[str]:
    once = quote(secret, safe="")
    return {secret, once, quote(once, safe="")}


def arrival(request: Request) -> dict[str, Any]:
    """The two spellings of a request's moment of arrival."""
    seconds, micros = divmod(request.arrival_us, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
    return {
        "at": moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "at_us": request.arrival_us,
    }

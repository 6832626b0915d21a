"""What people are told, as a value: one message, its weight, and its kind (R9, R40).

A day has at most one message of each kind. Texts that come from outside (labels, names of jobs,
failure messages) pass ``plain_text``: one line, no character that could steer a terminal, a log or
the direction of reading.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum

MORNING_REPORT = "MORNING_REPORT"
SNAPSHOT_MISSED = "SNAPSHOT_MISSED"
SOURCES_BROKEN = "SOURCES_BROKEN"
SEEN_ROWS_OLD = "SEEN_ROWS_OLD"
RUN_FAILED = "RUN_FAILED"
MORNING_KINDS = (MORNING_REPORT, SNAPSHOT_MISSED)
"""A final header is told by one of these."""

KIND_MAX_CHARS = 40
LABEL_MAX_CHARS = 80
LONGEST_RETRY_MINUTES = 60
_DROPPED = frozenset({"Cf", "Cs", "Co", "Cn"})
_SPACED = frozenset({"Cc", "Zl", "Zp", "Zs"})
_DIGEST_CHARS = 8


class Severity(StrEnum):
    """How much a message wants to be seen."""

    INFO = "INFO"
    WARNING = "WARNING"
    INCIDENT = "INCIDENT"


class UnreadableNotification(ValueError):
    """A stored message is not one that this release writes."""


@dataclass(frozen=True)
class Notification:
    """One message: ``lines`` are for people, most important first; ``data`` is for programs.

    ``data`` holds plain JSON values in snake_case, instants as ISO 8601 in UTC.
    """

    kind: str
    day: date
    severity: Severity
    title: str
    lines: tuple[str, ...]
    data: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole message for people, the title as its first line."""
        return "\n".join((self.title, *self.lines))

    def document(self) -> dict[str, object]:
        """The message as plain JSON values; ``of_document`` reads it back."""
        return {
            "kind": self.kind,
            "date": self.day.isoformat(),
            "severity": self.severity.value,
            "title": self.title,
            "lines": list(self.lines),
            "data": dict(self.data),
        }

    @classmethod
    def of_document(cls, document: object) -> "Notification":
        """The message that ``document()`` described; ``UnreadableNotification`` for others."""
        try:
            known = document if isinstance(document, dict) else {}
            return cls(
                str(known["kind"]),
                date.fromisoformat(known["date"]),
                Severity(known["severity"]),
                str(known["title"]),
                tuple(str(line) for line in known["lines"]),
                dict(known["data"]),
            )
        except (KeyError, TypeError, ValueError):
            raise UnreadableNotification("the stored message cannot be read") from None


def plain_text(text: str, most_chars: int) -> str:
    """``text`` on one line of at most ``most_chars``, without control and direction characters."""
    kept = "".join(_plain(char) for char in text)
    line = " ".join(kept.split())
    return line if len(line) <= most_chars else line[: most_chars - 1].rstrip() + "…"


def numbered_kind(kind: str, number: int) -> str:
    """``kind`` itself for the day's first message, then ``kind.2`` and so on."""
    return kind if number == 1 else f"{kind}.{number}"


def run_failed_kind(job_name: str) -> str:
    """``RUN_FAILED.<job>``; a name that does not fit is cut and told apart by a digest."""
    room = KIND_MAX_CHARS - len(RUN_FAILED) - 1
    name = re.sub(r"[^A-Za-z0-9_]", "_", job_name)
    if name != job_name or len(name) > room:
        digest = hashlib.sha256(job_name.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: room - _DIGEST_CHARS - 1]}-{digest}"
    return f"{RUN_FAILED}.{name}"


def retry_after(attempts: int) -> timedelta:
    """How long to wait after the ``attempts``-th failed try: 1, 2, 4 ... 60 minutes."""
    # Bounded before the power is taken: a count from a table can be any number.
    doublings = min(max(attempts, 1) - 1, 10)
    return timedelta(minutes=min(1 << doublings, LONGEST_RETRY_MINUTES))


def _plain(char: str) -> str:
    category = unicodedata.category(char)
    if category in _DROPPED:
        return ""
    return " " if category in _SPACED else char

"""Faults: what they are called, which requests they fall on, and how often.

Invariant: a fault's counter counts the requests that its selectors match; it acts on those from
the `from`-th on, `count` of them at most. Several faults can act on one request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from collection_pipeline.simulator.library_bodies import CARRIERS as LIBRARY_CARRIERS
from collection_pipeline.simulator.library_columns import NAME_SETS
from collection_pipeline.simulator.library_rule import ENVELOPES, LIBRARY

LISTING_FAULTS: dict[str, dict[str, Any]] = {
    "offset_ignored": {},
    "shifting": {"rows": 1},
    "vanish": {"rows": 1},
    "zero_results": {},
    "empty_page_with_next": {},
    "short_pages": {"rows": 2},
    "changing_total": {"delta": 5},
    "total_shrunk": {"factor": 0.5, "total": None},
    "next_self": {},
    "next_back": {"to_page": None},
    "next_foreign": {"origin": "https://evil.example"},
    "next_absolute": {},
    "missing_id": {"row": 0, "form": "absent"},
    "missing_title": {"row": 0, "form": "absent"},
}
ANSWER_FAULTS: dict[str, dict[str, Any]] = {
    "http_status": {"status": 500, "retry_after": None},
    "http_403": {},
    "http_404": {},
    "http_429": {"retry_after": None},
    "http_500": {},
    "http_503": {"retry_after": None},
    "redirect": {"status": 302, "location": None},
    "captcha": {},
    "error_body": {"carrier": "flat", "code": 4, "status": 200},
    "key_echo": {"encoding": "raw", "status": 200},
    "empty_body": {},
    "broken_json": {},
    "changed_envelope": {"to": None},
    "detail_gone": {"form": None},
}
LIBRARY_FAULTS: dict[str, dict[str, Any]] = {
    "library_error": {"carrier": "gateway_xml", "code": 30, "status": 200, "spaced": False},
    "library_form": {
        "envelope": None,
        "names": None,
        "items": None,
        "commas": None,
        "charset": None,
        "ok_code": None,
    },
    "long_pages": {"rows": 1},
}
CODING_FAULTS: dict[str, dict[str, Any]] = {
    "truncated_gzip": {"kept": 0.5},
    "wrong_encoding": {"label": "gzip"},
    "oversize": {"size": 30_000_000, "packed": True},
}
DELIVERY_FAULTS: dict[str, dict[str, Any]] = {
    "timeout": {},
    "slow": {"seconds": 1.0, "part": "body"},
    "delay": {"seconds": 1.0},
    "reset": {},
    "reset_midbody": {"kept": 0.5},
}
FAULTS = LISTING_FAULTS | ANSWER_FAULTS | LIBRARY_FAULTS | CODING_FAULTS | DELIVERY_FAULTS
CARRIERS = ("flat", "error", "result", "jobs_error", "null", "empty", "xml")
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "error_body": {"carrier": CARRIERS},
    "key_echo": {"encoding": ("raw", "percent", "double")},
    "library_error": {"carrier": LIBRARY_CARRIERS},
    "library_form": {
        "envelope": ENVELOPES,
        "names": tuple(NAME_SETS),
        "items": ("item", "list", "text", "null"),
        "charset": ("utf-8", "cp949", "invalid"),
    },
}
SELECTORS = ("name", "platform", "key", "kind", "page", "id", "from", "count", "days")


class FaultError(ValueError):
    """The fault is not usable as written."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and its selectors; None matches everything. Pages and rows count from 0."""

    name: str
    platform: str | None = None
    key: str | None = None
    kind: str | None = None
    page: int | None = None
    item_id: str | None = None
    from_nth: int = 1
    count: int | None = None
    days: tuple[int, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def falls_on(self, subject: "Subject") -> bool:
        """Whether the selectors match, the counter left aside."""
        wanted = (
            (self.platform, subject.platform),
            (self.key, subject.key),
            (self.kind, subject.kind),
            (self.page, subject.page if subject.kind == "list" else None),
            (self.item_id, subject.item_id),
        )
        if self.name in LISTING_FAULTS and subject.kind != "list":
            return False
        if self.name in LIBRARY_FAULTS and subject.platform != LIBRARY:
            return False
        if self.name == "detail_gone" and subject.kind != "detail":
            return False
        if self.days is not None and subject.day not in self.days:
            return False
        return all(mine is None or mine == theirs for mine, theirs in wanted)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a request is, as far as faults look at it."""

    platform: str
    kind: str
    key: str | None
    page: int
    item_id: str | None
    day: int


@dataclass(slots=True)
class _Armed:
    number: int
    fault: Fault
    seen: int = 0
    acted: int = 0


class FaultBoard:
    """The faults that are switched on, with their counters."""

    def __init__(self) -> None:
        self._armed: list[_Armed] = []
        self._next = 1
        self._lock = Lock()

    def add(self, fault: Fault) -> int:
        """Switch a fault on; the answer is the number to remove it by."""
        with self._lock:
            number = self._next
            self._next += 1
            self._armed.append(_Armed(number, fault))
            return number

    def remove(self, number: int) -> bool:
        """Switch one off; False when there is none of that number."""
        with self._lock:
            before = len(self._armed)
            self._armed = [entry for entry in self._armed if entry.number != number]
            return len(self._armed) < before

    def clear(self) -> None:
        """Switch all off."""
        with self._lock:
            self._armed.clear()

    def acting_on(self, subject: Subject) -> list[Fault]:
        """Count the request and answer the faults that act on it, oldest first."""
        acting: list[Fault] = []
        with self._lock:
            for entry in self._armed:
                if not entry.fault.falls_on(subject):
                    continue
                entry.seen += 1
                last = entry.fault.count
                if entry.seen < entry.fault.from_nth or (last is not None and entry.acted >= last):
                    continue
                entry.acted += 1
                acting.append(entry.fault)
        return acting

    def listed(self) -> list[dict[str, Any]]:
        """The faults as JSON values with number and counters."""
        with self._lock:
            return [
                {"number": entry.number, "seen": entry.seen, "acted": entry.acted}
                | fault_document(entry.fault)
                for entry in self._armed
            ]


def parse_fault(document: Mapping[str, Any]) -> Fault:
    """Read the JSON form: the selectors of `SELECTORS` and the settings of that fault's name."""
    name = document.get("name")
    if name not in FAULTS:
        raise FaultError(f"a fault's name is one of {', '.join(sorted(FAULTS))}")
    defaults = FAULTS[name]
    unknown = set(document) - set(SELECTORS) - set(defaults)
    if unknown:
        raise FaultError(f"{name} has no {', '.join(sorted(unknown))}")
    if document.get("kind") not in (None, "list", "detail"):
        raise FaultError("kind is list or detail")
    for setting, choices in CHOICES.get(str(name), {}).items():
        if document.get(setting, choices[0]) not in (*choices, defaults[setting]):
            raise FaultError(f"a {setting} of {name} is one of {', '.join(choices)}")
    settings = {setting: document.get(setting, value) for setting, value in defaults.items()}
    for setting, value in defaults.items():
        if value is not None and not _same_kind(settings[setting], value):
            raise FaultError(f"{name}.{setting} is of the wrong type")
    for selector in ("page", "from", "count"):
        if not isinstance(document.get(selector, 1), int | None):
            raise FaultError(f"{selector} is a whole number")
    days, key, item = document.get("days"), document.get("key"), document.get("id")
    return Fault(
        name=name,
        platform=document.get("platform"),
        key=None if key is None else str(key),
        kind=document.get("kind"),
        page=document.get("page"),
        item_id=None if item is None else str(item),
        from_nth=int(document.get("from", 1)),
        count=document.get("count"),
        days=None if days is None else tuple(int(day) for day in days),
        settings=settings,
    )


def _same_kind(given: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(given, bool):
        return isinstance(default, bool) and isinstance(given, bool)
    if isinstance(default, int | float):
        return isinstance(given, int | float)
    return isinstance(given, str)


def fault_document(fault: Fault) -> dict[str, Any]:
    """The JSON form of a fault."""
    document: dict[str, Any] = {
        "name": fault.name,
        "platform": fault.platform,
        "key": fault.key,
        "kind": fault.kind,
        "page": fault.page,
        "id": fault.item_id,
        "from": fault.from_nth,
        "count": fault.count,
        "days": None if fault.days is None else list(fault.days),
    }
    return document | dict(fault.settings)

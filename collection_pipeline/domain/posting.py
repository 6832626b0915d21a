"""A posting as platforms deliver it: columns, list signature, detail, sightings (R22, R32)."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

import orjson

SIGNATURE_HEX_CHARS = 32


class DeadlineKind(StrEnum):
    """What a posting says about its end; only DATE carries a deadline."""

    DATE = "DATE"
    ALWAYS_OPEN = "ALWAYS_OPEN"
    UNTIL_FILLED = "UNTIL_FILLED"
    UNKNOWN = "UNKNOWN"


class DetailState(StrEnum):
    """Where a posting's detail stands (R22).

    NONE: the platform's list carries everything. PENDING: waits to be tried. DONE: stored.
    GONE: the platform says that the posting no longer exists; it stays until it is missed.
    """

    NONE = "NONE"
    PENDING = "PENDING"
    DONE = "DONE"
    GONE = "GONE"


class PostingStatus(StrEnum):
    """OPEN: sighted last time. MISSED: not sighted by safe cycles. CLOSED: missed often enough."""

    OPEN = "OPEN"
    MISSED = "MISSED"
    CLOSED = "CLOSED"


@dataclass(frozen=True)
class Deadline:
    """``at`` is naive UTC and only given for ``DeadlineKind.DATE``."""

    kind: DeadlineKind
    at: datetime | None = None

    def __post_init__(self) -> None:
        if (self.kind is DeadlineKind.DATE) != (self.at is not None):
            raise ValueError("a deadline has an instant exactly when its kind is DATE")


UNKNOWN_DEADLINE = Deadline(DeadlineKind.UNKNOWN)


@dataclass(frozen=True)
class PostingFields:
    """The columns of ``job_postings`` that a platform can fill; instants are naive UTC.

    ``career_from`` and ``career_to`` are years of experience; ``career_to`` is ``None`` for "no
    upper limit". ``remote`` is one of ``remote``, ``hybrid``, ``on-site`` or ``None``.
    """

    title: str
    company_name: str | None = None
    location_raw: str | None = None
    region: str | None = None
    career_from: int | None = None
    career_to: int | None = None
    employment_type: str | None = None
    remote: str | None = None
    salary: str | None = None
    skills: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    url: str | None = None
    language: str | None = None
    description: str | None = None
    published_at: datetime | None = None
    opened_at: datetime | None = None
    deadline: Deadline = UNKNOWN_DEADLINE


@dataclass(frozen=True)
class PostingContent:
    """What a list row says of its posting.

    ``raw`` is the row's JSON as the platform sent it; ``unparsed`` names the fields that were
    present but did not parse (null here, raw form kept).
    """

    fields: PostingFields
    raw: str
    unparsed: tuple[str, ...] = ()


class ListedPosting:
    """One row of a list page: its id, its signature, and its content once somebody asks for it.

    Most rows of a day are unchanged, and an unchanged row is never rewritten (R34a), so its content
    is not read at all. ``signature`` is made by ``list_signature``. ``read`` is called at most once
    and may raise what the platform's reading raises.
    """

    def __init__(
        self, source_job_id: str, signature: str, read: Callable[[], PostingContent]
    ) -> None:
        self.source_job_id = source_job_id
        self.signature = signature
        self._read: Callable[[], PostingContent] | None = read
        self._content: PostingContent | None = None

    @classmethod
    def of(
        cls,
        source_job_id: str,
        fields: PostingFields,
        signature: str,
        raw: str,
        unparsed: tuple[str, ...] = (),
    ) -> Self:
        """A row whose content is known already."""
        content = PostingContent(fields, raw, unparsed)
        return cls(source_job_id, signature, lambda: content)

    @property
    def content(self) -> PostingContent:
        """Everything that the row says; what it was read from is forgotten then."""
        if self._content is None:
            if self._read is None:
                raise RuntimeError("a row's content is read by one thread")
            self._content = self._read()
            self._read = None
        return self._content

    @property
    def fields(self) -> PostingFields:
        """The columns."""
        return self.content.fields

    @property
    def raw(self) -> str:
        """The row's JSON."""
        return self.content.raw

    @property
    def unparsed(self) -> tuple[str, ...]:
        """Names of the fields that did not parse."""
        return self.content.unparsed

    def __repr__(self) -> str:
        return f"ListedPosting({self.source_job_id!r}, {self.signature!r})"


@dataclass(frozen=True)
class PostingDetail:
    """What a detail adds: ``changes`` maps names of ``PostingFields`` to their new values."""

    changes: Mapping[str, Any]
    raw: str
    unparsed: tuple[str, ...] = ()


@dataclass(frozen=True)
class GonePosting:
    """The detail says that the posting no longer exists: neither a failure nor a close (R22)."""


@dataclass(frozen=True)
class KnownPosting:
    """What the store knows of an id: its signature, detail state, and if this cycle sighted it.

    ``body_trimmed``: it was closed for so long that what the platform had sent was dropped.
    ``unparsed``: the fields that did not parse when it was last read.
    """

    signature: str
    detail_state: DetailState
    seen_in_cycle: bool
    detail_tried: bool = False
    body_trimmed: bool = False
    unparsed: tuple[str, ...] = ()


class SignatureChange(StrEnum):
    """How a row compares with what is stored."""

    NEW = "NEW"
    CHANGED = "CHANGED"
    SAME = "SAME"
    REVERSIONED = "REVERSIONED"


def list_signature(version: int, named_fields: Mapping[str, object]) -> str:
    """``version:digest`` of a row's named fields, never of counters such as views (R22a).

    ``named_fields`` holds JSON values, as they came; their order does not matter. Raises
    ``RecursionError`` for values that are nested beyond the stack.
    """
    try:
        canonical = orjson.dumps(named_fields, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # a lone surrogate, or an integer beyond 64 bits
        canonical = _CANONICAL.encode(named_fields).encode("utf-8", "surrogatepass")
    return f"{version}:{hashlib.sha256(canonical).hexdigest()[:SIGNATURE_HEX_CHARS]}"


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def signature_change(
    known: str | None, listed: str, *, body_trimmed: bool = False
) -> SignatureChange:
    """Compare signatures. A new version alone rewrites the row but asks for no detail again.

    A row whose body was trimmed counts as changed, so that a posting that returns is whole again.
    """
    if known is None:
        return SignatureChange.NEW
    if body_trimmed:
        return SignatureChange.CHANGED
    if known == listed:
        return SignatureChange.SAME
    if known.partition(":")[0] != listed.partition(":")[0]:
        return SignatureChange.REVERSIONED
    return SignatureChange.CHANGED


def needs_detail(known: KnownPosting | None, listed_signature: str) -> bool:
    """New, changed and trimmed rows do, and rows whose detail waits; none that was tried today."""
    if known is None:
        return True
    if known.detail_tried:
        return False
    change = signature_change(known.signature, listed_signature, body_trimmed=known.body_trimmed)
    return change is SignatureChange.CHANGED or known.detail_state is DetailState.PENDING


@dataclass(frozen=True)
class DetailTarget:
    """A posting of this cycle whose detail waits, in list order."""

    source_job_id: str
    position: int = field(default=0)

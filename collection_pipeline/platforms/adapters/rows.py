"""One JSON object, read field by field: what does not parse is null and remembered by name (R10).

Absent, null and blank are alike and no drift; a value of an unexpected form is. Names are the
wire's own, with a dot for nesting (``company.name``).
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from urllib.parse import urlsplit

from collection_pipeline.domain.posting import (
    UNKNOWN_DEADLINE,
    Deadline,
    ListedPosting,
    PostingContent,
    PostingFields,
    list_signature,
)
from collection_pipeline.platforms.adapters.moments import deadline_of, instant_of, instant_of_epoch
from collection_pipeline.platforms.adapters.parsing import JsonObject, raw_json, whole_number
from collection_pipeline.platforms.adapters.text import (
    LIST_ENTRIES,
    LIST_ENTRY_CHARS,
    MARKUP_CHARS,
    RAW_CHARS,
    REMEMBERED_CHARS,
    REMEMBERED_TEXTS,
    TITLE_CHARS,
    URL_CHARS,
    clean,
    cut,
)
from collection_pipeline.platforms.contract import BadResponse


def _same(text: str) -> str:
    return text


def _cleaned(text: str, of: Callable[[str], str]) -> str:
    """``text`` cleaned, turned by ``of``, and cleaned again where that changed it."""
    before = clean(text if len(text) <= MARKUP_CHARS else text[:MARKUP_CHARS])
    after = of(before)
    return before if after is before else clean(after)


@cache
def _keys(path: str) -> tuple[str, ...]:
    """The keys of a path; adapters name a fixed number of them in code."""
    return tuple(path.split("."))


def _split(text: str, of: Callable[[str], str]) -> tuple[str, ...]:
    parts = (cut(clean(part), LIST_ENTRY_CHARS) for part in _cleaned(text, of).split(","))
    return tuple(dict.fromkeys(part for part in parts if part))[:LIST_ENTRIES]


_split_again = lru_cache(REMEMBERED_TEXTS)(_split)
"""Lists of occupations and places are the same few in most rows."""
_PLAIN_LINK = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?([/?#]\S*)?")


class WirePaths:
    """Values of one row at fixed paths, such as ``position.title``, found in one pass."""

    def __init__(self, *paths: str) -> None:
        owners: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for path in paths:
            *owner, key = path.split(".")
            owners.setdefault(tuple(owner), []).append((path, key))
        self._owners = tuple(owners.items())

    def of(self, row: JsonObject) -> dict[str, object]:
        """The values by path; a path through something that is no object is left out."""
        found: dict[str, object] = {}
        for owner, leaves in self._owners:
            holder: object = row
            for key in owner:
                holder = holder.get(key) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                for path, key in leaves:
                    found[path] = holder.get(key)
        return found


class RowReader:
    """Reads columns out of one object; ``unparsed`` names what was there but did not parse."""

    def __init__(self, row: JsonObject) -> None:
        self.row = row
        self._unparsed: dict[str, None] = {}

    @property
    def unparsed(self) -> tuple[str, ...]:
        """Names of the fields that did not parse, in the order of reading."""
        return tuple(self._unparsed)

    def refuse(self, path: str) -> None:
        """Remember that the field at ``path`` did not parse."""
        self._unparsed[path] = None

    def value(self, path: str) -> object:
        """The value at ``path`` (``a.b`` for nesting); ``None`` when absent or null."""
        found: object = self.row
        for key in _keys(path):
            if not isinstance(found, dict):
                if found is not None:
                    self._refuse_owner(path)
                return None
            found = found.get(key)
        return found

    def _refuse_owner(self, path: str) -> None:
        """The first value on the way to ``path`` that should have been an object."""
        found: object = self.row
        keys = _keys(path)
        for depth, key in enumerate(keys):
            if not isinstance(found, dict):
                self.refuse(".".join(keys[:depth]))
                return
            found = found.get(key)

    def text(self, path: str, limit: int, of: Callable[[str], str] = _same) -> str | None:
        """The text at ``path``, turned by ``of``, cleaned and cut to ``limit`` characters."""
        value = self.value(path)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(path)
            return None
        return cut(_cleaned(value, of), limit) or None

    def title(self, path: str, of: Callable[[str], str] = _same) -> str:
        """The title, without which there is no posting: ``BadResponse`` when it is missing."""
        title = self.text(path, TITLE_CHARS, of)
        if title is None:
            raise BadResponse(f"a row has no {path}")
        return title

    def number(self, path: str, highest: int) -> int | None:
        """A whole number from 0 to ``highest``, given as number or text."""
        value = self.value(path)
        if value is None or value == "":
            return None
        number = whole_number(value)
        if number is None or not 0 <= number <= highest:
            self.refuse(path)
            return None
        return number

    def flag(self, path: str) -> bool | None:
        """True or false."""
        value = self.value(path)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(path)
        return None

    def texts(
        self, path: str, labels: tuple[str, ...] = (), of: Callable[[str], str] = _same
    ) -> tuple[str, ...]:
        """Distinct texts of the list at ``path``: strings, or objects with one of ``labels``."""
        value = self.value(path)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.refuse(path)
            return ()
        found: dict[str, None] = {}
        for entry in value:
            text = self._label(entry, labels)
            if text is None:
                self.refuse(path)
            else:
                found[cut(_cleaned(text, of), LIST_ENTRY_CHARS)] = None
        return tuple(text for text in found if text)[:LIST_ENTRIES]

    def split_texts(self, path: str, of: Callable[[str], str] = _same) -> tuple[str, ...]:
        """Distinct texts of the comma-joined string at ``path``."""
        value = self.value(path)
        if value is None:
            return ()
        if not isinstance(value, str):
            self.refuse(path)
            return ()
        return (_split_again if len(value) <= REMEMBERED_CHARS else _split)(value, of)

    def link(self, path: str, of: Callable[[str], str] = _same) -> str | None:
        """An http(s) URL; one longer than its column is refused, since a cut one leads nowhere."""
        url = self.text(path, URL_CHARS + 1, of)
        if url is None or (len(url) <= URL_CHARS and _PLAIN_LINK.fullmatch(url)):
            return url
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("")
        if len(url) > URL_CHARS or parts.scheme not in {"http", "https"} or not parts.netloc:
            self.refuse(path)
            return None
        return url

    def instant(self, path: str) -> datetime | None:
        """An ISO time as naive UTC."""
        text = self.text(path, 100)
        instant = None if text is None else instant_of(text)
        if text is not None and instant is None:
            self.refuse(path)
        return instant

    def epoch(self, path: str, *, per_second: int = 1) -> datetime | None:
        """Seconds or milliseconds since 1970, as number or text, as naive UTC."""
        value = self.value(path)
        if value is None or value == "":
            return None
        number = whole_number(value)
        instant = None if number is None else instant_of_epoch(number, per_second=per_second)
        if instant is None:
            self.refuse(path)
        return instant

    def deadline(self, path: str) -> Deadline:
        """An ISO deadline; nothing there is UNKNOWN, and so is what does not parse."""
        text = self.text(path, 100)
        if text is None:
            return UNKNOWN_DEADLINE
        deadline = deadline_of(text)
        if deadline is None:
            self.refuse(path)
            return UNKNOWN_DEADLINE
        return deadline

    def raw(self, value: JsonObject) -> str:
        """``value`` as JSON for a column; null where it is longer than one statement should be."""
        raw = raw_json(value)
        if len(raw) <= RAW_CHARS:
            return raw
        self.refuse("raw")
        return "null"

    @staticmethod
    def _label(entry: object, labels: tuple[str, ...]) -> str | None:
        if isinstance(entry, str) and not labels:
            return entry
        if isinstance(entry, dict):
            return next((entry[key] for key in labels if isinstance(entry.get(key), str)), None)
        return None


def listed_posting(
    row: JsonObject,
    source_job_id: str,
    signature_version: int,
    signed: Mapping[str, object],
    read: Callable[[RowReader], PostingFields],
) -> ListedPosting:
    """A list row with its signature over ``signed``; ``read`` gives its columns when asked for.

    ``signed`` are the wire's own values of the named fields (R22a): comparing what was sent spares
    reading a row that is known. Raises ``BadResponse`` for a row nested beyond the stack.
    """
    try:
        signature = list_signature(signature_version, signed)
    except RecursionError:
        raise BadResponse("a row is nested too deeply") from None

    def content() -> PostingContent:
        reader = RowReader(row)
        fields = read(reader)
        return PostingContent(fields, reader.raw(row), reader.unparsed)

    return ListedPosting(source_job_id, signature, content)


def unordered(value: object, of: Callable[[str], str] = _same) -> object:
    """A list, or a comma-joined text, in an order of its own: the wire's says nothing (R22a)."""
    if isinstance(value, str):
        return sorted(of(value).split(","))
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return sorted(of(entry) for entry in value)
    return value

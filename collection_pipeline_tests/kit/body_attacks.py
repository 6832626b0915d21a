"""Hostile bodies, made from a genuine list, and how a cycle must take each of them (R10).

Invariant: an attack changes the first row, or the envelope, and nothing else. What a column cannot
hold is left out of it (``COMPLETE``); what makes a body no list of that platform ends the cycle.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from collection_pipeline_tests.kit.fault_table import COMPLETE, FORMS, NONE
from collection_pipeline_tests.kit.mutating_proxy import places, rows_of

Bend = Callable[[bytes, str], bytes]
"""Makes a hostile body of a genuine one; the form says where its title and total stand."""

TITLES = {"saramin": "title", "jumpit": "title", "greenhouse": "title", "lever": "text"}
TOTALS = {
    "saramin": ("jobs", "total"),
    "jumpit": ("result", "totalCount"),
    "greenhouse": ("meta", "total"),
}
DEEP = 100_000


@dataclass(frozen=True)
class BodyAttack:
    """A name, how the body is bent, the table's word, and the forms for which it is another."""

    name: str
    bend: Bend
    end: str
    others: Mapping[str, str] = field(default_factory=dict)

    def end_of(self, form: str) -> str:
        """The word for ``form``."""
        return self.others.get(form, self.end)


def dumped(body: Any) -> bytes:
    """JSON that may hold lone surrogates, escaped as a platform would send them."""
    return json.dumps(body).encode()


def title_key(form: str) -> str:
    """The key of a row that holds its title."""
    return TITLES.get(form, "position")


def every_leaf(value: Any) -> Bend:
    """``value`` in place of every leaf of the first row but its id and its title."""

    def bend(body: bytes, form: str) -> bytes:
        whole = json.loads(body)
        row = rows_of(whole)[0]
        for holder, key in places(row):
            is_named = isinstance(holder, dict) and key in {"id", title_key(form)}
            if not is_named and not isinstance(holder[key], dict | list):
                holder[key] = deepcopy(value)
        return dumped(whole)

    return bend


def every_text(change: Callable[[str], str]) -> Bend:
    """Every text of the first row changed, its title and not its id."""

    def bend(body: bytes, form: str) -> bytes:
        whole = json.loads(body)
        row = rows_of(whole)[0]
        for holder, key in places(row):
            if isinstance(holder[key], str) and key != "id":
                holder[key] = change(holder[key])
        return dumped(whole)

    return bend


def row_id(value: Any) -> Bend:
    """``value`` as the first row's id."""

    def bend(body: bytes, form: str) -> bytes:
        whole = json.loads(body)
        rows_of(whole)[0]["id"] = value
        return dumped(whole)

    return bend


def total(value: Any) -> Bend:
    """``value`` as the list's total."""

    def bend(body: bytes, form: str) -> bytes:
        whole = json.loads(body)
        owner, key = TOTALS[form]
        whole[owner][key] = value
        return dumped(whole)

    return bend


def spliced(text: bytes) -> Bend:
    """``text`` in front of the first key of the first row."""

    def bend(body: bytes, form: str) -> bytes:
        whole = json.loads(body)
        mark = "splice-here"
        row = rows_of(whole)[0]
        kept = dict(row)
        row.clear()
        row.update({mark: 0, **kept})
        return dumped(whole).replace(f'"{mark}": 0'.encode(), text)

    return bend


def bytes_of(change: Callable[[bytes], bytes]) -> Bend:
    """The body as bytes."""
    return lambda body, _form: change(body)


def as_korean(body: bytes) -> bytes:
    """The body in an encoding that Korean servers use, with at least one Korean text."""
    whole = json.loads(body)
    rows_of(whole)[0]["x"] = "한글"
    return json.dumps(whole, ensure_ascii=False).encode("cp949", "replace")


def twice_in_envelope(body: bytes) -> bytes:
    """A key twice in the outermost object: a bare list has none, so its first row has it."""
    return body.replace(b'{"', b'{"x": 1, "x": 2, "', 1)


_VALUES: dict[str, Any] = {
    "400 digits": 10**400,
    "400 digits, negative": -(10**400),
    "400 digits as text": "9" * 400,
    "a float beyond integers": 1e308,
    "minus one": -1,
    "zero": 0,
    "true": True,
    "year 0": "0000-00-00",
    "year 0, with a time": "0000-00-00T00:00:00Z",
    "year 1": "0001-01-01T00:00:00+09:00",
    "year 9999": "9999-12-31T23:59:59-12:00",
    "year -1": "-0001-01-01",
    "year 10000 in seconds": 253_402_300_800,
    "month 13": "2026-13-01",
    "hour 25": "2026-02-28T25:61:61",
    "an empty text": "",
    "an empty list": [],
    "an empty object": {},
    "a list of lists": [[[]]],
    "a list of odd things": [None, 1, {}, [], "a", {"name": 1}, {"name": "b"}],
    "a long list": ["x" * 300] * 500,
    "a lone surrogate": "\ud800",
    "NUL": "\0",
    "a giant text": "가" * 60_000,
    "a giant text of 4-byte characters": "😀" * 30_000,
    "a text longer than any column": "x" * 250_000,
    "control characters": "\x01\x02\x1f\x7f\u2028\ufffe" * 1_000,
    "quotes and backslashes": "\\'\"%s{0}" * 20_000,
    "a character that unfolds": "\ufdfa" * 600,
    "an entity of endless digits": "&#" + "9" * 5_000 + ";",
    "open brackets": "<" * 100_000,
    "a script": "https://x/?q=<script>alert(1)</script>",
    "no host": "http://[::1",
    "commas": "," * 10_000,
}
_IDS: dict[str, Any] = {
    "NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "400 digits": 10**400,
    "400 digits as text": "9" * 400,
    "minus one": -1,
    "zero": 0,
    "a fraction": 1.5,
    "true": True,
    "null": None,
    "a list": [],
    "an object": {},
    "empty": "",
    "blank": " \t",
    "a space inside": "a b",
    "a line end": "a\nb",
    "a path": "..",
}
_TOTALS: dict[str, Any] = {
    "400 digits": 10**400,
    "400 digits as text": "9" * 400,
    "minus one": -1,
    "a fraction": 1.5,
    "true": True,
    "null": None,
    "a text": "many",
    "a list": [],
}
_NO_TOTAL = dict.fromkeys((form for form in FORMS if form not in TOTALS), NONE)

BODY_ATTACKS = (
    *(BodyAttack(f"every leaf: {name}", every_leaf(v), COMPLETE) for name, v in _VALUES.items()),
    *(BodyAttack(f"id: {name}", row_id(v), "BAD_RESPONSE") for name, v in _IDS.items()),
    *(BodyAttack(f"total: {n}", total(v), "BAD_RESPONSE", _NO_TOTAL) for n, v in _TOTALS.items()),
    BodyAttack("NUL and surrogates in every text", every_text(lambda t: f"\0{t}\udfff"), COMPLETE),
    BodyAttack("every text 100 times", every_text(lambda t: t * 100), COMPLETE),
    BodyAttack("every text a lone surrogate", every_text(lambda _: "\ud800"), "BAD_RESPONSE"),
    BodyAttack("every text blank", every_text(lambda _: " \0\t"), "BAD_RESPONSE"),
    BodyAttack("a row of 900,000 elements", spliced(b'"x": [' + b"0," * 900_000 + b"0]"), COMPLETE),
    BodyAttack(
        "a row of 2,000,000 elements",
        spliced(b'"x": [' + b"0," * 2_000_000 + b"0]"),
        "BAD_RESPONSE",
    ),
    BodyAttack(
        "a row of 5,000,000 objects",
        spliced(b'"x": [' + b"{}," * 5_000_000 + b"0]"),
        "BAD_RESPONSE",
    ),
    BodyAttack("a row of 15 MB", spliced(b'"x": "' + b"x" * 15_000_000 + b'"'), COMPLETE),
    BodyAttack(
        "a row nested 100,000 deep",
        spliced(b'"x": ' + b"[" * DEEP + b"]" * DEEP),
        "BAD_RESPONSE",
    ),
    BodyAttack("nested 100,000 deep", bytes_of(lambda b: b"[" * DEEP + b), "BAD_RESPONSE"),
    BodyAttack("objects 100,000 deep", bytes_of(lambda b: b'{"a":' * DEEP + b), "BAD_RESPONSE"),
    *(
        BodyAttack(f"{constant} in a row", spliced(f'"x": {constant}'.encode()), "BAD_RESPONSE")
        for constant in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000, "0x1", "01", "+1")
    ),
    BodyAttack("a key twice in a row", spliced(b'"x": 1, "x": 2'), "BAD_RESPONSE"),
    BodyAttack("a second id in a row", spliced(b'"id": 1, "\\u0069d": 2'), "BAD_RESPONSE"),
    BodyAttack("a key twice in the envelope", bytes_of(twice_in_envelope), "BAD_RESPONSE"),
    BodyAttack("empty", bytes_of(lambda _: b""), "BAD_RESPONSE"),
    BodyAttack("white space", bytes_of(lambda _: b" \r\n\t" * 1_000), "BAD_RESPONSE"),
    BodyAttack("NUL bytes", bytes_of(lambda _: b"\0" * 1_000), "BAD_RESPONSE"),
    BodyAttack("a byte order mark", bytes_of(lambda b: b"\xef\xbb\xbf" + b), COMPLETE),
    BodyAttack("two byte order marks", bytes_of(lambda b: b"\xef\xbb\xbf" * 2 + b), "BAD_RESPONSE"),
    BodyAttack("UTF-16", bytes_of(lambda b: b.decode().encode("utf-16")), "BAD_RESPONSE"),
    BodyAttack("cp949", bytes_of(as_korean), "BAD_RESPONSE"),
    BodyAttack("surrogates as bytes", spliced(b'"x": "\xed\xa0\x80"'), "BAD_RESPONSE"),
    BodyAttack("something behind", bytes_of(lambda b: b + b"x"), "BAD_RESPONSE"),
    BodyAttack("twice", bytes_of(lambda b: b + b), "BAD_RESPONSE"),
    BodyAttack("lines of JSON", bytes_of(lambda b: b + b"\n" + b), "BAD_RESPONSE"),
    BodyAttack("a guard before it", bytes_of(lambda b: b")]}',\n" + b), "BAD_RESPONSE"),
    BodyAttack("a comment", bytes_of(lambda b: b"/* */" + b), "BAD_RESPONSE"),
    BodyAttack("HTML around it", bytes_of(lambda b: b"<pre>" + b + b"</pre>"), "BAD_RESPONSE"),
    BodyAttack("white space around it", bytes_of(lambda b: b"\r\n \t" + b + b"\n"), COMPLETE),
)

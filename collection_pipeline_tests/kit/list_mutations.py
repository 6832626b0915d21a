"""Structure-aware mutations of a list body, and what a bent body may honestly lose.

Invariant: one mutation a body. What it may lose is read off the bent body by the platform's own
rules, by a reader that shares nothing with the adapters: where a total is stated it says how many
there are, Wanted's link says where a list ends, and a short page is the end of Lever's.
"""

import json
import random
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any

from collection_pipeline_tests.kit.body_attacks import TOTALS, title_key
from collection_pipeline_tests.kit.mutating_proxy import (
    MUTATIONS,
    Mutation,
    encoded,
    places,
    rows_of,
)

TOLERANCE = {"saramin": 0.01, "jumpit": 0.10, "greenhouse": 0.01}
TOLERATED_ROWS = 3
ODD_TEXTS = ("\0", "\ud800", "\u202e", "\u0301" * 50, "\ufeff", "\ufdfa", "\U0010ffff", "'\"\\%s")
ODD_IDS: tuple[Any, ...] = (
    None,
    "",
    0,
    -1,
    1.5,
    True,
    [],
    {},
    "a b",
    "\0",
    "\ud800",
    10**400,
    "x" * 192,
    "..",
)


@dataclass(frozen=True)
class Page:
    """A genuine page of a list: its body, its ids, those behind it, and where it begins."""

    body: bytes
    ids: tuple[str, ...]
    behind: frozenset[str]
    before: int
    size: int


def mutate(form: str, body: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The name of a mutation that suits the form, and the bent body."""
    own = {name: partial(of, form) for name, of in _OWN.items() if name not in _needless(form)}
    kinds: dict[str, Mutation] = {**MUTATIONS, **own}
    name = chance.choice(sorted(kinds))
    return name, _bytes(kinds[name](json.loads(body), chance))


def honest_loss(form: str, page: Page, bent: bytes) -> frozenset[str]:
    """Ids that nobody can know of who reads ``bent`` in the place of ``page``."""
    try:
        body = json.loads(bent)
    except ValueError:
        return frozenset()
    if form == "lever":
        return _loss(page, body, is_last=isinstance(body, list) and len(body) < page.size)
    if form.startswith("wanted") and isinstance(body, dict):
        links, rows = body.get("links"), body.get("data")
        # Behind a full page a link that was left out is a lost key, not an end.
        is_full = isinstance(rows, list) and len(rows) >= page.size
        is_last = (
            isinstance(links, dict)
            and links.get("next") is None
            and ("next" in links or not is_full)
        )
        return _loss(page, rows, is_last=is_last)
    if form == "saramin":
        total = _stated_total(body)
        is_end = total is not None and total <= page.before + page.size
        return page.behind if is_end else frozenset()
    return frozenset()


def tolerated(form: str, total: int) -> int:
    """Rows that a cycle may be short of the total; none where no total is stated (R23a)."""
    if form not in TOLERANCE:
        return 0
    return max(TOLERATED_ROWS, floor(total * TOLERANCE[form]))


def _loss(page: Page, rows: Any, *, is_last: bool) -> frozenset[str]:
    if not isinstance(rows, list):
        return frozenset()
    told = {
        str(row.get("id")).strip()
        for row in rows
        if isinstance(row, dict) and row.get("status") not in ("close", "closed", "draft")
    }
    return frozenset(page.ids) - told | (page.behind if is_last else frozenset())


def _stated_total(body: Any) -> int | None:
    jobs = body.get("jobs") if isinstance(body, dict) else None
    try:
        return int(jobs["total"]) if isinstance(jobs, dict) else None
    except (KeyError, TypeError, ValueError):
        return None


def _needless(form: str) -> frozenset[str]:
    absent = set() if form in TOTALS else {"another total"}
    links = {"another next link", "lost next link"}
    return frozenset(absent if form.startswith("wanted") else absent | links)


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    try:
        return encoded(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()


def _row(body: Any, chance: random.Random) -> Any:
    return chance.choice(rows_of(body))


def _swapped(form: str, body: Any, chance: random.Random) -> Any:
    row = _row(body, chance)
    one, other = chance.sample(sorted(row), 2)
    row[one], row[other] = row[other], row[one]
    return body


def _repeated_row(form: str, body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    rows[chance.randrange(len(rows))] = deepcopy(_row(body, chance))
    return body


def _added_row(form: str, body: Any, chance: random.Random) -> Any:
    rows = rows_of(body)
    rows.insert(chance.randrange(len(rows)), deepcopy(_row(body, chance)))
    return body


def _shuffled(form: str, body: Any, chance: random.Random) -> Any:
    chance.shuffle(rows_of(body))
    return body


def _odd_texts(form: str, body: Any, chance: random.Random) -> Any:
    for holder, key in places(_row(body, chance)):
        if isinstance(holder[key], str) and key != "id":
            holder[key] = chance.choice((holder[key], "")) + chance.choice(ODD_TEXTS)
    return body


def _odd_id(form: str, body: Any, chance: random.Random) -> Any:
    _row(body, chance)["id"] = chance.choice(ODD_IDS)
    return body


def _emptied_row(form: str, body: Any, chance: random.Random) -> Any:
    row = _row(body, chance)
    for key in row.keys() - {"id", title_key(form)}:
        row[key] = None
    return body


def _closed_row(form: str, body: Any, chance: random.Random) -> Any:
    _row(body, chance)["status"] = chance.choice(["close", "closed", "draft", "x", None, 1])
    return body


def _another_total(form: str, body: Any, chance: random.Random) -> Any:
    owner, key = TOTALS[form]
    true, rows = int(body[owner][key]), len(rows_of(body))
    body[owner][key] = chance.choice(
        [0, 1, rows, true - 1, true + 1, true // 2, true * 2, 10**6, str(true), -1, None, "x"]
    )
    return body


def _another_next_link(form: str, body: Any, chance: random.Random) -> Any:
    link = body["links"]["next"] or "/api/v4/jobs?offset=16&limit=16"
    body["links"]["next"] = chance.choice(
        [
            None,
            "",
            7,
            link + "0",
            "https://evil.example" + link,
            "//evil.example" + link,
            link.replace("offset", "offsets"),
            link.replace("limit=", "limit=9"),
            link + "&tag_type_ids=1&job_group_id=1",
            link + "&x=" + "y" * 2_000,
            link.partition("?")[0],
            "?offset=0",
            "javascript:alert(1)",
        ]
    )
    return body


def _lost_next_link(form: str, body: Any, chance: random.Random) -> Any:
    del body["links"]["next"]
    return body


_OWN = {
    "added row": _added_row,
    "another next link": _another_next_link,
    "another total": _another_total,
    "closed row": _closed_row,
    "emptied row": _emptied_row,
    "lost next link": _lost_next_link,
    "odd id": _odd_id,
    "odd texts": _odd_texts,
    "repeated row": _repeated_row,
    "shuffled rows": _shuffled,
    "swapped values": _swapped,
}

"""From a reply's bytes to JSON of the expected kind, or ``BadResponse``; never an empty list (R10).

A captcha page, an XML error with HTTP 200 or a body that stops half-way must not look like a
platform without postings. What Python's parser would let pass but JSON or MySQL would not (NaN,
infinite numbers, nesting beyond the stack) is refused as well, and so is what would take some
hundred bytes of memory for each of its own.
"""

import json
import math
import re
from collections.abc import Sequence

import orjson

from collection_pipeline.platforms.contract import (
    BadResponse,
    InvalidCondition,
    PlatformReply,
    Position,
)

JsonObject = dict[str, object]

SOURCE_JOB_ID_CHARS = 191
HIGHEST_COUNT = 999_999_999
MOST_VALUES = 1_000_000
"""In one body; five thousand postings with their texts have half as many commas and brackets."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_ID = re.compile("[^\x00-\x20\x7f\ud800-\udfff]{1,191}")


def read_json(reply: PlatformReply) -> object:
    """The reply's body as JSON; raises ``BadResponse`` for anything else."""
    if not reply.body.strip():
        raise BadResponse("the body is empty")
    if sum(map(reply.body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise BadResponse(f"the body holds more than {MOST_VALUES} values")
    try:
        text = reply.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadResponse("the body is not UTF-8") from None
    if text.lstrip().startswith("<"):
        raise BadResponse("the body is HTML or XML, not JSON")
    try:
        return json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repeats,
        )
    except RecursionError:
        raise BadResponse("the body is nested too deeply") from None
    except ValueError:
        raise BadResponse("the body is not valid JSON, or it is cut off") from None


def _without_repeats(pairs: list[tuple[str, object]]) -> JsonObject:
    """The object; two values for one key would let the last one hide rows or the next link."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadResponse("a key stands twice in one JSON object")
    return found


def read_object(reply: PlatformReply) -> JsonObject:
    """The reply's body as a JSON object."""
    return as_object(read_json(reply), "the body")


def as_object(value: object, name: str) -> JsonObject:
    """``value`` if it is an object; ``name`` says in the failure what was expected to be one."""
    if not isinstance(value, dict):
        raise BadResponse(f"changed envelope: {name} is not an object")
    return value


def as_rows(value: object, name: str) -> list[JsonObject]:
    """``value`` if it is a list of objects."""
    if not isinstance(value, list):
        raise BadResponse(f"changed envelope: {name} is not a list")
    return [as_object(row, f"a row of {name}") for row in value]


def whole_number(value: object) -> int | None:
    """An integer given as number or text, else ``None``; true and false are no numbers."""
    if isinstance(value, str) and len(value) <= 18 and value.isascii() and value.isdigit():
        return int(value)  # as nearly all are; the pattern costs several times as much
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return None


def required_count(owner: JsonObject, key: str) -> int:
    """A count that the envelope must state, such as a total."""
    count = whole_number(owner.get(key))
    if count is None or not 0 <= count <= HIGHEST_COUNT:
        raise BadResponse(f"changed envelope: {key} is missing or no count")
    return count


def source_job_id(row: JsonObject, key: str = "id") -> str:
    """A row's id as text; raises ``BadResponse`` where it is missing, empty, or no id."""
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        value = str(value) if value < 10**SOURCE_JOB_ID_CHARS else None
    if not isinstance(value, str):
        raise BadResponse(f"a row has no usable {key}")
    text = value.strip()
    # A dot segment would change the path of the detail request.
    if not _ID.fullmatch(text) or text in {".", ".."}:
        raise BadResponse(f"a row has no usable {key}")
    return text


def at_most(rows: Sequence[JsonObject], limit: int) -> None:
    """Refuse a page with more rows than were asked for: it would break the posting budget (R20)."""
    if len(rows) > limit:
        raise BadResponse(f"the page brings {len(rows)} rows, at most {limit} were asked for")


def raw_json(value: object) -> str:
    """``value`` as compact JSON that can be stored as utf8mb4; lone surrogates stay escaped."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return _unusual_json(value)


def _unusual_json(value: object) -> str:
    """What orjson refuses: lone surrogates, integers beyond 64 bits, deep nesting."""
    try:
        text = _COMPACT.encode(value)
    except RecursionError:
        raise BadResponse("a row is nested too deeply") from None
    return text if text.isprintable() else text.encode("utf-8", "backslashreplace").decode()


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def position_number(position: Position, key: str) -> int:
    """A number of a stored position; raises ``InvalidCondition`` where this platform has none."""
    value = position.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidCondition(
            f"the stored position has no {key}: it belongs to another platform or release; "
            "the next run date starts again at the first page"
        )
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond every range")
    return number

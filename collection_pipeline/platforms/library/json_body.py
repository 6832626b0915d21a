"""The portal's JSON, which may end rows with ``",}`` (section 5.1 d), read without guessing (R10).

Invariant: a text value is what was sent. The strict parse comes first; only a body that fails it is
read again without the commas that stand, outside of every string, between a value and the bracket
that closes it. Numbers stay the texts that they were, so that none is rounded or too large.
"""

import json
import re

from collection_pipeline.domain.library import LibraryFailure, LibraryReadFailed
from collection_pipeline.platforms.library.errors import bad_answer

JsonObject = dict[str, object]

_STRING = r'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)'
_NO_VALUE_BEFORE = r"[\[{:,]\s*+,"
_TRAILING = re.compile(rf"(?P<kept>{_STRING}|{_NO_VALUE_BEFORE})|,(?=\s*+[}}\]])", re.DOTALL)
MOST_VALUES = 1_000_000
"""In one page, which has at most 1,000 rows of some 30 columns."""
_CUT = "the body is cut off"
_MARK_AND_SPACE = b"\xef\xbb\xbf \t\r\n"
_BEGUN = ("true", "false", "null", "-")
_BEGUN_ESCAPE = re.compile(r"u[0-9a-fA-F]{0,4}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _NotJson(Exception):
    """Why a text is refused; ``may_be_mended`` where only a stray comma could be wrong.

    ``is_cut``: right as far as it goes, but it ends early, as a body does whose sender broke off.
    """

    def __init__(self, sentence: str, *, may_be_mended: bool = False, is_cut: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.may_be_mended = may_be_mended
        self.is_cut = is_cut


def read_json_object(body: bytes) -> JsonObject:
    """The object in ``body``, numbers as texts.

    Raises ``LibraryReadFailed``: RETRY_LATER for a body that is cut off, else BAD_ANSWER.
    """
    found = _read(body)
    if isinstance(found, _NotJson):
        # Raised here: inside the handler it would carry the parser's error, and with it the body.
        if found.is_cut:
            raise LibraryReadFailed(LibraryFailure.RETRY_LATER, found.sentence)
        raise bad_answer(found.sentence)
    return found


def _read(body: bytes) -> JsonObject | _NotJson:
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        return _NotJson(f"the body holds more than {MOST_VALUES} values")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and body.lstrip(_MARK_AND_SPACE)[:1] == b"{":
            return _NotJson(_CUT, is_cut=True)
        return _NotJson("the body is not UTF-8")
    found = _parsed(text)
    if isinstance(found, _NotJson) and found.may_be_mended:
        found = _parsed(_TRAILING.sub(lambda match: match["kept"] or "", text))
    if isinstance(found, _NotJson):
        return found
    return found if isinstance(found, dict) else _NotJson("the body is not a JSON object")


def _parsed(text: str) -> object:
    try:
        return json.loads(
            text,
            parse_int=str,
            parse_float=str,
            parse_constant=_no_constant,
            object_pairs_hook=_without_repeats,
        )
    except _NotJson as refused:
        return refused
    except RecursionError:
        return _NotJson("the body is nested too deeply")
    except json.JSONDecodeError as error:
        if _ends_early(error):
            return _NotJson(_CUT, may_be_mended=True, is_cut=True)
        return _NotJson("the body is not valid JSON", may_be_mended=True)


def _ends_early(error: json.JSONDecodeError) -> bool:
    """Whether the parser was stopped by the end of an object's text alone."""
    rest = error.doc[error.pos :].strip()
    if not error.doc.lstrip().startswith("{") or error.msg.startswith("Extra data"):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    return any(word.startswith(rest) for word in _BEGUN) or bool(_BEGUN_ESCAPE.fullmatch(rest))


def _no_constant(_: str) -> object:
    raise _NotJson("the body holds a number that JSON does not know")


def _without_repeats(pairs: list[tuple[str, object]]) -> JsonObject:
    """The object; two values for one key would let the last one hide the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotJson("a key stands twice in one JSON object")
    for name, value in pairs:
        if _SURROGATE.search(name) or (isinstance(value, str) and _SURROGATE.search(value)):
            raise _NotJson("a text is not Unicode")
    return found

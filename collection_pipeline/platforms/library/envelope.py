"""From one reply to the rows and the total in it, in every form that was seen (section 5.1, 5.3).

Invariant: rows are handed on only from an answer that says so: result OK (the form of the sister
registers has none), a total, rows whose columns are known. Rows by other names are a changed
answer, not an empty register; a real reader logged success over 0 rows for weeks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collection_pipeline.domain.library import COLUMN_OF_SPELLING, LibraryFailure, LibraryReadFailed
from collection_pipeline.platforms.contract import PlatformReply
from collection_pipeline.platforms.library.errors import (
    NO_DATA_CODE,
    OK_CODE,
    PortalResult,
    bad_answer,
    result_failure,
    status_failure,
)
from collection_pipeline.platforms.library.json_body import JsonObject, read_json_object
from collection_pipeline.platforms.library.xml_body import read_xml_result

OK_STATUS = 200
CODE_NAMES = ("resultCode", "returnReasonCode")
MESSAGE_NAMES = ("returnAuthMsg", "resultMsg", "errMsg")
HEADER_NAMES = ("header", "cmmMsgHeader")
PAGE_NAMES = ("pageNo", "page")
PAGE_ROWS_NAMES = ("numOfRows", "perPage")
MOST_WRAPPERS = 3
_COUNT = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class LibraryAnswer:
    """One page as it was answered; ``page`` and ``page_rows`` are the answer's own, if stated.

    ``total`` is ``None`` only where the portal says that there is no data (03), which it says of an
    empty register and of every page past the end.
    """

    rows: tuple[Mapping[str, str], ...]
    total: int | None
    page: int | None = None
    page_rows: int | None = None


NO_DATA = LibraryAnswer((), None)


def read_answer(reply: PlatformReply) -> LibraryAnswer:
    """The page in ``reply``; raises ``LibraryReadFailed`` with the class that the answer means."""
    if reply.status != OK_STATUS:
        raise _refusal(reply)
    body = reply.body.strip()
    if not body:
        raise LibraryReadFailed(LibraryFailure.RETRY_LATER, "the body is empty")
    if _is_markup(body):
        return _without_rows(read_xml_result(body))
    root = _unwrapped(read_json_object(body))
    result = _result(root)
    if result is None:
        if not isinstance(root.get("data"), list):
            raise _changed("no result code")
        return _page(root)
    content = root.get("body")
    if result.number != OK_CODE or content is None:
        return _without_rows(result)
    return _page(_object(content, "body"))


def _refusal(reply: PlatformReply) -> LibraryReadFailed:
    """The failure of another status: by the code in the body, else by the status itself."""
    body = reply.body.strip()
    result: PortalResult | None
    try:
        is_markup = _is_markup(body)
        result = read_xml_result(body) if is_markup else _result(_unwrapped(read_json_object(body)))
    except LibraryReadFailed:
        result = None
    if result is None or result.number in (None, OK_CODE, NO_DATA_CODE):
        return status_failure(reply.status)
    return result_failure(result)


def _without_rows(result: PortalResult) -> LibraryAnswer:
    if result.number == NO_DATA_CODE:
        return NO_DATA
    if result.number == OK_CODE:
        raise bad_answer("the portal answers OK, but without the page that was asked for")
    raise result_failure(result)


def _is_markup(body: bytes) -> bool:
    return body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")


def _unwrapped(root: JsonObject) -> JsonObject:
    """The object inside ``response``, ``OpenAPI_ServiceResponse`` or another lone wrapper."""
    for _ in range(MOST_WRAPPERS):
        inner = next(iter(root.values())) if len(root) == 1 else None
        if not isinstance(inner, dict):
            break
        root = inner
    return root


def _result(root: JsonObject) -> PortalResult | None:
    header = next((root[name] for name in HEADER_NAMES if name in root), root)
    header = _object(header, "header")
    code = next((header[name] for name in CODE_NAMES if name in header), None)
    messages = tuple(
        text for name in MESSAGE_NAMES if isinstance(text := header.get(name), str) and text
    )
    if code is None and not messages:
        return None
    return PortalResult(code if isinstance(code, str) else "", messages)


def _page(body: JsonObject) -> LibraryAnswer:
    total = _count(body.get("totalCount"))
    if total is None:
        raise _changed("no total")
    rows = _rows(body, total)
    columns = {name for row in rows for name in row}
    if rows and not any(name.strip() in COLUMN_OF_SPELLING for name in columns):
        raise _changed("no column of its rows is known")
    page, page_rows = (
        next((_count(body[name]) for name in names if name in body), None)
        for names in (PAGE_NAMES, PAGE_ROWS_NAMES)
    )
    return LibraryAnswer(rows, total, page, page_rows)


def _rows(body: JsonObject, total: int) -> tuple[Mapping[str, str], ...]:
    """The rows of a list, of ``{"item": ...}`` around a list or one row, of "" or null."""
    if "items" not in body and "data" not in body and total:
        raise _changed("no rows")
    items = body.get("items", body.get("data"))
    if isinstance(items, dict):
        if items and "item" not in items:
            raise _changed("no rows")
        items = items.get("item")
        items = [items] if isinstance(items, dict) else items
    if items is None or (isinstance(items, str) and not items.strip()):
        return ()
    if not isinstance(items, list):
        raise _changed("its rows are not a list")
    return tuple(_row(item) for item in items)


def _row(item: object) -> Mapping[str, str]:
    row: dict[str, str] = {}
    for name, value in _object(item, "row").items():
        if value is not None and not isinstance(value, str):
            raise _changed("a row holds something else than texts")
        row[name] = value if isinstance(value, str) else ""
    return row


def _count(value: object) -> int | None:
    """A count of at most nine digits, sent as a number or a text; ``None`` for anything else."""
    found = _COUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[0]) if found else None


def _object(value: object, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise _changed(f"its {name} is not an object")
    return value


def _changed(what: str) -> LibraryReadFailed:
    return bad_answer(f"the answer's form has changed: {what}")

"""The bodies of data.go.kr: two envelopes around rows, and an error in each of its carriers.

Before 2026 everything stood in `response`, rows were a list and counts were texts; since then there
is no wrapper, rows stand in `items.item`, one row is an object and counts are numbers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from collection_pipeline.simulator.library_columns import Row
from collection_pipeline.simulator.messages import JSON_TYPE, XML_TYPE, Reply, json_reply

NO_DATA, BAD_PARAMETER, NO_ACCESS, QUOTA_USED_UP, UNKNOWN_KEY = 3, 10, 20, 22, 30
RESULT_NAMES = {
    0: "NORMAL_SERVICE",
    1: "APPLICATION_ERROR",
    2: "DB_ERROR",
    3: "NODATA_ERROR",
    4: "HTTP_ERROR",
    5: "SERVICETIME_OUT",
    10: "INVALID_REQUEST_PARAMETER_ERROR",
    11: "NO_MANDATORY_REQUEST_PARAMETERS_ERROR",
    12: "NO_OPENAPI_SERVICE_ERROR",
    20: "SERVICE_ACCESS_DENIED_ERROR",
    21: "TEMPORARILY_DISABLE_THE_SERVICEKEY_ERROR",
    22: "LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR",
    30: "SERVICE_KEY_IS_NOT_REGISTERED_ERROR",
    31: "DEADLINE_HAS_EXPIRED_ERROR",
    32: "UNREGISTERED_IP_ERROR",
    33: "UNSIGNED_CALL_ERROR",
    99: "UNKNOWN_ERROR",
}
CARRIERS = ("gateway_xml", "gateway_json", "service", "flat")
ROOT = "OpenAPI_ServiceResponse"
ROWS_HERE = "@rows@"


@dataclass(frozen=True, slots=True)
class LibraryForm:
    """How a page is spelt.

    `items` is `item` or `list`, or what an empty page has instead: `text` ("") or `null`. `commas`
    leaves a comma after each row's last column; `charset` `invalid` spoils the UTF-8.
    """

    envelope: str = "bare"
    names: str = "english"
    items: str = "item"
    commas: bool = False
    charset: str = "utf-8"
    ok_code: str = "00"


def page_reply(
    rows: Sequence[Row], total: int, page: int, page_rows: int, form: LibraryForm, ids: list[str]
) -> Reply:
    """The answer with one page of rows."""
    wrapped = form.envelope == "wrapped"
    header = {"resultCode": form.ok_code, "resultMsg": RESULT_NAMES[0]}
    counts: dict[str, Any] = {"totalCount": total, "numOfRows": page_rows, "pageNo": page}
    if wrapped:
        header["type"] = "json"
        counts = {name: str(count) for name, count in counts.items()}
    body: dict[str, Any] = {"items": _items(rows, form)} | counts
    document: dict[str, Any] = {"header": header, "body": body}
    if form.commas:
        body["items"] = ROWS_HERE
    text = json.dumps({"response": document} if wrapped else document, ensure_ascii=False)
    if form.commas:
        written = (json.dumps(row, ensure_ascii=False)[:-1] + ",}" for row in rows)
        text = text.replace(f'"{ROWS_HERE}"', f"[{','.join(written)}]", 1)
    return Reply(200, _encoded(text, form.charset), JSON_TYPE, ids=tuple(ids))


def error_reply(
    carrier: str, code: int, status: int = 200, *, envelope: str = "bare", spaced: bool = False
) -> Reply:
    """An error in one of `CARRIERS`; `spaced` writes its name with blanks."""
    name = RESULT_NAMES.get(code, "UNDOCUMENTED_ERROR")
    text = name.replace("_", " ") if spaced else name
    return carried(carrier, f"{code:02d}", text, status, envelope)


def carried(carrier: str, code: str, text: str, status: int, envelope: str = "bare") -> Reply:
    """The same with any code and text."""
    gateway = {"errMsg": "SERVICE ERROR", "returnAuthMsg": text, "returnReasonCode": code}
    if carrier == "gateway_xml":
        inner = "".join(f"<{tag}>{escape(value)}</{tag}>" for tag, value in gateway.items())
        document = f"<{ROOT}><cmmMsgHeader>{inner}</cmmMsgHeader></{ROOT}>"
        return Reply(status, document.encode(), XML_TYPE)
    if carrier == "gateway_json":
        return json_reply({ROOT: {"cmmMsgHeader": gateway}}, status)
    result = {"resultCode": code, "resultMsg": text}
    if carrier == "flat":
        return json_reply({"responseTime": "2026-12-01T00:00:00"} | result, status)
    service = {"header": result}
    return json_reply({"response": service} if envelope == "wrapped" else service, status)


def _items(rows: Sequence[Row], form: LibraryForm) -> Any:
    if form.items == "text":
        return ""
    if form.items == "null":
        return None
    if form.items == "list":
        return list(rows)
    return {"item": rows[0] if len(rows) == 1 else list(rows)}


def _encoded(text: str, charset: str) -> bytes:
    if charset == "invalid":
        return text.encode().replace("도".encode(), b"\xeb\x8f", 1)
    return text.encode(charset)

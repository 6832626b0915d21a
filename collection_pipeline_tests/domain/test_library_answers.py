"""Every form of the portal's answer becomes rows or one typed failure (platforms.md 5.1, 5.3)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from collection_pipeline.domain.library import LibraryFailure, LibraryReadFailed
from collection_pipeline.platforms.contract import PlatformReply
from collection_pipeline.platforms.library.envelope import NO_DATA, LibraryAnswer, read_answer
from collection_pipeline.platforms.library.json_body import MOST_VALUES, read_json_object

RETRY, CONFIGURATION, KEY = (
    LibraryFailure.RETRY_LATER,
    LibraryFailure.CONFIGURATION,
    LibraryFailure.KEY,
)
QUOTA, BAD = LibraryFailure.QUOTA, LibraryFailure.BAD_ANSWER
ROW = {"lbrryNm": "소나무언덕3호", "insttCode": "3230000", "homepageUrl": ""}
OTHER = {"lbrryNm": '가",}나', "insttCode": "3240000", "homepageUrl": "http://a"}
CODES = {
    "01": ("APPLICATION_ERROR", RETRY),
    "02": ("DB_ERROR", RETRY),
    "04": ("HTTP_ERROR", RETRY),
    "05": ("SERVICETIME_OUT", RETRY),
    "10": ("INVALID_REQUEST_PARAMETER_ERROR", CONFIGURATION),
    "11": ("NO_MANDATORY_REQUEST_PARAMETERS_ERROR", CONFIGURATION),
    "12": ("NO_OPENAPI_SERVICE_ERROR", CONFIGURATION),
    "20": ("SERVICE_ACCESS_DENIED_ERROR", KEY),
    "21": ("TEMPORARILY_DISABLE_THE_SERVICEKEY_ERROR", KEY),
    "22": ("LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR", QUOTA),
    "30": ("SERVICE_KEY_IS_NOT_REGISTERED_ERROR", KEY),
    "31": ("DEADLINE_HAS_EXPIRED_ERROR", KEY),
    "32": ("UNREGISTERED_IP_ERROR", KEY),
    "33": ("UNSIGNED_CALL_ERROR", KEY),
    "99": ("UNKNOWN_ERROR", RETRY),
}


def _gateway(code: str, text: str) -> dict[str, str]:
    return {"errMsg": "SERVICE ERROR", "returnAuthMsg": text, "returnReasonCode": code}


def _xml(code: str, text: str) -> bytes:
    tags = "".join(f"<{tag}>{said}</{tag}>" for tag, said in _gateway(code, text).items())
    root = "OpenAPI_ServiceResponse"
    return f"<{root}>\n\t<cmmMsgHeader>{tags}</cmmMsgHeader>\n</{root}>".encode()


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def _result(code: str, text: str) -> dict[str, str]:
    return {"resultCode": code, "resultMsg": text}


CARRIERS: dict[str, Callable[[str, str], bytes]] = {
    "gateway XML": _xml,
    "gateway XML with a declaration and a foreign charset": lambda code, text: (
        b'\xef\xbb\xbf<?xml version="1.0" encoding="EUC-KR"?>\n'
        + _xml(code, text).replace(b"SERVICE ERROR", "오류".encode("cp949"))
    ).removeprefix(b"\xef\xbb\xbf"),
    "gateway JSON": lambda code, text: _json(
        {"OpenAPI_ServiceResponse": {"cmmMsgHeader": _gateway(code, text)}}
    ),
    "wrapped service": lambda code, text: _json({"response": {"header": _result(code, text)}}),
    "bare service": lambda code, text: _json({"header": _result(code, text), "body": None}),
    "flat": lambda code, text: _json({"responseTime": 1.5} | _result(code, text)),
}


def _read(body: bytes, status: int = 200) -> LibraryAnswer:
    return read_answer(PlatformReply(status, {}, body))


def _failed(body: bytes, status: int = 200) -> LibraryReadFailed:
    with pytest.raises(LibraryReadFailed) as failed:
        _read(body, status)
    assert failed.value.__context__ is None
    return failed.value


def _page(items: Any = (), **changes: Any) -> dict[str, Any]:
    body = {"items": items, "totalCount": "2", "numOfRows": "1000", "pageNo": "1"} | changes
    return {"header": _result("00", "NORMAL_SERVICE"), "body": body}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("code", CODES)
def test_every_code_in_every_carrier_has_its_class(carrier: str, code: str) -> None:
    """Section 5.3: HTTP 200, 401, 403 and 500 alike; names with underscores or blanks."""
    name, kind = CODES[code]
    for text in (name, name.replace("_", " ")):
        for status in (200, 401, 403, 500):
            failed = _failed(CARRIERS[carrier](code, text), status)
            assert failed.kind is kind
            assert name in failed.detail


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("code", ["", "-1", "7777", "s3cret"])
def test_an_unknown_code_is_told_by_its_name_or_is_a_bad_answer(carrier: str, code: str) -> None:
    """Section 5.3: the spelling of both varies; nothing unknown is taken for success."""
    body = CARRIERS[carrier](code, "LIMITED NUMBER OF SERVICE REQUESTS  EXCEEDS ERROR.")
    assert _failed(body).kind is QUOTA
    assert _failed(CARRIERS[carrier](code, "s3cret news")).kind is BAD
    assert "s3cret" not in str(_failed(CARRIERS[carrier](code, "s3cret news")))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_data_is_an_empty_page_and_ok_without_a_page_is_not(carrier: str) -> None:
    """Section 5.3: 03 is no error; an OK that brings nothing is no empty register."""
    assert _read(CARRIERS[carrier]("03", "NODATA_ERROR")) == NO_DATA
    assert _read(CARRIERS[carrier]("3", "NODATA ERROR")) == NO_DATA
    assert _failed(CARRIERS[carrier]("00", "NORMAL SERVICE")).kind is BAD


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_with_a_whole_page_under_it_is_an_error(wrapped: bool) -> None:
    """R49: an empty page beside a used-up quota would look like an empty register."""
    for page in (_page([], totalCount=0), _page([ROW])):
        page["header"] = _result("22", CODES["22"][0])
        assert _failed(_json({"response": page} if wrapped else page)).kind is QUOTA


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, KEY), (403, KEY), (429, QUOTA), (404, CONFIGURATION), (502, RETRY), (504, RETRY)],
)
@pytest.mark.parametrize(
    "body",
    [b"", b"Unauthorized", b"<html>", _xml("03", ""), _xml("00", ""), _json([]), b'{"header":1}'],
)
def test_a_status_without_a_code_speaks_for_itself(
    status: int, kind: LibraryFailure, body: bytes
) -> None:
    """Section 5.3, 5: whatever the body is."""
    failed = _failed(body, status)
    assert (failed.kind, str(status) in failed.detail) == (kind, True)


@pytest.mark.parametrize("body", [b"", b" \r\n", "<!DOCTYPE html>\n<html>점검".encode()])
@pytest.mark.parametrize("head", [b"", b"\n"])
def test_the_gateways_trouble_is_worth_another_try(head: bytes, body: bytes) -> None:
    """Section 5.3, 5: HTML pages and empty bodies with HTTP 200."""
    assert _failed(head + body).kind is RETRY
    assert _failed(b"<?xml version='1.0'?><html xmlns='x'><head/></html>").kind is RETRY


ENVELOPE = "<response><header>{}</header><body/></response>"
CODE_22 = "<resultCode>22</resultCode><resultMsg>{}</resultMsg>"


@pytest.mark.parametrize("said", ["", "a & b", "&nbsp;", "1 < 2", "cut off"])
def test_an_xml_code_counts_whatever_stands_around_it(said: str) -> None:
    """Section 5.3: the service's own envelope has a ``body``, and texts come unescaped."""
    body = ENVELOPE.format(CODE_22.format(said)).encode()
    assert _failed(body.partition(b"cut off")[0]).kind is QUOTA
    assert _failed(body, 500).kind is QUOTA
    gateway = _xml("30", said)
    assert _failed(gateway).kind is KEY
    assert _failed(b"<?xml version='1.0'?>" + gateway).kind is KEY


def test_markup_without_a_code_is_html_only_where_it_looks_so() -> None:
    """An envelope that lost its code is a changed answer; a bare heading is a gateway's page."""
    assert _failed(ENVELOPE.format("").encode()).kind is BAD
    assert _failed(b"<center><h1>502 Bad Gateway</h1></center>").kind is RETRY
    assert _failed(b"<body>a & b<hr></body>").kind is RETRY


def test_a_body_that_ends_early_is_worth_another_try_wherever_it_was_cut() -> None:
    """The declared length may fit it all the same: whoever declared it had no more."""
    whole = _json(_page([ROW | {"closeDay": None, "bookCo": -1}, OTHER])).replace(
        b'"homepageUrl": ""', b'"homepageUrl": "\\ud55c\\n", "open": [true, false]'
    )
    assert len(_read(whole.replace(b'"open": [true, false]', b'"x": ""')).rows) == 2
    wrong = {
        cut: str(f) for cut in range(1, len(whole)) if (f := _failed(whole[:cut])).kind != RETRY
    }
    assert wrong == {}


BOMB = '<!DOCTYPE z [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
BAD_BODIES = {
    "an entity bomb": (BOMB + _xml("30", "&b;").decode()).encode(),
    "an external entity": b'<!DOCTYPE z SYSTEM "file:///etc/passwd">' + _xml("30", "x"),
    "large XML": _xml("30", "x" * 70_000),
    "deep XML": b"<a>" * 10_000 + b"</a>" * 10_000,
    "XML cut before its code": _xml("30", "x").partition(b"<returnAuthMsg>")[0],
    "UTF-16 XML": _xml("30", "x").decode().encode("utf-16"),
    "XML without a code": b"<a><b>1</b></a>",
    "the rows as XML": b"<response><header><resultCode>00</resultCode></header></response>",
    "plain text": b"Unexpected errors",
    "a page that lacks a bracket within": _json(_page([ROW])).replace(b"}]", b"]"),
    "more after the page": _json(_page([ROW])) + b"}",
    "CP949": _json(_page([ROW])).decode().encode("cp949"),
    "a byte that is not UTF-8": _json(_page([ROW])).replace("소".encode(), b"\xed\xa0\x80"),
    "a lone surrogate": _json(_page([ROW])).replace("소".encode(), b"\\ud800"),
    "a lone surrogate in a name": _json(_page([ROW])).replace(b"homepageUrl", b"\\udfff"),
    "a key twice": _json(_page([ROW])).replace(b'"homepageUrl"', b'"lbrryNm"'),
    "two totals": _json(_page([ROW])).replace(b'"pageNo"', b'"totalCount"'),
    "NaN": _json(_page([ROW], totalCount=float("nan"))),
    "Infinity": b'{"header":{"resultCode":-Infinity}}',
    "deep JSON": b'{"header":' + b"[" * 100_000,
    "deep JSON after a comma": b'{"a":[1,],"b":' + b"[" * 100_000,
    "a list": b"[]",
    "null": b"null",
    "doubled quotes": _json(_page([ROW])).replace(b'"homepageUrl": ""', b'"closeDay": ""x""'),
    "only a comma": b'{"header":{"resultCode":"00"},"body":{"items":[,],"totalCount":0}}',
    "two commas": b'{"header":{"resultCode":"00"},"body":{"items":[1,,],"totalCount":0}}',
    "an open string full of quotes": b'["' + b'\\"' * 50_000,
    "many commas": b'{"a":[' + b", " * 50_000 + b"]}",
    "no header": _json({"body": _page([ROW])["body"]}),
    "a header that is a text": _json(_page([ROW]) | {"header": "00"}),
    "a body that is a list": _json(_page([ROW]) | {"body": []}),
    "no total": _json(_page([ROW], totalCount=None)),
    "a total that is no count": _json(_page([ROW], totalCount="many")),
    "a negative total": _json(_page([ROW], totalCount=-1)),
    "half a total": _json(_page([ROW], totalCount=1.5)),
    "a total that is true": _json(_page([ROW], totalCount=True)),
    "a huge total": _json(_page([ROW], totalCount=10**4000)),
    "no rows under their name": _json(_page() | {"body": {"rows": [ROW], "totalCount": 1}}),
    "items by another name": _json(_page({"library": [ROW]})),
    "items that are a text": _json(_page("none")),
    "items that are a number": _json(_page(5)),
    "a row that is a list": _json(_page([ROW, []])),
    "a row within a row": _json(_page([ROW | {"lbrryNm": {"#text": "x"}}])),
    "a row with a switch": _json(_page([ROW | {"lbrryNm": True}])),
    "rows by unknown names": _json(_page([{"LIB_NAME": "x", "CODE": "1"}])),
    "rows without columns": _json(_page([{}, {}])),
}


@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.timeout(20)
def test_what_cannot_be_understood_is_a_bad_answer_and_never_empty(name: str) -> None:
    """R49: zero rows by success would deactivate everything; bombs end within bounds."""
    assert _failed(BAD_BODIES[name]).kind is BAD


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("ok", ["00", "0", "000", "0000", 0])
def test_both_envelopes_bring_rows_total_and_place(wrapped: bool, ok: object) -> None:
    """Section 5.1 a and b: texts or numbers, with or without ``response``."""
    for counts in (
        {"totalCount": "3601", "numOfRows": "1000", "pageNo": "4"},
        {"totalCount": 3601, "numOfRows": 1000, "pageNo": 4},
    ):
        page = _page([ROW, OTHER], **counts)
        page["header"]["resultCode"] = ok
        answer = _read(_json({"response": page} if wrapped else page))
        assert answer == LibraryAnswer((ROW, OTHER), 3601, 4, 1000)


@pytest.mark.parametrize(
    ("items", "rows"),
    [
        ([ROW], (ROW,)),
        ({"item": [ROW, OTHER]}, (ROW, OTHER)),
        ({"item": ROW}, (ROW,)),
        ({"item": []}, ()),
        ({"item": ""}, ()),
        ({"item": None}, ()),
        ({}, ()),
        ("", ()),
        (" ", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_items_come_as_list_object_or_nothing(items: object, rows: tuple[object, ...]) -> None:
    """Section 5.1 b."""
    assert _read(_json(_page(items))).rows == rows


def test_a_register_without_rows_may_have_no_items() -> None:
    """A total of 0 says so."""
    page = _page()
    del page["body"]["items"]
    page["body"]["totalCount"] = 0
    assert _read(_json(page)) == LibraryAnswer((), 0, 1, 1000)


def test_the_sister_registers_form_is_read() -> None:
    """Section 5.1 c: Korean names, ``data``, no result code."""
    row = {"도서관명": "가", "제공기관코드": "1"}
    body = {"data": [row], "totalCount": 1, "page": 1, "perPage": 1000}
    assert _read(_json(body)) == LibraryAnswer((row,), 1, 1, 1000)


def test_numbers_and_null_in_rows_become_texts_as_they_were_written() -> None:
    """No value is rounded on its way; null is empty."""
    body = b'{"lbrryNm": null, "latitude": 37.49232500000000000001, "seatCo": 1e400, "bookCo": 007}'
    body = body.replace(b"007", b"7" * 5000)
    page = _json(_page(["@"])).replace(b'"@"', body)
    (row,) = _read(page).rows
    assert row == {
        "lbrryNm": "",
        "latitude": "37.49232500000000000001",
        "seatCo": "1e400",
        "bookCo": "7" * 5000,
    }


def test_a_comma_after_the_last_column_is_passed_over_and_texts_stay_as_they_are() -> None:
    """Section 5.1 d: a rewrite of ``",}`` would change the names below."""
    odd = [ROW | {"closeDay": text} for text in ('",}', ",]", '\\",}', "a\\", '"[,"', "{,}", ", }")]
    written = ",".join(json.dumps(row)[:-1] + ",\n }" for row in odd)
    page = _json(_page(["@"])).decode().replace('"@"', written + " , ")
    assert list(_read(page.encode()).rows) == odd


def test_a_byte_order_mark_is_passed_over() -> None:
    """Some gateways send one."""
    assert _read(b"\xef\xbb\xbf" + _json(_page([ROW]))).rows == (ROW,)
    assert _failed(b"\xef\xbb\xbf" + _xml("22", "")).kind is QUOTA


def test_a_page_of_a_million_values_is_refused_before_it_fills_the_memory() -> None:
    """R49, section 3: 20 MB of empty objects would take half a gigabyte."""
    with pytest.raises(LibraryReadFailed, match="more than") as failed:
        read_json_object(b'{"a":[' + b"{}," * MOST_VALUES + b"0]}")
    assert failed.value.kind is LibraryFailure.BAD_ANSWER

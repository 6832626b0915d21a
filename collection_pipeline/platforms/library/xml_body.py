"""XML and HTML where JSON was asked for: the gateway's error, or a page of its trouble (5.3).

Invariant: only a small document without a DTD is parsed, so that no entity can be declared, let
alone expanded. Nothing of it is kept but the code and the texts that errors.py compares. A code
counts before anything else: the service's own envelope has a ``body`` as HTML has, and one stray
``&`` in a text must not hide what the code beside it says.
"""

import re
from xml.etree import ElementTree

from collection_pipeline.domain.library import LibraryFailure, LibraryReadFailed
from collection_pipeline.platforms.library.errors import PortalResult, bad_answer

LARGEST_BYTES = 65_536
"""The error document has about 300 bytes; what is longer is cut here and does not parse."""
CODE_TAGS = ("returnReasonCode", "resultCode")
MESSAGE_TAGS = ("returnAuthMsg", "resultMsg", "errMsg")
_HTML = re.compile(r"<\s*(!doctype\s+html|html|head|title|body|center|h1)\b", re.IGNORECASE)
_SURELY_HTML = re.compile(r"<\s*(!doctype\s+html|html)\b", re.IGNORECASE)
_HTML_ROOTS = frozenset({"html", "head", "title", "body", "center", "h1"})
_SAID = re.compile(
    rf"<(?:\w+:)?({'|'.join((*CODE_TAGS, *MESSAGE_TAGS))})\s*>\s*([^<>]{{0,200}}?)\s*</"
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DTD = re.compile(r"<!\s*(doctype|entity)", re.IGNORECASE)
_HTML_LOOK_CHARS = 4_096


def read_xml_result(body: bytes) -> PortalResult:
    """Code and texts of the error in ``body``; raises ``LibraryReadFailed`` for anything else."""
    text = _text(body[:LARGEST_BYTES])
    start = text[:_HTML_LOOK_CHARS]
    if _SURELY_HTML.search(start):
        raise _html_page()
    if _DTD.search(text):
        raise bad_answer("the body is XML with a document type")
    root = _parsed(_DECLARATION.sub("", text))
    is_whole = len(body) <= LARGEST_BYTES
    result = _result_in(_texts_of(root) if root is not None else _texts_said(text, is_whole))
    if result is not None:
        return result
    if _HTML.search(start) and (root is None or _name(root).lower() in _HTML_ROOTS):
        raise _html_page()
    if root is None:
        raise bad_answer("the body is neither JSON nor valid XML")
    raise bad_answer("the body is XML without a result code")


def _html_page() -> LibraryReadFailed:
    return LibraryReadFailed(
        LibraryFailure.RETRY_LATER, "an HTML page came instead of the portal's answer"
    )


def _texts_of(root: ElementTree.Element) -> dict[str, str]:
    texts: dict[str, str] = {}
    for element in root.iter():
        texts.setdefault(_name(element), element.text or "")
    return texts


def _texts_said(text: str, is_whole: bool) -> dict[str, str]:
    """What stands between the tags of a small document that is not well-formed."""
    texts: dict[str, str] = {}
    for tag, said in _SAID.findall(text) if is_whole else ():
        texts.setdefault(tag, said)
    return texts


def _result_in(texts: dict[str, str]) -> PortalResult | None:
    code = next((texts[tag] for tag in CODE_TAGS if tag in texts), None)
    messages = tuple(texts[tag] for tag in MESSAGE_TAGS if tag in texts)
    return None if code is None and not messages else PortalResult(code or "", messages)


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _text(body: bytes) -> str:
    """The text of what is ASCII but for a message, whose charset is not always the stated one."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("cp949", errors="replace")


def _parsed(text: str) -> ElementTree.Element | None:
    try:
        # A DTD was refused above, so no entity can be declared in it.
        return ElementTree.fromstring(text)  # noqa: S314
    except (ElementTree.ParseError, ValueError):
        return None

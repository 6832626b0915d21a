"""XML and HTML where JSON was asked for: the gateway's error, or a page of its trouble (5.3).

Invariant: only a small document without a DTD is parsed, so that no entity can be declared, let
alone expanded. Nothing of it is kept but the code and the texts that errors.py compares.
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
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DTD = re.compile(r"<!\s*(doctype|entity)", re.IGNORECASE)
_HTML_LOOK_CHARS = 4_096


def read_xml_result(body: bytes) -> PortalResult:
    """Code and texts of the error in ``body``; raises ``LibraryReadFailed`` for anything else."""
    text = _text(body[:LARGEST_BYTES])
    if _HTML.search(text[:_HTML_LOOK_CHARS]):
        raise LibraryReadFailed(
            LibraryFailure.RETRY_LATER, "an HTML page came instead of the portal's answer"
        )
    if _DTD.search(text):
        raise bad_answer("the body is XML with a document type")
    root = _parsed(_DECLARATION.sub("", text))
    if root is None:
        raise bad_answer("the body is neither JSON nor valid XML")
    texts: dict[str, str] = {}
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        texts.setdefault(name, element.text or "")
    code = next((texts[tag] for tag in CODE_TAGS if tag in texts), None)
    messages = tuple(texts[tag] for tag in MESSAGE_TAGS if tag in texts)
    if code is None and not messages:
        raise bad_answer("the body is XML without a result code")
    return PortalResult(code or "", messages)


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

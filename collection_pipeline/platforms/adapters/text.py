"""Text as it may enter a column: clean, within its length, never cut into invalid UTF-8.

NUL and lone surrogates are valid in JSON escapes but not in MySQL's utf8mb4, so they are removed
before anything else sees the text. Lengths are characters (code points), as MySQL counts them.
Every pattern here looks at a character a bounded number of times, so a text of any content takes
time in proportion to its length (R10).
"""

import html
import re
from functools import lru_cache

TITLE_CHARS = 500
COMPANY_CHARS = 255
LOCATION_CHARS = 500
EMPLOYMENT_TYPE_CHARS = 100
SALARY_CHARS = 255
URL_CHARS = 2_000
LANGUAGE_CHARS = 20
DESCRIPTION_CHARS = 200_000
MARKUP_CHARS = 5 * DESCRIPTION_CHARS
"""What is read of a text before its markup is taken out."""
RAW_CHARS = 2_000_000
"""A row with it stays below 16 MB as a statement, the least that servers accept by default."""
REMEMBERED_TEXTS = 4_096
REMEMBERED_CHARS = 200
"""Short texts whose reading is remembered: at most some megabytes a process."""
LIST_ENTRIES = 100
LIST_ENTRY_CHARS = 100

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_HIGHLIGHT = re.compile(r"</?span\b[^<>]*>", re.IGNORECASE)
# Only known tag names: Korean texts write headings such as <자격요건> or <Java> in angle brackets.
_LINE_TAGS = (
    "address|article|blockquote|br|div|dd|dl|dt|figure|footer|h[1-6]|header|hr|main|ol|p|pre|"
    "section|table|tbody|thead|tr|ul"
)
_INLINE_TAGS = (
    "a|abbr|b|big|center|cite|code|col|colgroup|del|em|figcaption|font|i|iframe|img|ins|li|mark|q|"
    "s|small|source|span|strike|strong|sub|sup|td|th|u|video"
)
_IS_LINE_TAG = re.compile(_LINE_TAGS, re.IGNORECASE).fullmatch
_IS_INLINE_TAG = re.compile(_INLINE_TAGS, re.IGNORECASE).fullmatch
# The names are compared afterwards: forty of them at every "<" would take a second a megabyte.
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]{0,9})\b[^<>]*>")
_COMMENT = re.compile(r"<!--[^<>]*-->")
_LIST_ITEM = re.compile(r"<li\b[^<>]*>(?:\s*<(?:p|div|span)\b[^<>]*>)*\s*", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\xa0]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_ENDLESS_ENTITY = re.compile(r"&#[0-9]{100,};?")
_NO_CHARACTER = "\ufffd"


def clean(text: str) -> str:
    """``text`` without NUL, lone surrogates and surrounding white space."""
    # Neither is printable, and most texts are: this check is several times cheaper.
    return (text if text.isprintable() else _UNSTORABLE.sub("", text)).strip()


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, without white space at the cut."""
    return text if len(text) <= limit else text[:limit].rstrip()


def unescaped(text: str) -> str:
    """Saramin's names with their HTML entities resolved (platforms.md section 2).

    Python refuses to read a number of more than 4,300 digits; as an entity it is no character.
    """
    found = text.count("&")
    if not found:
        return text
    if found == text.count("&amp;"):  # as in links, which are all different
        return text.replace("&amp;", "&")
    return (_unescaped_again if len(text) <= REMEMBERED_CHARS else _unescaped)(text)


def _unescaped(text: str) -> str:
    return html.unescape(_ENDLESS_ENTITY.sub(_NO_CHARACTER, text))


_unescaped_again = lru_cache(REMEMBERED_TEXTS)(_unescaped)
"""Names of places are the same few in most rows, and each has its entity."""


def without_highlight(text: str) -> str:
    """Jumpit's hits are wrapped in spans in the middle of words: no space takes their place."""
    return _HIGHLIGHT.sub("", text) if "<" in text else text


def plain_text(markup: str) -> str:
    """HTML as lines of text: one line for each block, ``• `` before list items."""
    text = _LIST_ITEM.sub("\n• ", _unified_lines(markup))
    # A comment may hold tags, so it goes once those that end lines are gone.
    text = _COMMENT.sub("", _TAG.sub(_without_inline_tag, _TAG.sub(_without_line_tag, text)))
    lines = (_SPACES.sub(" ", line).strip() for line in unescaped(text).split("\n"))
    return clean(_BLANK_LINES.sub("\n\n", "\n".join(line for line in lines if line != "•")))


def prose(text: str) -> str:
    """A long text that may or may not be HTML, with one kind of line end."""
    names = (found[1] for found in _TAG.finditer(text))
    if any(_IS_LINE_TAG(name) or _IS_INLINE_TAG(name) for name in names) or _COMMENT.search(text):
        return plain_text(text)
    return clean(_unified_lines(text))


def _without_line_tag(found: re.Match[str]) -> str:
    return "\n" if _IS_LINE_TAG(found[1]) else found[0]


def _without_inline_tag(found: re.Match[str]) -> str:
    return "" if _IS_INLINE_TAG(found[1]) else found[0]


def _unified_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")

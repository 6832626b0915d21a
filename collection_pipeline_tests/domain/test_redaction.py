"""A secret is found in every spelling in which it can come back (R29)."""

import json
import logging
from collections.abc import Callable
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_pipeline.platforms.wire.redaction import (
    LIBRARY_LOGGERS,
    LogRedaction,
    Redactor,
    install_log_redaction,
)

SECRET = "aB3+/x y=="


def _quote_all(text: str) -> str:
    return quote(text, safe="")


def _lower_hex(text: str) -> str:
    return _quote_all(text).replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d")


SPELLINGS: list[Callable[[str], str]] = [
    lambda text: text,
    _quote_all,
    quote,
    quote_plus,
    _lower_hex,
    lambda text: _quote_all(_quote_all(text)),
    lambda text: quote_plus(quote_plus(text)),
    lambda text: _quote_all(_lower_hex(text)),
    lambda text: _quote_all(_quote_all(_quote_all(text))),
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: escape(text).replace("+", "&#x2B;").replace("=", "&#61;"),
    lambda text: text.replace("+", "\\u002B").replace("=", "\\u003d"),
]


@pytest.mark.parametrize("spell", SPELLINGS)
def test_every_spelling_of_a_secret_is_redacted_in_text_and_body(
    spell: Callable[[str], str],
) -> None:
    """R29: raw, percent-encoded, doubly encoded, and as JSON and HTML writers escape it."""
    redactor = Redactor([SECRET])
    assert redactor.text(f"before {spell(SECRET)} after") == "before [redacted] after"
    long_secret = "abcdEFGH" + SECRET
    body = f"before {spell(long_secret)} after".encode()
    assert Redactor([long_secret]).body(body) == b"before [redacted] after"
    assert redactor.body(f"x{spell(SECRET)}x".encode()) == b"x[redacted]x"


def test_a_key_configured_in_its_encoded_form_is_also_found_decoded() -> None:
    """R29 with R47: data.go.kr hands out both forms of one key."""
    redactor = Redactor([_quote_all(SECRET)])
    assert redactor.text(f"{SECRET} {_quote_all(SECRET)}") == "[redacted] [redacted]"


def test_a_secret_that_contains_another_is_redacted_whole() -> None:
    """R29: the longer one first, or its rest would stay."""
    assert Redactor(["abcd", "abcdefgh"]).text("abcdefgh") == "[redacted]"


def test_text_without_secrets_stays_as_it_is() -> None:
    """R29: no secrets, none in the text, and none that is too short to be one."""
    assert Redactor([]).text("abc") == "abc"
    assert Redactor(["", "abc"]).body(b"abc") == b"abc"
    assert Redactor(["otherkey"]).body(b'{"a":1}') == b'{"a":1}'


def test_a_redactor_learns_more_secrets_and_never_shows_them() -> None:
    """R29."""
    redactor = Redactor(["firstkey"])
    assert redactor.with_secrets(["firstkey"]) is redactor
    more = redactor.with_secrets(["second key"])
    assert more.text("firstkey second+key") == "[redacted] [redacted]"
    assert "firstkey" not in repr(more)
    assert more == Redactor(["second key", "firstkey"]) != redactor


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=4, max_size=30))
def test_whatever_the_key_it_does_not_survive(secret: str) -> None:
    """R29: keys with any characters; the stored form is stripped, as the settings strip it."""
    stripped = secret.strip()
    redactor = Redactor([stripped])
    if len(stripped) >= 4 and "%" not in stripped:
        for spelling in (stripped, _quote_all(stripped), _quote_all(_quote_all(stripped))):
            assert spelling not in redactor.text(f"<{spelling}>")
            assert spelling.encode() not in redactor.body(f"<{spelling}>".encode())


def test_the_log_filter_takes_out_queries_secrets_and_tracebacks() -> None:
    """R29: with debug logging on, no key is printed."""
    record = logging.LogRecord(
        "urllib3", logging.DEBUG, "", 1, '%s "GET %s" %s', ("h", "/a?k=v&t=1", "keykeykey"), None
    )
    record.exc_info = (ValueError, ValueError("keykeykey"), None)
    assert LogRedaction(Redactor(["keykeykey"])).filter(record)
    assert record.getMessage() == 'h "GET /a?[redacted]" [redacted]'
    assert record.exc_info is None


def test_filters_are_installed_once_however_many_senders_are_made() -> None:
    """R29: a long-lived process makes one sender per slice."""
    redactor = Redactor(["install-once-key"])
    install_log_redaction(redactor)
    counts = [len(logging.getLogger(name).filters) for name in LIBRARY_LOGGERS]
    install_log_redaction(Redactor(["install-once-key"]))
    assert [len(logging.getLogger(name).filters) for name in LIBRARY_LOGGERS] == counts

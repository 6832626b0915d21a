"""Secrets leave the process only on the wire: every text and body passes here first (R29).

A secret is found in whatever spelling it comes back: raw, percent-encoded once or more often, in
upper or lower case hex, with ``+`` for a space, or escaped by a JSON or HTML writer, also mixed.
"""

import logging
import re
from collections.abc import Iterable
from functools import cached_property
from urllib.parse import unquote

REPLACEMENT = "[redacted]"
SHORTEST_SECRET_CHARS = 4
"""Anything shorter is no secret, and replacing it would spoil every text."""
SHORTEST_PROBE_CHARS = 4
LIBRARY_LOGGERS = (
    "urllib3",
    "urllib3.connection",
    "urllib3.connectionpool",
    "urllib3.poolmanager",
    "urllib3.response",
    "urllib3.util.retry",
    "urllib3.util.ssl_",
    "requests",
    "requests.adapters",
    "requests.sessions",
)
"""A filter acts only on the very logger it is added to, so each one that logs is named."""
_NAMED_IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_QUERY = re.compile(r"\?[^\s\"'<>]+")


class Redactor:
    """Replaces the given secrets in texts and bodies; two with equal secrets are equal."""

    def __init__(self, secrets: Iterable[str]) -> None:
        plain = {unquote(secret.strip()) for secret in secrets}
        self._secrets = frozenset(s for s in plain if len(s) >= SHORTEST_SECRET_CHARS)
        longest_first = sorted(self._secrets, key=lambda secret: (-len(secret), secret))
        self._pattern = "|".join(_spellings(secret) for secret in longest_first)
        self._probes = [_probe(secret) for secret in longest_first]

    # Compiled when first needed: it takes tens of milliseconds, and most processes find no secret.
    @cached_property
    def _text(self) -> re.Pattern[str] | None:
        return re.compile(self._pattern) if self._pattern else None

    @cached_property
    def _bytes(self) -> re.Pattern[bytes] | None:
        return re.compile(self._pattern.encode()) if self._pattern else None

    def text(self, text: str) -> str:
        """``text`` without any secret."""
        return self._text.sub(REPLACEMENT, text) if self._text else text

    def body(self, body: bytes) -> bytes:
        """``body`` without any secret; one fast search per secret where there is none."""
        if not any(probe in body for probe in self._probes) or self._bytes is None:
            return body
        return self._bytes.sub(REPLACEMENT.encode(), body)

    def with_secrets(self, secrets: Iterable[str]) -> "Redactor":
        """This redactor if it knows ``secrets`` already, else one that knows them too."""
        more = Redactor(secrets)._secrets - self._secrets
        return Redactor(self._secrets | more) if more else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Redactor) and other._secrets == self._secrets

    def __hash__(self) -> int:
        return hash(self._secrets)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"


class LogRedaction(logging.Filter):
    """Takes query strings, secrets and tracebacks out of a library's log records."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        text = self._redactor.text(record.getMessage())
        record.msg, record.args = _QUERY.sub("?" + REPLACEMENT, text), ()
        record.exc_info, record.exc_text, record.stack_info = None, None, None
        return True

    def serves(self, redactor: Redactor) -> bool:
        """Whether this filter already takes out what ``redactor`` would."""
        return self._redactor == redactor


def install_log_redaction(redactor: Redactor) -> None:
    """Put a filter on each HTTP library logger; once per set of secrets, however often called."""
    for name in LIBRARY_LOGGERS:
        logger = logging.getLogger(name)
        present = (known for known in logger.filters if isinstance(known, LogRedaction))
        if not any(known.serves(redactor) for known in present):
            logger.addFilter(LogRedaction(redactor))


def _spellings(secret: str) -> str:
    return "".join(_spellings_of_char(char) for char in secret)


def _spellings_of_char(char: str) -> str:
    forms = [re.escape(char), "".join(_percent(byte) for byte in char.encode())]
    forms += [r"\\u" + _either_case(f"{ord(char):04x}")] if ord(char) <= 0xFFFF else []
    forms += [f"&#0*{ord(char)};", f"&#[xX]0*{_either_case(f'{ord(char):x}')};"]
    forms += [r"\\" + re.escape(char)] if char in '/"\\' else []
    forms += [r"\+", _percent(ord("+"))] if char == " " else []
    forms += [_NAMED_IN_HTML[char]] if char in _NAMED_IN_HTML else []
    return f"(?:{'|'.join(forms)})"


def _percent(byte: int) -> str:
    return "%(?:25)*" + _either_case(f"{byte:02x}")


def _either_case(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


def _probe(secret: str) -> bytes:
    """The longest run that no encoder changes; empty (always found) where it would be too short."""
    longest = max(re.findall(r"[A-Za-z0-9]*", secret), key=len)
    return longest.encode() if len(longest) >= SHORTEST_PROBE_CHARS else b""

"""The service key: decoded once here, encoded once by the sender, shown nowhere (R29, R47).

data.go.kr hands a key out percent-encoded or plain. Decoding makes one of both, ``unquote`` and not
``unquote_plus``, which would turn a plain key's ``+`` into a space. What is left after that must be
a key as it is: a ``%`` or a space that is still there would be sent, refused and echoed by the
gateway, so it is refused at start.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from collection_pipeline.settings import PREFIX, InvalidSetting

SECRET_NAME = "LIBRARY_SERVICE_KEY"  # noqa: S105 - the name of a setting, not its value
SHORTEST_CHARS, LONGEST_CHARS = 4, 512
"""Shorter texts could not be told from ordinary words where secrets are taken out."""
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN_KEY = re.compile(r"[!-$&-~]+")
_ADVICE = "copy it again from the portal, in its encoded or its decoded form"


@dataclass(frozen=True)
class ServiceKey:
    """The key in its plain form; never part of a text."""

    plain: str = field(repr=False)

    def __str__(self) -> str:
        return "[service key]"


def service_key(secrets: Mapping[str, str]) -> ServiceKey:
    """The key in ``secrets`` (``Settings.secrets``); raises ``InvalidSetting`` without showing it.

    Call it at start: an ingest must not take its lock with a key that cannot work.
    """
    text = secrets.get(SECRET_NAME, "").strip()
    if not text:
        raise InvalidSetting(f"set {PREFIX}{SECRET_NAME} or {PREFIX}{SECRET_NAME}_FILE")
    plain = unquote(text)
    fault = _fault(text, plain)
    if fault is not None:
        raise InvalidSetting(f"{PREFIX}{SECRET_NAME}: {fault}; {_ADVICE}")
    return ServiceKey(plain)


def _fault(text: str, plain: str) -> str | None:
    if _BROKEN_ESCAPE.search(text):
        return "a percent sign in it is not followed by two hex digits"
    if "%" in plain:
        return "it is encoded more than once"
    if not _PLAIN_KEY.fullmatch(plain):
        return "it holds a space or another character that no key has"
    if not SHORTEST_CHARS <= len(plain) <= LONGEST_CHARS:
        return f"a key has {SHORTEST_CHARS} to {LONGEST_CHARS} characters"
    return None

"""What must not stand in any message, log line or stored error (R29).

A webhook's address is a secret as a whole and in its parts: whoever has the path can post.
"""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from collection_pipeline.platforms.wire.redaction import Redactor
from collection_pipeline.settings import Settings

SHORTEST_PART_CHARS = 6
"""Shorter parts of a path (``api``, ``v1``) are words of every address, not secrets."""


def settings_redactor(settings: Settings) -> Redactor:
    """Knows every secret of the settings, the webhook's parts and the databases' passwords."""
    urls = (settings.database_url, settings.dagster_database_url)
    return Redactor(
        [
            *settings.secrets.values(),
            *webhook_secrets(settings.secrets.get("WEBHOOK_URL", "")),
            *(password for url in urls if url for password in _passwords(url)),
        ]
    )


def webhook_secrets(url: str) -> list[str]:
    """The address, its path and query, their longer parts, and a user's name and password."""
    if not url:
        return []
    parts = urlsplit(url)
    wholes = [url, parts.path, parts.query, f"{parts.path}?{parts.query}"]
    pieces = [*parts.path.split("/"), *_values(parts.query), parts.username, parts.password]
    return [
        *(whole for whole in wholes if len(whole) >= SHORTEST_PART_CHARS),
        *(piece for piece in pieces if piece and len(piece) >= SHORTEST_PART_CHARS),
    ]


def _values(query: str) -> Iterator[str]:
    for pair in query.split("&"):
        yield pair.partition("=")[2]


def _passwords(url: str) -> Iterator[str]:
    password = urlsplit(url).password
    if password:
        yield unquote(password)

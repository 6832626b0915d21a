"""A platform's next link as a query of our own list, or the reason why it is refused (R28).

Only the query of a link is ever used: scheme, host, port and path stay ours, so a link cannot lead
a request, or a secret in it, anywhere else.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

Query = tuple[tuple[str, str], ...]

_MOST_FIELDS = 100
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN = re.compile("[\x00-\x20\x7f\\\\\ud800-\udfff]")


@dataclass(frozen=True)
class RefusedLink:
    """Why a link is not followed, in a few words that do not repeat the link."""

    reason: str


def query_of_link(link: str, base_url: str, path: str) -> Query | RefusedLink:
    """The query of ``link``, resolved against the list at ``base_url`` + ``path``."""
    if _FORBIDDEN.search(link):
        return RefusedLink("the next link is not a URL")
    try:
        target = urlsplit(urljoin(base_url + path, link))
        own = urlsplit(base_url)
        if target.scheme not in _DEFAULT_PORTS:
            return RefusedLink("the next link is neither http nor https")
        if target.username is not None or target.password is not None:
            return RefusedLink("the next link carries user information")
        if _origin(target) != _origin(own):
            return RefusedLink("the next link leads to another host")
        if target.path != path:
            return RefusedLink("the next link leaves the list's path")
        return tuple(parse_qsl(target.query, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return RefusedLink("the next link is not a URL")


def merged_query(own: Sequence[tuple[str, str]], link: Sequence[tuple[str, str]]) -> Query:
    """``link`` over ``own``: a key of the link replaces all of ours, the others of ours stay.

    The order is ours first, then new keys by name, so that one place has one form (R23).
    """
    keys = list(dict.fromkeys(key for key, _ in own))
    keys += sorted({key for key, _ in link} - set(keys))
    replaced = {key for key, _ in link}
    return tuple(
        (key, value)
        for key in keys
        for name, value in (link if key in replaced else own)
        if name == key
    )


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port

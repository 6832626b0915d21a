"""What may be sent at all, decided before a socket is touched (R28).

The origin is the request's own base URL: https, or http on loopback. Adapters resolve next links
against it, so an origin that a reply named never comes this far. What was checked is compared with
the URL that the HTTP library made of it, since libraries normalise paths.
"""

import re
from urllib.parse import SplitResult, urlsplit

from collection_pipeline.platforms.contract import PlatformRequest, RequestPolicy
from collection_pipeline.settings import LOOPBACK_HOSTS

SCHEME_PORTS = {"http": 80, "https": 443}
RESERVED_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "cookie", "proxy-authorization"}
)
"""Headers that would change where a request goes or how it is framed."""
_STRAY_PATH = re.compile(
    r"[^\x21-\x7e]|[?#\\]|^(?!/)|//|/\.{1,2}(/|$)|%(2e|2f|5c|00)", re.IGNORECASE
)
_PAGE_SIZE = re.compile(r"[0-9]{1,9}")


def policy_refusal(request: PlatformRequest, policy: RequestPolicy) -> str | None:
    """Why ``request`` must not be sent, in words without its query, or ``None``."""
    return (
        _origin_refusal(request.base_url)
        or _path_refusal(request.path, policy)
        or _page_size_refusal(request, policy)
        or _header_refusal(request)
    )


def is_same_target(url: str, request: PlatformRequest) -> bool:
    """Whether ``url``, as the library would send it, has the origin and path that were checked."""
    wanted, made = urlsplit(request.base_url), urlsplit(url)
    return _origin(wanted) == _origin(made) and made.path == request.path


def host_key(base_url: str) -> str:
    """The throttle's name of the host, with its port where it is not the scheme's own (R26)."""
    parts = urlsplit(base_url)
    scheme, host, port = _origin(parts)
    name = f"[{host}]" if ":" in host else host
    return name if port == SCHEME_PORTS.get(scheme) else f"{name}:{port}"


def shown_target(request: PlatformRequest) -> str:
    """Method, host and path, never the query (R29)."""
    return f"GET {host_key(request.base_url)}{request.path}"


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    return scheme, host, SCHEME_PORTS.get(scheme) if parts.port is None else parts.port


def _origin_refusal(base_url: str) -> str | None:
    try:
        parts = urlsplit(base_url)
        scheme, host, _ = _origin(parts)
    except ValueError:
        return "the base URL is not a URL"
    if "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment or not host:
        return "the base URL must be scheme, host and port only"
    if scheme != "https" and not (scheme == "http" and host in LOOPBACK_HOSTS):
        return "only https is allowed (http for loopback)"
    return None


def _path_refusal(path: str, policy: RequestPolicy) -> str | None:
    if _STRAY_PATH.search(path) or not re.fullmatch(policy.path_pattern, path):
        return "the path is outside the platform's policy"
    return None


def _page_size_refusal(request: PlatformRequest, policy: RequestPolicy) -> str | None:
    for name, value in (*request.params, *request.secret_params):
        largest = policy.page_size_params.get(name)
        if largest is None:
            continue
        if not _PAGE_SIZE.fullmatch(value) or not 1 <= int(value) <= largest:
            return f"page size parameter {name} must be 1 to {largest}"
    return None


def _header_refusal(request: PlatformRequest) -> str | None:
    for name in request.headers:
        if name.lower() in RESERVED_HEADERS:
            return f"header {name.lower()} is not an adapter's to set"
    return None

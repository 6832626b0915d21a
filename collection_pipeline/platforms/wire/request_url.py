"""How a request is written: the query in the adapter's order, secrets last, encoded once (R28)."""

from urllib.parse import urlencode

from collection_pipeline.platforms.contract import PlatformRequest

SENDER_HEADERS = frozenset({"user-agent", "accept-encoding"})
"""Set by the sender alone: who we are, and the only compression whose size we bound."""


def request_url(request: PlatformRequest) -> str:
    """The full URL, keys included: never to be shown."""
    query = urlencode((*request.params, *request.secret_params))
    return request.base_url.rstrip("/") + request.path + (f"?{query}" if query else "")


def request_headers(request: PlatformRequest) -> dict[str, str]:
    """The adapter's headers without those that are the sender's own."""
    return {
        name: value for name, value in request.headers.items() if name.lower() not in SENDER_HEADERS
    }

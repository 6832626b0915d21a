"""Who may ask: the name under which the service is asked, and the token.

On loopback a page of another site could ask through the reader's browser by letting its own name
point to 127.0.0.1 (DNS rebinding), so only loopback's own names are served. Beyond loopback a token
is needed: as bearer, or as the password of HTTP Basic with any user, so that a browser can ask for
it. It is compared in constant time and appears in no answer and no log (R29).
"""

import binascii
import hmac
import re
from base64 import b64decode
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from collection_pipeline.operations.problems import problem

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN_PATHS = frozenset({"/healthz"})
"""Answers without a token too, but then says one word only."""
CHALLENGES = (
    'Bearer realm="collection-pipeline"',
    'Basic realm="collection-pipeline", charset="UTF-8"',
)
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(:[0-9]{1,5})?")


class Access:
    """ASGI middleware; ``None`` for a token or for names means that it is not asked for."""

    def __init__(
        self, app: ASGIApp, *, token: str | None, allowed_hosts: frozenset[str] | None
    ) -> None:
        self._app = app
        self._token = token
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421 for a foreign name, 401 without the token, else pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        if self._allowed_hosts is not None and _name(headers) not in self._allowed_hosts:
            refusal = problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "The service listens on loopback only: ask it as localhost or 127.0.0.1.",
                path,
            )
        elif path not in OPEN_PATHS and not carries_token(headers, self._token):
            refusal = problem(
                HTTPStatus.UNAUTHORIZED,
                "Send the operations token: as a bearer token, or as the password of HTTP Basic.",
                path,
            )
            for challenge in CHALLENGES:
                refusal.headers.append("WWW-Authenticate", challenge)
        else:
            await self._app(scope, receive, send)
            return
        await refusal(scope, receive, send)


def carries_token(headers: Headers, token: str | None) -> bool:
    """Whether a request may see everything; always where there is no token."""
    if token is None:
        return True
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        given = credentials.strip().encode("latin-1", "replace")
    elif scheme.lower() == "basic":
        given = _password(credentials)
    else:
        return False
    return hmac.compare_digest(given, token.encode())


def _password(credentials: str) -> bytes:
    """The password of HTTP Basic; empty, which no token is, for what is no such thing."""
    try:
        return b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


def _name(headers: Headers) -> str:
    """The host's name in lower case, without a port; empty for none, several, or nonsense."""
    given = headers.getlist("host")
    match = _HOST.fullmatch(given[0].strip()) if len(given) == 1 else None
    return "" if match is None else match["name"].lower()

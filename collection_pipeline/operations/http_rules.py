"""What holds for every answer: only GET and HEAD, security headers, no traceback to the client.

The outermost layer. A HEAD request is answered as its GET would be; the server, which knows what
was asked, leaves the body out.
"""

from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collection_pipeline.operations.problems import problem, unexpected

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC_PREFIX = "/static/"


class HttpRules:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a GET on, and a HEAD as one; refuse every other method."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        method: str = scope["method"]
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                if not path.startswith(STATIC_PREFIX):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        if method not in {"GET", "HEAD"}:
            refusal = problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "The service only reads: use GET or HEAD.",
                path,
                headers={"Allow": "GET, HEAD"},
            )
            await refusal(scope, receive, sending)
            return
        try:
            await self._app({**scope, "method": "GET"}, receive, sending)
        except Exception as error:
            if begun:
                raise
            await unexpected(error, path)(scope, receive, sending)

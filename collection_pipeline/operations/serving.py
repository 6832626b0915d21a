"""The service as a process: bind, say where, serve until SIGTERM or SIGINT (R29).

There is no access log: addresses carry what people search for, and headers carry the token.
"""

import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from collection_pipeline.operations.access import LOOPBACK_NAMES
from collection_pipeline.operations.app import create_app
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.listening import bound, is_loopback, url_of

GRACEFUL_SECONDS = 5
KEEP_ALIVE_SECONDS = 5


def serve(context: OperationsContext, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until a signal comes; port 0 takes a free one. Call it from the main thread.

    ``say`` is told the address once requests are answered. Raises ``CannotServe``.
    """
    token = context.settings.secrets.get("OPERATIONS_TOKEN")
    listener = bound(host, port, has_token=token is not None)
    with contextlib.closing(listener):
        address = listener.getsockname()
        allowed = LOOPBACK_NAMES if is_loopback(address[0]) else None
        app = create_app(context, token=token, allowed_hosts=allowed)
        _Server(app, lambda: say(f"operations: {url_of(address)}")).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends well on a signal, where uvicorn would let the signal end the process afterwards."""

    def __init__(self, app: ASGIApp, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                # The other parser, where it is installed, refuses unknown methods itself: no 405.
                http="h11",
                access_log=False,
                log_level=logging.WARNING,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACEFUL_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                ws="none",
            )
        )
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell once requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._say_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals ask the server to end; the handlers of before come back."""

        def ask(number: int, frame: FrameType | None) -> None:
            self.handle_exit(number, frame)

        before = {one: signal.signal(one, ask) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

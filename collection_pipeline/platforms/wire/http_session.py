"""A ``requests`` session that sends exactly what it was given, once (R28).

No retries, no redirects, no cookies, no proxies or credentials of the environment. Its connections
obey the request under way (``in_flight``): they are cut at its deadline and ask it before writing.
"""

import http.client
import socket
import ssl
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from collection_pipeline.platforms.wire.in_flight import current_request
from collection_pipeline.platforms.wire.open_socket import open_socket


class _Head:
    """A reply's lines while its head is read; remembers the last one, which must be the blank."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.last_line = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last_line = self.stream.readline(limit)
        return self.last_line

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _BoundedReply(http.client.HTTPResponse):
    """Refuses what the standard library lets pass: a head that was cut off, a negative chunk."""

    def begin(self) -> None:
        head = _Head(self.fp)
        self.fp: Any = head
        super().begin()
        if self.fp is head:
            self.fp = head.stream
        if not head.last_line:
            raise http.client.IncompleteRead(b"")

    def _safe_read(self, amt: int) -> bytes:
        # -1 would be taken for "read to the end", without any bound.
        if amt < 0:
            raise http.client.IncompleteRead(b"")
        return super()._safe_read(amt)  # type: ignore[misc, no-any-return]  # not in the stubs


class _WatchedConnection(HTTPConnection):
    response_class = _BoundedReply

    def _new_conn(self) -> socket.socket:
        request = current_request()
        seconds = request.seconds_left()
        if isinstance(self.timeout, int | float):
            seconds = min(seconds, self.timeout)
        try:
            sock = open_socket(self._dns_host, self.port, seconds, self.socket_options or ())
            request.watch(sock)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(self, "connecting timed out") from error
        except OSError as error:
            raise NewConnectionError(self, "connecting failed") from error
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        else:
            current_request().watch(self.sock)
        super().request(*args, **kwargs)

    def send(self, data: Any) -> None:
        current_request().about_to_write()
        super().send(data)


class _WatchedTlsConnection(_WatchedConnection, HTTPSConnection):
    @property
    def is_connected(self) -> bool:
        """Asks the TLS layer: its session tickets make a fresh connection look closed."""
        if not isinstance(self.sock, ssl.SSLSocket):
            return super().is_connected
        timeout = self.sock.gettimeout()
        self.sock.settimeout(0)
        try:
            self.sock.recv(1)
        except ssl.SSLWantReadError:
            return True
        except OSError:
            return False
        finally:
            self.sock.settimeout(timeout)
        return False


class _WatchedPool(HTTPConnectionPool):
    ConnectionCls = _WatchedConnection


class _WatchedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTlsConnection


class _WatchedAdapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {
            "http": _WatchedPool,
            "https": _WatchedTlsPool,
        }

    def is_connected(self, prepared: requests.PreparedRequest, verify: bool | str) -> bool:
        """Whether a live connection for ``prepared`` waits in the pool."""
        pool = self._pool(prepared, verify)
        connection = pool._get_conn()  # a dropped one comes back closed
        try:
            return not connection.is_closed
        finally:
            pool._put_conn(connection)

    def _pool(self, prepared: requests.PreparedRequest, verify: bool | str) -> HTTPConnectionPool:
        pool = self.get_connection_with_tls_context(prepared, verify)
        if not isinstance(pool, HTTPConnectionPool):
            raise TypeError(f"no connections can be opened by {type(pool).__name__}")
        return pool

    def open_connection(
        self, prepared: requests.PreparedRequest, verify: bool | str, connect_seconds: float
    ) -> bool:
        """Leave a live connection for ``prepared`` in the pool; True if it had to be made."""
        pool = self._pool(prepared, verify)
        self.cert_verify(pool, prepared.url, verify, None)  # type: ignore[no-untyped-call]  # untyped
        connection = pool._get_conn()
        is_new = connection.is_closed
        try:
            if is_new:
                connection.timeout = connect_seconds
                connection.connect()
        except BaseException:
            connection.close()
            raise
        finally:
            pool._put_conn(connection)
        return is_new


class SingleSendSession(requests.Session):
    """One per slice. Only ``http`` and ``https`` of the watched adapter exist."""

    def __init__(self, user_agent: str) -> None:
        super().__init__()
        self.trust_env = False
        self.watched = _WatchedAdapter(pool_connections=1, pool_maxsize=1, max_retries=0)
        self.adapters.clear()
        self.mount("https://", self.watched)
        self.mount("http://", self.watched)
        self.headers.clear()
        self.headers.update({"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip"})
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))

    def get_redirect_target(self, resp: requests.Response) -> None:
        """No target, ever: the library would read a redirect's whole body to prepare the next."""

    def is_connected(self, prepared: requests.PreparedRequest, verify: bool | str) -> bool:
        """Whether a live connection for ``prepared`` is open already."""
        return self.watched.is_connected(prepared, verify)

    def open_connection(
        self, prepared: requests.PreparedRequest, verify: bool | str, connect_seconds: float
    ) -> bool:
        """Connect (and shake hands) for ``prepared`` without sending it; False if it was open."""
        return self.watched.open_connection(prepared, verify, connect_seconds)

"""Where the service listens: on loopback, or anywhere with a token.

Apart from the service itself, so that a command line that does not serve need not load it.
"""

import ipaddress
import socket

from collection_pipeline.settings import PREFIX

BACKLOG = 256


class CannotServe(Exception):
    """The address cannot be served, or not without a token."""


def bound(host: str, port: int, *, has_token: bool) -> socket.socket:
    """A listening socket; raises ``CannotServe``."""
    if not host.strip():
        # The resolver would take it for every address of the machine.
        raise CannotServe("--host is empty: write the address to listen on, such as 127.0.0.1")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise CannotServe(f"--host {host}: there is no such address on this machine") from None
    if not has_token and not is_loopback(str(address[0])):
        raise CannotServe(
            f"--host {host} can be reached from other machines: set {PREFIX}OPERATIONS_TOKEN "
            f"(or {PREFIX}OPERATIONS_TOKEN_FILE), or listen on 127.0.0.1"
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotServe(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listener


def is_loopback(address: str) -> bool:
    """Whether an IP address reaches this machine only."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def url_of(address: tuple[object, ...]) -> str:
    """The address of a listening socket, for people."""
    host, port = str(address[0]), address[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

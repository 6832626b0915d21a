"""Connecting within one bound for name resolution and all addresses together (section 3).

The library would give every address the whole connect timeout, and the resolver as long as it
likes; an unattended batch needs the sum bounded.
"""

import socket
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

Address = tuple[Any, ...]
Found = Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, Address]]
SocketOptions = Sequence[tuple[int, int, int | bytes]]


def open_socket(host: str, port: int, seconds: float, options: SocketOptions) -> socket.socket:
    """A connected socket; ``TimeoutError``, ``socket.gaierror`` or another ``OSError``."""
    ends_at = time.monotonic() + seconds
    found = _resolve(host, port, seconds)
    failure = OSError("the name has no address")
    for tried, (family, kind, protocol, _, address) in enumerate(found):
        share = (ends_at - time.monotonic()) / (len(found) - tried)
        if share <= 0:
            raise TimeoutError
        sock = socket.socket(family, kind, protocol)
        try:
            for level, option, value in options:
                sock.setsockopt(level, option, value)
            sock.settimeout(share)
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


def _resolve(host: str, port: int, seconds: float) -> Found:
    """``getaddrinfo`` in a thread of its own: it cannot be interrupted, only left behind."""
    answer: SimpleQueue[Found | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answer.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            answer.put(error)
        except UnicodeError:
            answer.put(socket.gaierror("not a host name"))

    threading.Thread(target=ask, name="resolve-host", daemon=True).start()
    try:
        found = answer.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(found, OSError):
        raise found
    return found

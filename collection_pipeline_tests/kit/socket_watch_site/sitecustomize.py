"""Loaded by every Python process that has this folder on its path: writes down whom it talks to.

Invariant: each connect, datagram and name look-up is one line, written before the call is made, so
that a process that dies of it has said so. Python's own audit events are the source; a library in C
(gRPC) raises none, which is why the namespace's counters are asserted beside these lines.
"""

import os
import sys

FILE_VARIABLE = "SOCKET_WATCH_FILE"
"""Without the project's prefix, since the demo takes such settings from its children."""

# Where the address stands among the event's arguments.
_WATCHED = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
    "socket.getnameinfo": 0,
}


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    place = _WATCHED.get(event)
    if place is None:
        return
    # `sendmsg` on a connected socket names nobody: its connect did.
    address = arguments[place]
    if address is None and event == "socket.sendmsg":
        return
    line = f"{os.getpid()}\t{event}\t{address!r}\t{' '.join(sys.orig_argv)[:200]!r}\n"
    file = os.open(os.environ[FILE_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode(errors="backslashreplace"))
    finally:
        os.close(file)


if os.environ.get(FILE_VARIABLE):
    sys.addaudithook(_watch)

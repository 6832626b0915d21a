"""A command in a network of its own that has nothing but loopback, and what the kernel counted.

Invariant: nothing can leave such a namespace, and the kernel counts every packet for which it found
no way out, whoever sent it and in whatever language. Started as
``unshare --map-root-user --net python -m <this module> REPORT COMMAND...``; the report is JSON.
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_IS_UP = 1
_REQUEST = "16sh14x"
COUNTED = {
    "IpOutNoRoutes": "packets to another host",
    "Ip6OutNoRoutes": "packets to another host over IPv6",
    "UdpNoPorts": "datagrams to a closed port of loopback, such as a name server's",
    "Udp6NoPorts": "the same over IPv6",
}


def raise_loopback() -> None:
    """Brings ``lo`` up, as ``ip link set lo up`` would."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = b"lo"
        asked = fcntl.ioctl(control, _GET_FLAGS, struct.pack(_REQUEST, name, 0))
        flags = struct.unpack(_REQUEST, asked)[1]
        fcntl.ioctl(control, _SET_FLAGS, struct.pack(_REQUEST, name, flags | _IS_UP))


def interfaces() -> list[str]:
    """The names of the network's interfaces."""
    return [name for _, name in socket.if_nameindex()]


def counters() -> dict[str, int]:
    """The kernel's counts of ``COUNTED`` in this process's network; 0 for a protocol it lacks."""
    found: dict[str, int] = {}
    lines = Path("/proc/net/snmp").read_text("ascii").splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        protocol, *fields = names.split()
        for field, value in zip(fields, values.split()[1:], strict=True):
            found[protocol.rstrip(":") + field] = int(value)
    six = Path("/proc/net/snmp6")
    if six.exists():
        found |= {name: int(value) for name, value in map(str.split, six.open(encoding="ascii"))}
    return {name: found.get(name, 0) for name in COUNTED}


def main(report: str, *command: str) -> int:
    """Runs the command and writes the report; the command's exit code."""
    alone = interfaces()
    raise_loopback()
    before = counters()
    code = subprocess.run(command, check=False).returncode
    counted = {name: value - before[name] for name, value in counters().items()}
    Path(report).write_text(
        json.dumps({"interfaces": alone, "code": code, "counted": counted}), encoding="utf-8"
    )
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

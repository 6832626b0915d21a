"""Hosts of a test on one switch: each has its own network, name and loopback, and can be cut off.

Invariant: a cut is silence. Packets vanish in the switch: no reset, no refusal, no carrier lost and
no failed look-up of a neighbour tells a host, as behind a router that has failed. The first host is
the one on which the test itself runs. To be used inside ``own_network`` only: the hosts are
namespaces below the test's, and end with it.
"""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
_TABLE = 77
_CLONE_NEWNET = 0x4000_0000
_HOLDER = "import socket, sys; socket.sethostname(sys.argv[1]); print('up', flush=True); input()"


class NetworkOfHosts:
    """``names``: the hosts; the first is this process's own."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._opened = ExitStack()
        self._switch = self._hold("switch")
        own = os.getpid()
        self._pids = {name: self._hold(name) if place else own for place, name in enumerate(names)}
        socket.sethostname(names[0])
        self._ip(self._switch, "link add switch type bridge", "link set switch up")
        for name in names:
            self._connect(name)

    def address(self, host: str) -> str:
        """The host's address on the switch."""
        return f"10.77.0.{self._number(host)}"

    def entering(self, host: str) -> list[str]:
        """What to put before a command so that it runs on ``host``, with the same process id."""
        pid = self._pids[host]
        return ["nsenter", f"--net=/proc/{pid}/ns/net", f"--uts=/proc/{pid}/ns/uts"]

    def run(
        self, host: str, command: Sequence[str], environment: Mapping[str, str], output: Path
    ) -> "subprocess.Popen[bytes]":
        """Starts a process on ``host``; it is killed when the network is closed, if not before."""
        with output.open("ab") as log:
            process = subprocess.Popen(
                [*self.entering(host), *command],
                env=dict(environment),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._opened.callback(_end, process)
        return process

    def call(self, host: str, make: Callable[[], T]) -> T:
        """``make`` in a thread that is on ``host``: sockets that it opens stay there."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(self._call_there, host, make).result()

    def cut(self, host: str) -> None:
        """From now on no packet reaches or leaves ``host``."""
        self._ip(self._switch, f"link set port-{host} nomaster")

    def join(self, host: str) -> None:
        """Packets pass again."""
        self._ip(self._switch, f"link set port-{host} master switch")

    def lose_answers(self, host: str, to: str) -> None:
        """What ``host`` says to ``to`` vanishes; what it hears from there still arrives."""
        self._ip(self._pids[host], f"route add blackhole {self.address(to)}")

    def find_answers(self, host: str, to: str) -> None:
        """Undoes ``lose_answers``."""
        self._ip(self._pids[host], f"route del blackhole {self.address(to)}")

    def lend_loopback(self, of: str, host: str, ports: Iterable[int]) -> None:
        """Some TCP ports of 127.0.0.1 on ``host`` are those of ``of``.

        The kernel carries the packets over the switch, so that a cut meets them too. Settings allow
        plain http for 127.0.0.1 only, and that rule stays as it is in production.
        """
        self._let_loopback_pass(host)
        self._let_loopback_pass(of)
        gateway = f"via {self.address(of)} dev eth0 src {self.address(host)}"
        self._ip(
            self._pids[host],
            *(
                f"rule add pref 1 to 127.0.0.1 ipproto tcp dport {port} lookup {_TABLE}"
                for port in ports
            ),
            "rule add pref 2 lookup local",
            "rule del pref 0",
            f"route add 127.0.0.1 {gateway} table {_TABLE}",
        )

    def close(self) -> None:
        """Ends what was started, then the hosts."""
        self._opened.close()

    def _number(self, host: str) -> int:
        return self._names.index(host) + 1

    def _hold(self, name: str) -> int:
        """A process that does nothing; the namespaces of a host live as long as it does."""
        holder = subprocess.Popen(
            ["unshare", "--net", "--uts", sys.executable, "-c", _HOLDER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._opened.enter_context(holder)
        self._opened.callback(holder.kill)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n", f"the host {name!r} did not come up"
        return holder.pid

    def _connect(self, host: str) -> None:
        port = f"port-{host}"
        self._ip(
            self._switch,
            f"link add {port} type veth peer name eth0 netns {self._pids[host]}",
            f"link set {port} master switch up",
        )
        others = [name for name in self._names if name != host]
        self._ip(
            self._pids[host],
            "link set lo up",
            f"link set eth0 address {self._hardware_address(host)} up",
            f"addr add {self.address(host)}/24 dev eth0",
            *(
                f"neigh replace {self.address(other)} lladdr {self._hardware_address(other)}"
                " dev eth0 nud permanent"
                for other in others
            ),
        )

    def _hardware_address(self, host: str) -> str:
        return f"02:00:00:00:00:{self._number(host):02x}"

    def _let_loopback_pass(self, host: str) -> None:
        def letting() -> None:
            # The file shows the network of the thread that opens it.
            Path("/proc/sys/net/ipv4/conf/eth0/route_localnet").write_text("1", encoding="ascii")

        self.call(host, letting)

    def _call_there(self, host: str, make: Callable[[], T]) -> T:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{self._pids[host]}/ns/net").open("rb") as namespace:
            if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"the network of {host!r} cannot be entered")
        return make()

    @staticmethod
    def _ip(pid: int, *commands: str) -> None:
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{pid}/ns/net", "ip", "-batch", "-"],
            input="\n".join(commands),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{commands}: {done.stderr}"


@contextmanager
def opened_network(*names: str) -> Iterator[NetworkOfHosts]:
    """A network that ends with the block."""
    network = NetworkOfHosts(names)
    try:
        yield network
    finally:
        network.close()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.kill()
    process.wait()

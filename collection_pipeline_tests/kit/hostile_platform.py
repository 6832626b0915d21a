"""A server before the simulator that answers chosen searches with hostile bytes.

Invariant: every list request also reaches the simulator, so that its log stays the witness of what
was asked; what comes back to the client is the genuine answer, or what the search's attack makes of
its body. An attack has the connection to itself, which ends with it.
"""

import http.client
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from collection_pipeline_tests.kit.hostile_server import HostileServer, Peer, SeenRequest, reply

Attack = Callable[[Peer, bytes], None]
"""Sends what it likes in place of the genuine body that it is given."""
_SEPARATORS = re.compile(r"[/?&=]")


class HostilePlatform:
    """Searches named in ``attacks`` are answered by their attack, once.

    ``turns``: at which request of its search an attack acts, 0 (the first) where nothing is said.
    """

    def __init__(
        self,
        upstream: str,
        attacks: Mapping[str, Attack],
        turns: Mapping[str, int] | None = None,
    ) -> None:
        self._upstream = urlsplit(upstream).netloc
        self._attacks = dict(attacks)
        self._turns = dict(turns or {})

    def serve(self, peer: Peer) -> None:
        """The script of one connection."""
        while (seen := peer.read_request()) is not None:
            status, body = self._fetch(seen)
            attack = self._attack_on(seen)
            if attack is not None:
                attack(peer, body)
                return
            peer.send(reply(body, f"{status} -", ("Content-Type: application/json",)))

    def server(self) -> HostileServer:
        """The server to enter; it runs ``serve`` for each connection."""
        return HostileServer(self.serve)

    def _attack_on(self, seen: SeenRequest) -> Attack | None:
        for word in _SEPARATORS.split(seen.target):
            if word not in self._attacks:
                continue
            left = self._turns.get(word, 0)
            self._turns[word] = left - 1
            return self._attacks.pop(word) if left == 0 else None
        return None

    def _fetch(self, seen: SeenRequest) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._upstream, timeout=10)
        try:
            connection.request("GET", seen.target, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

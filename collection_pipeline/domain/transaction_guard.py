"""No transaction is open while the network is awaited; production asks, not only tests (R25)."""

from typing import Protocol


class OpenTransaction(RuntimeError):
    """A connection of this process is in a transaction where the network would be awaited."""


class TransactionGuard(Protocol):
    """Knows the connections of this process; the store implements it."""

    def assert_none_open(self) -> None:
        """Raise ``OpenTransaction`` when any connection of this process is in a transaction."""

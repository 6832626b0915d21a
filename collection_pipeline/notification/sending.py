"""How a message leaves, and what can become of it (R40)."""

from dataclasses import dataclass
from typing import Protocol

from collection_pipeline.domain.notification import Notification


@dataclass(frozen=True)
class Sent:
    """The webhook took it (2xx)."""


@dataclass(frozen=True)
class Logged:
    """There is no webhook; it was written to the log."""


@dataclass(frozen=True)
class NotSent:
    """It may be tried again later. ``error`` is in fixed words, without the address (R29).

    ``is_outage``: the next message would fare no better, so the batch ends. ``wish_seconds``: how
    long the webhook asked to be left alone.
    """

    error: str
    is_outage: bool
    wish_seconds: float = 0.0


Outcome = Sent | Logged | NotSent


class Notifier(Protocol):
    """One way out. Never raises for what the other side does."""

    def send(self, notification: Notification, idempotency_key: str) -> Outcome:
        """Send one message once, within a deadline; the key is the same on every try."""

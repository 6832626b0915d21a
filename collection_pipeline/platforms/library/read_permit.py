"""How long one page of the register may be waited for, and the wish to stop (R18, R26)."""

import threading
import time
from collections.abc import Callable

from collection_pipeline.settings import Settings

PLATFORM = "LIBRARY"
DELAYS_OF_PATIENCE = 4
ASKED_TO_STOP = "asked to stop"


def page_delay_seconds(settings: Settings) -> float:
    """The least time between two requests to the portal's host."""
    return settings.for_platform(PLATFORM, "HOST_MIN_DELAY_MS") / 1000


def page_patience_seconds(settings: Settings) -> float:
    """How long one page may wait for its host's turn before it is given up."""
    shortest = DELAYS_OF_PATIENCE * page_delay_seconds(settings)
    return max(float(settings["SLICE_MAX_SECONDS"]), shortest)


class ReadPermit:
    """``SlicePermit`` of a reading: a page is given up when the host's turn lies too far away.

    The register's lock is held meanwhile, so nobody waits for an hour's ``Retry-After`` here; a
    host that is merely busy gets as long as a slice, or several delays where those are longer.
    """

    def __init__(
        self,
        settings: Settings,
        stop: threading.Event,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._page_seconds = page_patience_seconds(settings)
        self._monotonic = monotonic
        self._ends_at = monotonic()
        self._stop = stop

    def begin_page(self) -> None:
        """The next page's time begins."""
        self._ends_at = self._monotonic() + self._page_seconds

    def stop_reason(self) -> str | None:
        """That the process is asked to end."""
        return ASKED_TO_STOP if self._stop.is_set() else None

    def seconds_left(self) -> float:
        """Until this page is given up."""
        return self._ends_at - self._monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait, or return False at once when asked to stop."""
        if seconds <= 0:
            return not self._stop.is_set()
        return not self._stop.wait(seconds)

"""Named points that a worker passes; nothing happens there unless a test installs a hook.

Tests kill or stop a worker process exactly here (R11, R14, R19a, R36).
"""

from collections.abc import Callable

AFTER_CLAIM = "after_claim"
AFTER_RESERVATION = "after_reservation"
AFTER_REPLY = "after_reply"
AFTER_COMPANIES = "after_companies"
BEFORE_STORE = "before_store"
INSIDE_TERMINAL = "inside_terminal"
BEFORE_COMMIT = "before_commit"
AFTER_STORE = "after_store"
BEFORE_CAPTURE = "before_capture"
BEFORE_CAPTURE_COMMIT = "before_capture_commit"
AFTER_LIBRARY_PAGE = "after_library_page"
AFTER_LIBRARY_CHUNK = "after_library_chunk"
BEFORE_LIBRARY_STALE = "before_library_stale"
BEFORE_LIBRARY_COMMIT = "before_library_commit"

_hook: Callable[[str], None] | None = None


def install(hook: Callable[[str], None] | None) -> None:
    """Call ``hook`` with the name of every point from now on; ``None`` takes it away."""
    global _hook
    _hook = hook


def reach(name: str) -> None:
    """Pass the point called ``name``."""
    if _hook is not None:
        _hook(name)

"""Functions that a test names in COLLECTION_MORNING_HOOK."""

import os

from collection_pipeline.orchestration.morning_hook import MorningSnapshot

CALLS: list[MorningSnapshot] = []
SECRET = "pl4ntedHOOK/with%odd"


def note(morning: MorningSnapshot) -> None:
    """Keeps what it is called with."""
    CALLS.append(morning)


def fail(morning: MorningSnapshot) -> None:
    """A hook that quotes a secret of the pipeline in its error."""
    raise RuntimeError(f"no alert for {morning.snapshot_date}: POST {SECRET} refused")


def quote_the_database(morning: MorningSnapshot) -> None:
    """A hook whose error is so long that a cut would fall into the password that it quotes."""
    raise RuntimeError("x" * 440 + os.environ["COLLECTION_DATABASE_URL"])


NOT_CALLABLE = 9

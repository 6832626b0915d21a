"""Functions that a test names in COLLECTION_MORNING_HOOK."""

from collection_pipeline.orchestration.morning_hook import MorningSnapshot

CALLS: list[MorningSnapshot] = []
SECRET = "pl4ntedHOOK/with%odd"


def note(morning: MorningSnapshot) -> None:
    """Keeps what it is called with."""
    CALLS.append(morning)


def fail(morning: MorningSnapshot) -> None:
    """A hook that quotes a secret of the pipeline in its error."""
    raise RuntimeError(f"no alert for {morning.snapshot_date}: POST {SECRET} refused")


NOT_CALLABLE = 9

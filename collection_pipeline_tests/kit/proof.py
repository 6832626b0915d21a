"""How often a promise is tried, and the figures that came of it.

Invariant: the fast set (every test run) and the long set (``make proof``) are the same tests; only
the number of tries differs. A figure is written after its assertions held, never before.
"""

import json
import os
from pathlib import Path

from collection_pipeline_tests.kit.servers import wanted_kind

LONG_VARIABLE = "COLLECTION_PROOF"
FIGURES_VARIABLE = "COLLECTION_PROOF_FIGURES"


def is_long() -> bool:
    """Whether this run is the long set; any word but `long` is refused."""
    word = os.environ.get(LONG_VARIABLE, "")
    if word not in {"", "long"}:
        raise ValueError(f"{LONG_VARIABLE}={word}: leave it out, or say long")
    return word == "long"


def tries(fast: int, *, long: int) -> int:
    """The number of tries of this run."""
    return long if is_long() else fast


def record(promise: str, **figures: int | float) -> None:
    """Adds what one test tried and found to the figures of the run, where a file for them is named.

    ``promise`` is the row of the page (``docs/guarantees.md``) that the figures belong to; several
    records of one promise are added up there, ``least_``/``most_`` figures by minimum and maximum.
    """
    folder = os.environ.get(FIGURES_VARIABLE)
    if not folder:
        return
    line = json.dumps({"promise": promise, "server": wanted_kind(), **figures}, sort_keys=True)
    with (Path(folder) / f"figures-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")

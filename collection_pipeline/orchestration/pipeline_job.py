"""The terms of every job and op of the pipeline, in one place.

Invariants: a job has an owner and a concern, runs in one process, is never repeated and has a
longest time; an op tells its failure in one sentence (R29) and shows what it touches as kinds.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import dagster as dg

from collection_pipeline.orchestration.run_tags import run_tags
from collection_pipeline.orchestration.told_failure import told_failure

OWNERS = ("team:collection",)
CONCERN = "concern"
CONCERN_TAG = f"collection/{CONCERN}"


class Concern(StrEnum):
    """What a job, sensor or group of assets is there for."""

    COLLECTION = "collection"
    MORNING = "morning"
    REPORTS = "reports"
    LIBRARIES = "libraries"
    UPKEEP = "upkeep"


def concern_tags(concern: Concern) -> dict[str, str]:
    """For assets and sensors, whose tags are not those of runs: of these there are few."""
    return {CONCERN_TAG: concern.value}


@contextmanager
def owned() -> Iterator[None]:
    """Dagster warns at each import that such owners are beta; its release is pinned here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Parameter `owners`", dg.BetaWarning)
        yield


def pipeline_op(
    *, description: str, kinds: tuple[str, ...] = ("mysql",), **options: Any
) -> Callable[[Callable[..., object]], dg.OpDefinition]:
    """``dg.op`` of a function whose first argument is ``context``."""

    def making(compute: Callable[..., object]) -> dg.OpDefinition:
        # The UI's graph of a job shows the tag `kind`, one only; the others are for its search.
        tags = {"kind": kinds[0], **{f"dagster/kind/{kind}": "" for kind in kinds}}
        return dg.op(description=description, tags=tags, **options)(told_failure(compute))

    return making


def pipeline_job(
    *,
    does: str,
    when: str,
    if_it_fails: str,
    concern: Concern,
    priority: int,
    longest_seconds: int,
    more_tags: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[[Callable[[], None]], dg.JobDefinition]:
    """``dg.job``; the words are shown as markdown, ``more_tags`` are the runs' too."""
    description = f"{does}\n\n**When:** {when}\n\n**If a run fails:** {if_it_fails}"
    tags = {**(more_tags or {}), **run_tags(priority=priority, longest_seconds=longest_seconds)}
    # Not a tag: the UI would give it to each run that is launched by hand.
    metadata = {CONCERN: concern.value}

    def making(compose: Callable[[], None]) -> dg.JobDefinition:
        with owned():
            return dg.job(
                description=description,
                executor_def=dg.in_process_executor,
                owners=list(OWNERS),
                metadata=metadata,
                tags=tags,
                **options,
            )(compose)

    return making

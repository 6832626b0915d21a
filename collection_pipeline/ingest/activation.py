"""How far the monthly ingest is on its way to run unattended (R50).

    success by hand -> flag and schedule on -> one real trigger -> its counts checked

Only the portal's register counts: a CSV file loaded by hand proves neither key nor network. An
external scheduler is a real trigger as well, and does not ask the flag.
"""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from collection_pipeline.store.flags import LIBRARY_SCHEDULE_FLAG, FeatureFlag, FeatureFlags
from collection_pipeline.store.ingest_runs import IngestStatus
from collection_pipeline.store.views.ingest_history import IngestRecord, newest_ingest


class ActivationStep(StrEnum):
    """What is to be done next."""

    START_BY_HAND = "START_BY_HAND"
    SWITCH_ON = "SWITCH_ON"
    AWAIT_TRIGGER = "AWAIT_TRIGGER"
    CHECK_COUNTS = "CHECK_COUNTS"


WORDS = {
    ActivationStep.START_BY_HAND: (
        "start it once by hand: collection-pipeline ingest --source library --deactivate-stale"
    ),
    ActivationStep.SWITCH_ON: (
        f"switch the flag on (collection-pipeline flags set {LIBRARY_SCHEDULE_FLAG} on --by NAME) "
        "and the schedule library_ingest_schedule in Dagster"
    ),
    ActivationStep.AWAIT_TRIGGER: (
        "see that the schedule library_ingest_schedule is on in Dagster, and wait for one real "
        "start: 04:00 in Seoul on the first"
    ),
    ActivationStep.CHECK_COUNTS: (
        "compare the counts of the last start that nobody made by hand with those of the last one "
        "by hand; if they are right, it is activated"
    ),
}


@dataclass(frozen=True)
class IngestActivation:
    """The flag, and the newest runs that the order of activation asks for."""

    flag: FeatureFlag
    last_manual_success: IngestRecord | None
    last_scheduled_success: IngestRecord | None
    last_external_success: IngestRecord | None
    last_run: IngestRecord | None

    @property
    def next_step(self) -> ActivationStep:
        """The first step of the order that is not done."""
        if self.last_external_success is not None:
            return ActivationStep.CHECK_COUNTS
        if self.last_manual_success is None and self.last_scheduled_success is None:
            return ActivationStep.START_BY_HAND
        if not self.flag.enabled:
            return ActivationStep.SWITCH_ON
        if self.last_scheduled_success is None:
            return ActivationStep.AWAIT_TRIGGER
        return ActivationStep.CHECK_COUNTS


def read_activation(connection: Connection) -> IngestActivation:
    """Where things stand now."""

    def last_success(trigger: str) -> IngestRecord | None:
        success = (IngestStatus.SUCCESS,)
        return newest_ingest(connection, success, trigger=trigger, source="library")

    flags = {flag.name: flag for flag in FeatureFlags().all(connection)}
    return IngestActivation(
        flag=flags[LIBRARY_SCHEDULE_FLAG],
        last_manual_success=last_success("manual"),
        last_scheduled_success=last_success("scheduled"),
        last_external_success=last_success("external"),
        last_run=newest_ingest(connection),
    )

"""What a check found, as Dagster keeps it: a run's event or a result of its own (R31, R38, R45).

The jobs log what they have just seen; "execute" in the UI asks the database at any time. Both say
the same, since an observation is made in one place.
"""

from dataclasses import dataclass, field

import dagster as dg

from collection_pipeline.collection.observation import (
    machine_checks,
    morning_checks,
    queue_checks,
    source_checks,
)
from collection_pipeline.collection.observation.observed import Observation, ObservationState
from collection_pipeline.domain.snapshot import SnapshotHeader
from collection_pipeline.orchestration.assets import CYCLES_KEY, POSTINGS_KEY, SNAPSHOT_KEY

ASSET_OF = {
    morning_checks.CAPTURED: SNAPSHOT_KEY,
    morning_checks.BEFORE_NOTIFICATION: SNAPSHOT_KEY,
    queue_checks.TICKS: CYCLES_KEY,
    queue_checks.STUCK_LEASE: CYCLES_KEY,
    queue_checks.SEEN_ROWS: CYCLES_KEY,
    source_checks.BOARDS: CYCLES_KEY,
    source_checks.INTERVALS: CYCLES_KEY,
    source_checks.BROKEN: CYCLES_KEY,
    source_checks.CONFIRMED: POSTINGS_KEY,
    machine_checks.DAEMON: CYCLES_KEY,
    machine_checks.SCHEMA: CYCLES_KEY,
    machine_checks.CLOCKS: CYCLES_KEY,
    machine_checks.GROWTH: POSTINGS_KEY,
}
"""At which asset each check is shown."""


@dataclass(frozen=True)
class Finding:
    """What a check found, for a run's log or as the result of its own execution."""

    asset_key: dg.AssetKey
    check_name: str
    passed: bool
    description: str
    metadata: dict[str, str | int | float] = field(default_factory=dict)
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR

    def as_result(self) -> dg.AssetCheckResult:
        """The result of a check that was executed."""
        return dg.AssetCheckResult(
            asset_key=self.asset_key,
            check_name=self.check_name,
            passed=self.passed,
            severity=self.severity,
            description=self.description,
            metadata=self.metadata,
        )

    def as_evaluation(self) -> dg.AssetCheckEvaluation:
        """The event that a job's op logs."""
        return dg.AssetCheckEvaluation(
            asset_key=self.asset_key,
            check_name=self.check_name,
            passed=self.passed,
            severity=self.severity,
            description=self.description,
            metadata=self.metadata,
        )


def finding_of(observation: Observation) -> Finding:
    """ALARM fails as an error; WARNING and what cannot be judged fail as warnings."""
    is_weak = observation.state in {ObservationState.WARNING, ObservationState.UNKNOWN}
    return Finding(
        ASSET_OF[observation.name],
        observation.name,
        passed=observation.state is ObservationState.OK,
        description=observation.sentence,
        metadata=dict(observation.numbers),
        severity=dg.AssetCheckSeverity.WARN if is_weak else dg.AssetCheckSeverity.ERROR,
    )


def captured_finding(header: SnapshotHeader) -> Finding:
    """What a run that has just seen a final header logs."""
    return finding_of(morning_checks.captured_observation(header))


def seen_rows_finding(rows: int) -> Finding:
    """What the cleanup logs: ``rows`` should be gone and are not (R31)."""
    return finding_of(queue_checks.seen_rows_observation(rows))

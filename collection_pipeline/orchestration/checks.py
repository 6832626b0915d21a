"""Asset checks: is the morning known, and is the residue gone (R31, R38, R45)?

The jobs log what they have just seen; "execute" in the UI asks the database at any time. Both say
the same, since a finding is made in one place.
"""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

import dagster as dg
from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.domain.kst import kst_text, run_date_of, utc_of_kst
from collection_pipeline.domain.snapshot import CaptureStatus, CaptureWindow, SnapshotHeader
from collection_pipeline.orchestration.assets import CYCLES_KEY, SNAPSHOT_KEY
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.store.snapshots import SlaSnapshots

CAPTURED_CHECK = "snapshot_captured"
SEEN_ROWS_CHECK = "no_seen_row_older_than_48_hours"


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


def captured_finding(header: SnapshotHeader, *, is_overdue: bool = False) -> Finding:
    """MISSED fails, and a header that is PENDING although its time has passed (``is_overdue``)."""
    status, day = header.status, header.snapshot_date
    texts = {
        CaptureStatus.CAPTURED: f"{day} was captured at {kst_text(header.captured_at)}",
        CaptureStatus.NOT_APPLICABLE: f"{day} had nothing to capture: {header.miss_reason}",
        CaptureStatus.MISSED: f"{day} was missed: {header.miss_reason}",
    }
    waiting = "is still PENDING after its time" if is_overdue else "is being captured"
    return Finding(
        SNAPSHOT_KEY,
        CAPTURED_CHECK,
        passed=status is not CaptureStatus.MISSED and not is_overdue,
        description=texts.get(status, f"{day} {waiting}"),
        metadata={"snapshot_date": day.isoformat(), "capture_status": status.value},
    )


def due_snapshot_finding(connection: Connection, pipeline: CollectionPipeline) -> Finding:
    """About the newest morning whose cutoff has passed by the database's clock."""
    now = pipeline.clock.now(connection)
    day = _newest_due_day(now, pipeline.settings.sla_cutoff)
    header = SlaSnapshots().newest_until(connection, day)
    metadata: dict[str, str | int | float] = {"snapshot_date": day.isoformat()}
    if header is None:
        words = f"no cutoff has passed since the first header was made; the last was {day}'s"
        return Finding(SNAPSHOT_KEY, CAPTURED_CHECK, True, words, metadata)
    if header.snapshot_date < day:
        words = f"{day} has no header: nothing of the pipeline ran on the day before, nor since"
        return Finding(SNAPSHOT_KEY, CAPTURED_CHECK, False, words, metadata)
    window = CaptureWindow(
        header.scheduled_at,
        pipeline.settings["SLA_CAPTURE_TOLERANCE_SECONDS"],
        pipeline.settings["SLA_LATE_START_SECONDS"],
    )
    return captured_finding(
        header, is_overdue=not header.status.is_final and window.is_overdue(now)
    )


def seen_rows_finding(rows: int) -> Finding:
    """``rows``: what the last cleanup should have removed and did not (R31)."""
    words = "nothing is left" if rows == 0 else f"{rows} row(s) should be gone and are not"
    return Finding(
        CYCLES_KEY,
        SEEN_ROWS_CHECK,
        passed=rows == 0,
        description=words,
        metadata={"seen_rows_older_than_48_hours": rows},
    )


@dg.asset_check(
    asset=SNAPSHOT_KEY,
    name=CAPTURED_CHECK,
    description=(
        "The newest morning whose cutoff has passed ended CAPTURED or NOT_APPLICABLE. MISSED, or "
        "PENDING after its time, means that nobody can know any more how the sources stood."
    ),
)
def snapshot_captured(
    queue: CollectionQueue, platform_clients: PlatformClients
) -> dg.AssetCheckResult:
    """Reads only."""
    with queue.pipeline(platform_clients) as pipeline:
        return pipeline.transactions.run(
            lambda connection: due_snapshot_finding(connection, pipeline)
        ).as_result()


@dg.asset_check(
    asset=CYCLES_KEY,
    name=SEEN_ROWS_CHECK,
    description=(
        "The last 10:15 cleanup left no seen row of a cycle that ended over 48 hours before it, or "
        "of a past day's unfinished cycle. Rows left over mean that the cleanup did not run or "
        "cannot keep up."
    ),
)
def no_seen_row_older_than_48_hours(
    queue: CollectionQueue, platform_clients: PlatformClients
) -> dg.AssetCheckResult:
    """Reads only."""
    with queue.pipeline(platform_clients) as pipeline:
        rows = pipeline.transactions.run(pipeline.cleanup.count_overdue)
    return seen_rows_finding(rows).as_result()


def _newest_due_day(now: datetime, cutoff: time) -> date:
    today = run_date_of(now)
    return today if utc_of_kst(today, cutoff) <= now else today - timedelta(days=1)


CHECKS = [snapshot_captured, no_seen_row_older_than_48_hours]

"""Asset checks of the register: complete, little switched off, little left as raw text (R45, R49).

A run logs what it has just done, "execute" in the UI judges the newest runs that ended; both say
the same, since a finding is made from the same numbers in one place.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg
from sqlalchemy import Connection

from collection_pipeline.domain.library import LIBRARY_FIELDS
from collection_pipeline.ingest.plausibility import why_absence_proves_nothing
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.orchestration.checks import Finding
from collection_pipeline.orchestration.library_asset import LIBRARIES_KEY
from collection_pipeline.orchestration.library_resource import LibraryRegister
from collection_pipeline.orchestration.told_failure import told_failure
from collection_pipeline.store.ingest_runs import IngestCounts, IngestStatus
from collection_pipeline.store.views.ingest_history import IngestRecord, newest_ingest

COMPLETE_CHECK = "complete_snapshot"
DEACTIVATED_CHECK = "share_deactivated"
UNPARSED_CHECK = "unparsed_cells"
MOST_DEACTIVATED_PERCENT = 20.0
"""The two published snapshots, three months apart, differ by 5.5 %."""
MOST_UNPARSED_PERCENT = 1.0
"""One column of 28 that is written differently everywhere makes 3.6 %."""
NONE_YET = "no ingest has ended yet"
ENDED = (IngestStatus.SUCCESS, IngestStatus.FAILED)


@dataclass(frozen=True)
class EndedIngest:
    """An ingest that ended SUCCESS or FAILED, as far as the checks look at it."""

    run_id: int
    status: IngestStatus
    reason: str | None
    counts: IngestCounts
    stated_total: int | None


def of_report(report: IngestReport) -> EndedIngest:
    """The run that has just ended."""
    return EndedIngest(report.run_id, report.status, report.reason, report.counts, report.total)


def _of_record(record: IngestRecord) -> EndedIngest:
    return EndedIngest(
        record.run_id, record.status, record.reason, record.counts, record.stated_total
    )


def ended_findings(run: EndedIngest) -> list[Finding]:
    """What a run says of the register; the shares are of a snapshot that was stored."""
    if run.status is IngestStatus.FAILED:
        return [complete_finding(run)]
    return [complete_finding(run), deactivated_finding(run), unparsed_finding(run)]


def complete_finding(run: EndedIngest | None) -> Finding:
    """Whether the newest try brought the whole register: all lines, all rows that are stated."""
    if run is None:
        return _none_yet(COMPLETE_CHECK)
    counts = run.counts
    metadata: dict[str, str | int | float] = {
        "ingest_run_id": run.run_id,
        "fetched": counts.fetched,
        "left_out": counts.left_out,
        "duplicate": counts.duplicate,
        "unkeyable": counts.unkeyable,
    }
    if run.stated_total is not None:
        metadata["stated_total"] = run.stated_total
    doubts = why_absence_proves_nothing(counts)
    words = f"run {run.run_id}: all {counts.fetched:,} rows were read and stored"
    if run.status is IngestStatus.FAILED:
        words = f"run {run.run_id} failed, {run.reason}"
    elif doubts:
        words = f"run {run.run_id}: {doubts}"
    passed = run.status is IngestStatus.SUCCESS and doubts is None
    return Finding(LIBRARIES_KEY, COMPLETE_CHECK, passed, words, metadata)


def deactivated_finding(run: EndedIngest | None) -> Finding:
    """Active rows that the last stored snapshot switched off, of those that were active before."""
    if run is None:
        return _none_yet(DEACTIVATED_CHECK)
    counts = run.counts
    # Where rows were switched off, exactly the confirmed ones are active afterwards.
    before = counts.upserted - counts.added - counts.reactivated + counts.deactivated
    share = _percent(counts.deactivated, before)
    return Finding(
        LIBRARIES_KEY,
        DEACTIVATED_CHECK,
        passed=share <= MOST_DEACTIVATED_PERCENT,
        description=f"run {run.run_id} switched {counts.deactivated:,} row(s) off, {share:.1f} %",
        metadata={
            "ingest_run_id": run.run_id,
            "deactivated": counts.deactivated,
            "share_percent": share,
            "most_percent": MOST_DEACTIVATED_PERCENT,
        },
        severity=dg.AssetCheckSeverity.WARN,
    )


def unparsed_finding(run: EndedIngest | None) -> Finding:
    """Cells of the last stored snapshot whose text is kept raw, of all cells."""
    if run is None:
        return _none_yet(UNPARSED_CHECK)
    counts = run.counts
    share = _percent(counts.unparsed, counts.upserted * len(LIBRARY_FIELDS))
    return Finding(
        LIBRARIES_KEY,
        UNPARSED_CHECK,
        passed=share <= MOST_UNPARSED_PERCENT,
        description=f"run {run.run_id} kept {counts.unparsed:,} cell(s) as raw text, {share:.2f} %",
        metadata={
            "ingest_run_id": run.run_id,
            "unparsed": counts.unparsed,
            "unkeyable": counts.unkeyable,
            "share_percent": share,
            "most_percent": MOST_UNPARSED_PERCENT,
        },
        severity=dg.AssetCheckSeverity.WARN,
    )


def newest_findings(connection: Connection) -> dict[str, Finding]:
    """All three by the newest runs, whoever started them."""
    ended = newest_ingest(connection, ENDED)
    stored = newest_ingest(connection, (IngestStatus.SUCCESS,))
    last = _of_record(ended) if ended else None
    success = _of_record(stored) if stored else None
    findings = (complete_finding(last), deactivated_finding(success), unparsed_finding(success))
    return {finding.check_name: finding for finding in findings}


@dg.multi_asset_check(
    name="register_checks",
    specs=[
        dg.AssetCheckSpec(
            COMPLETE_CHECK,
            asset=LIBRARIES_KEY,
            description=(
                "The newest ingest read the whole register and stored it. A failure shows why it "
                "did not; nothing was deactivated then."
            ),
        ),
        dg.AssetCheckSpec(
            DEACTIVATED_CHECK,
            asset=LIBRARIES_KEY,
            description=(
                f"The last stored snapshot switched off at most {MOST_DEACTIVATED_PERCENT:g} % of "
                "the active rows. More may be a register that was cut short on the portal's side."
            ),
        ),
        dg.AssetCheckSpec(
            UNPARSED_CHECK,
            asset=LIBRARIES_KEY,
            description=(
                f"At most {MOST_UNPARSED_PERCENT:g} % of the last stored snapshot's cells did not "
                "fit their column. They are kept raw; more mean that a column is written anew."
            ),
        ),
    ],
    description="Judges the newest runs of the ingest that ended, whoever started them.",
    can_subset=True,
)
@told_failure
def register_checks(
    context: dg.AssetCheckExecutionContext, library: LibraryRegister
) -> Iterator[dg.AssetCheckResult]:
    """Reads only."""
    with library.ingestion() as ingestion:
        findings = ingestion.transactions.run(newest_findings)
    for key in context.selected_asset_check_keys:
        yield findings[key.name].as_result()


def _none_yet(check_name: str) -> Finding:
    return Finding(LIBRARIES_KEY, check_name, True, NONE_YET, severity=dg.AssetCheckSeverity.WARN)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0


LIBRARY_CHECKS = [register_checks]

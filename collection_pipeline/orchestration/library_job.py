"""``library_ingest``: one run of the ingest, started by hand, by the schedule, or launched (R46).

The op is thin: the service decides, the run shows it. SKIPPED is a success that the run's tag, its
log and the asset's observation name; FAILED fails the run with the reason in the first line.
Nothing is repeated inside: "try later" is for whoever starts it again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.ingest.assembly import LibraryIngestion
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.ingest.service import IngestTrigger
from collection_pipeline.orchestration.library_asset import report_event, report_metadata
from collection_pipeline.orchestration.library_checks import ended_findings, of_report
from collection_pipeline.orchestration.library_config import (
    INGEST_CONFIG,
    OP_NAME,
    library_config,
)
from collection_pipeline.orchestration.library_resource import LibraryRegister
from collection_pipeline.orchestration.library_stop import stop_on_interrupt
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.store.ingest_runs import IngestStatus
from collection_pipeline.store.libraries import PublicLibraries

LONGEST_SECONDS = 3_600
"""The register has four pages; a portal that takes minutes for each is still waited for."""
PRIORITY = -1
TRIGGER_TAG = "library/trigger"
SCHEDULED = "scheduled"
OUTCOME_TAG = "library/outcome"
"""How the ingest ended, in the list of runs: SUCCESS, SKIPPED or FAILED."""

LibraryEvent = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


@pipeline_op(
    name=OP_NAME,
    out=dg.Out(dg.Nothing),
    config_schema=INGEST_CONFIG,
    kinds=("mysql", "https"),
    description=(
        "Read the whole register, judge it, store it, deactivate what it no longer contains (R49). "
        "Another ingest at work makes this one SKIPPED, which is a success."
    ),
)
def ingest_libraries(
    context: dg.OpExecutionContext, library: LibraryRegister
) -> Iterator[LibraryEvent | dg.Output[None]]:
    """Events are written after the service has committed; truth stays in ``ingest_runs``."""
    config = IngestConfig.model_validate(context.op_config)
    with (
        _showing_a_failure(context),
        stop_on_interrupt() as stop,
        library.ingestion() as ingestion,
    ):
        report = ingestion.service.run(
            config,
            ingestion.snapshot(config, stop),
            trigger=trigger_of(context.run),
            dagster_run_id=context.run_id,
            stop=stop,
        )
        active_rows = _active_rows(ingestion) if report.status is IngestStatus.SUCCESS else None
    _show_outcome(context, report.status)
    yield from _events(report, active_rows)
    result = show_result(context, ingest_result(report))
    if report.status is IngestStatus.FAILED:
        raise dg.Failure(report.reason, metadata=report_metadata(report), allow_retries=False)
    if report.status is IngestStatus.SKIPPED:
        context.log.warning(f"SKIPPED, {report.reason}; nothing was read or changed")
    yield dg.Output(None, metadata={"result": result, **report_metadata(report)})


@pipeline_job(
    does=(
        "Reads the register of public libraries and stores it. SKIPPED is a success: another "
        "ingest was at work. Run configuration: `source: library` or `csv` with `file`, "
        "`deactivate_stale`, `allow_shrink`."
    ),
    when=(
        "04:00 in Seoul on the first of the month, once `library_ingest_schedule` and its flag "
        "are switched on; or by hand."
    ),
    if_it_fails=(
        "The register stays as it was. The first line names the cause, and what each means is in "
        "docs/library.md#failures."
    ),
    concern=Concern.LIBRARIES,
    priority=PRIORITY,
    longest_seconds=LONGEST_SECONDS,
    config=library_config,
)
def library_ingest() -> None:
    """Ingests the register."""
    ingest_libraries()


def trigger_of(run: dg.DagsterRun) -> IngestTrigger:
    """A re-execution has its parent's tags, but a person asked for it."""
    is_scheduled = run.tags.get(TRIGGER_TAG) == SCHEDULED and run.parent_run_id is None
    return "scheduled" if is_scheduled else "manual"


def _events(report: IngestReport, active_rows: int | None) -> Iterator[LibraryEvent]:
    event = report_event(report, active_rows)
    if event is not None:
        yield event
    if report.status is not IngestStatus.SKIPPED:
        for finding in ended_findings(of_report(report)):
            yield finding.as_evaluation()


def _show_outcome(context: dg.OpExecutionContext, status: IngestStatus) -> None:
    context.instance.add_run_tags(context.run_id, {OUTCOME_TAG: status.value})


def _active_rows(ingestion: LibraryIngestion) -> int | None:
    """``None`` when nobody can say: the ingest itself has ended already."""
    try:
        return ingestion.transactions.run(PublicLibraries().active_count)
    except DatabaseUnavailable:
        return None


@contextmanager
def _showing_a_failure(context: dg.OpExecutionContext) -> Iterator[None]:
    """Also whatever ends the ingest early leaves its outcome."""
    try:
        yield
    except Exception:  # whatever it is, it goes on; only the tag is set on the way
        _show_outcome(context, IngestStatus.FAILED)
        raise


def ingest_result(report: IngestReport) -> str:
    """The counts that changed the register, or why nothing was changed."""
    counts = report.counts
    if report.status is not IngestStatus.SUCCESS:
        return f"{report.status.value}, {report.reason}"
    return (
        f"{counts.added:,} added, {counts.changed:,} changed, {counts.deactivated:,} deactivated "
        f"of {counts.upserted:,} rows"
    )

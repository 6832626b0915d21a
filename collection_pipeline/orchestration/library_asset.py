"""The register as an asset: what a run did to it, as an event that the UI shows and plots (R51).

SUCCESS adds a materialization, SKIPPED an observation, since nothing was changed; FAILED fails its
run, and its reason is the run's.
"""

import dataclasses

import dagster as dg

from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.orchestration.pipeline_job import OWNERS, Concern, concern_tags
from collection_pipeline.store.ingest_runs import IngestStatus

LIBRARIES_KEY = dg.AssetKey("public_libraries")
LibraryMetadata = dict[str, str | int | float]

public_libraries = dg.AssetSpec(
    LIBRARIES_KEY,
    description=(
        "The register of public libraries of data.go.kr (table `public_libraries`), by provider "
        "code and name. Each ingest that ended SUCCESS adds a materialization with its counts of "
        "rows, which the UI plots; one that found another at work adds an observation, SKIPPED. "
        "Written by the job `library_ingest`."
    ),
    kinds={"mysql"},
    owners=OWNERS,
    tags=concern_tags(Concern.LIBRARIES),
    group_name=Concern.LIBRARIES.value,
)


def report_metadata(report: IngestReport) -> LibraryMetadata:
    """Status and reason first, then every count; what is unknown is absent, never 0."""
    metadata: LibraryMetadata = {
        "ingest_status": report.status.value,
        "ingest_run_id": report.run_id,
        "reason": report.reason or "",
    }
    if report.status is IngestStatus.SKIPPED:
        return metadata
    metadata |= dataclasses.asdict(report.counts)
    metadata["seconds"] = round(report.seconds, 3)
    if report.total is not None:
        metadata["stated_total"] = report.total
    if report.problems:
        metadata["problems"] = "\n".join(report.problems)
    return metadata


def report_event(
    report: IngestReport, active_rows: int | None
) -> dg.AssetMaterialization | dg.AssetObservation | None:
    """The asset's event of a run; ``active_rows`` are those after it."""
    metadata = report_metadata(report)
    if report.status is IngestStatus.SKIPPED:
        return dg.AssetObservation(LIBRARIES_KEY, metadata=metadata)
    if report.status is not IngestStatus.SUCCESS:
        return None
    if active_rows is not None:
        metadata["active_rows"] = active_rows
    return dg.AssetMaterialization(LIBRARIES_KEY, metadata=metadata)

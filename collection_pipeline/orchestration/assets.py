"""What collection keeps up to date, declared so that events have a documented home in the UI."""

from collections.abc import Iterator

import dagster as dg

from collection_pipeline.collection.slice_processor import SliceReport
from collection_pipeline.orchestration.pipeline_job import OWNERS, Concern, concern_tags

POSTINGS_KEY = dg.AssetKey("job_postings")
CYCLES_KEY = dg.AssetKey("collection_cycles")
SNAPSHOT_KEY = dg.AssetKey("sla_snapshot")

job_postings = dg.AssetSpec(
    POSTINGS_KEY,
    description=(
        "Postings collected from aggregators and company boards (table `job_postings`). Every "
        "slice adds a materialization with the number of distinct postings it stored. Written by "
        "the job `collection_dispatch`."
    ),
    kinds={"mysql"},
    owners=OWNERS,
    tags=concern_tags(Concern.COLLECTION),
    group_name=Concern.COLLECTION.value,
    deps=[CYCLES_KEY],
)
collection_cycles = dg.AssetSpec(
    CYCLES_KEY,
    description=(
        "One cycle a source and KST day (table `job_posting_collection_cycles`), the source of "
        "truth of the queue. Every slice of the job `collection_dispatch` adds an observation: "
        "how it ended, and pages, postings, detail requests, seconds and seconds waited, which "
        "the UI plots. Its checks are those of the queue and of the machine."
    ),
    kinds={"mysql"},
    owners=OWNERS,
    tags=concern_tags(Concern.COLLECTION),
    group_name=Concern.COLLECTION.value,
)
sla_snapshot = dg.AssetSpec(
    SNAPSHOT_KEY,
    description=(
        "Where every source stood at the cutoff, 09:00 in Seoul (tables "
        "`job_posting_collection_sla_snapshots` and `..._items`). Each day's header that ended "
        "CAPTURED, MISSED or NOT_APPLICABLE adds one materialization; the UI plots `late_count`, "
        "how many of the `sources` had not ended well by then. A final snapshot never changes. "
        "Written by the job `sla_snapshot`; MISSED by `sla_snapshot_recovery` or any tick."
    ),
    kinds={"mysql"},
    owners=OWNERS,
    tags=concern_tags(Concern.MORNING),
    group_name=Concern.MORNING.value,
    deps=[CYCLES_KEY],
)
ASSETS = [job_postings, collection_cycles, sla_snapshot]


def slice_events(
    report: SliceReport, operations_page_url: str | None = None
) -> Iterator[dg.AssetObservation | dg.AssetMaterialization]:
    """The events of one stored or lost slice; numbers and a link, never a payload."""
    metadata: dict[str, str | int | float | dg.UrlMetadataValue] = {
        "source": report.label,
        "status": report.status.value if report.status else "LOST",
        "reason": report.reason or "",
        "detail": report.detail or "",
        **_source_page(operations_page_url, report.job_source_id),
        "platform": report.platform,
        "run_date": report.run_date.isoformat(),
        # Texts, since the UI plots every number.
        "cycle_id": str(report.cycle_id),
        "source_id": str(report.job_source_id),
        "list_pages": report.list_pages,
        "postings": report.postings,
        "detail_requests": report.details,
        "detail_failures": report.detail_failures,
        "seconds": round(report.seconds, 3),
        "seconds_waited": round(report.seconds_waited, 3),
    }
    yield dg.AssetObservation(CYCLES_KEY, metadata=metadata)
    if report.status is not None and report.postings:
        yield dg.AssetMaterialization(
            POSTINGS_KEY,
            metadata={
                name: metadata[name]
                for name in ("cycle_id", "source_id", "source", "run_date", "postings")
            },
        )


def _source_page(address: str | None, source_id: int) -> dict[str, dg.UrlMetadataValue]:
    """Where the operations page shows the cycle, if its address is set."""
    if address is None:
        return {}
    return {"source_page": dg.MetadataValue.url(f"{address}/sources/{source_id}")}

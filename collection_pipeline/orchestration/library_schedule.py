"""The monthly start of the library ingest: created stopped, and stopped by its flag too (R50)."""

import dagster as dg

from collection_pipeline.orchestration.library_job import SCHEDULED, TRIGGER_TAG, library_ingest
from collection_pipeline.orchestration.library_resource import LibraryRegister
from collection_pipeline.orchestration.pipeline_automation import pipeline_asking_schedule
from collection_pipeline.store.flags import LIBRARY_SCHEDULE_FLAG, FeatureFlags

FLAG_IS_OFF = (
    f"the flag {LIBRARY_SCHEDULE_FLAG} is off; switch it on with 'collection-pipeline flags set "
    f"{LIBRARY_SCHEDULE_FLAG} on --by NAME'"
)
MONTHLY_CONFIG = {"source": "library", "deactivate_stale": True}


@pipeline_asking_schedule(
    name="library_ingest_schedule",
    job=library_ingest,
    cron_schedule="0 4 1 * *",
    description=(
        "04:00 in Seoul on the first: the whole register from the portal, stale rows deactivated. "
        "Created stopped; asks the flag `library.ingest-schedule` besides. Order of activation: "
        "`collection-pipeline ingest --status`."
    ),
)
def library_ingest_schedule(library: LibraryRegister) -> dg.RunRequest | dg.SkipReason:
    """One plain read of the flag; a database that cannot be asked fails the tick."""
    with library.ingestion() as ingestion:
        is_on = ingestion.transactions.run(
            lambda connection: FeatureFlags().is_on(connection, LIBRARY_SCHEDULE_FLAG)
        )
    if not is_on:
        return dg.SkipReason(FLAG_IS_OFF)
    return dg.RunRequest(run_config=MONTHLY_CONFIG, tags={TRIGGER_TAG: SCHEDULED})

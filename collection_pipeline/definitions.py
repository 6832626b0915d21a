"""Everything that Dagster loads."""

import warnings

import dagster as dg

from collection_pipeline.orchestration.assets import ASSETS
from collection_pipeline.orchestration.automation import SCHEDULES, SENSORS
from collection_pipeline.orchestration.jobs import JOBS
from collection_pipeline.orchestration.library_asset import public_libraries
from collection_pipeline.orchestration.library_checks import LIBRARY_CHECKS
from collection_pipeline.orchestration.observation_checks import OBSERVATION_CHECKS
from collection_pipeline.orchestration.report_asset import collection_report
from collection_pipeline.orchestration.resources import RESOURCES

# Dagster hands owners on when it binds schedules and sensors to jobs, and warns itself each time.
warnings.filterwarnings("ignore", "Parameter `owners`", dg.BetaWarning)

defs = dg.Definitions(
    assets=[*ASSETS, collection_report, public_libraries],
    asset_checks=[*OBSERVATION_CHECKS, *LIBRARY_CHECKS],
    jobs=JOBS,
    schedules=SCHEDULES,
    sensors=SENSORS,
    resources=RESOURCES,
    executor=dg.in_process_executor,
)

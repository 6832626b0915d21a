"""The budget report as an asset; what its events show is ``report_metadata``'s.

Apart from it, so that loading the definitions does not load pandas.
"""

import dagster as dg

from collection_pipeline.orchestration.assets import CYCLES_KEY
from collection_pipeline.orchestration.pipeline_job import OWNERS, Concern, concern_tags

REPORT_KEY = dg.AssetKey("collection_report")

collection_report = dg.AssetSpec(
    REPORT_KEY,
    description=(
        "What the last weeks used, by platform: pages, postings, details, waits, failures, days "
        "out of budget; and a proposed daily budget with its reasoning. Each Monday's report adds "
        "a materialization; the UI plots its numbers. It changes nothing: budgets are settings. "
        "Every source: `collection-pipeline report --format csv --output FILE`."
    ),
    kinds={"mysql", "pandas"},
    owners=OWNERS,
    tags=concern_tags(Concern.REPORTS),
    group_name=Concern.REPORTS.value,
    deps=[CYCLES_KEY],
)

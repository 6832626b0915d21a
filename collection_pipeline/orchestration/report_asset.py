"""The budget report as an asset; what its events show is ``report_metadata``'s.

Apart from it, so that loading the definitions does not load pandas.
"""

import dagster as dg

from collection_pipeline.orchestration.assets import CYCLES_KEY

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
    group_name="collection",
    deps=[CYCLES_KEY],
)

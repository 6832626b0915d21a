"""What each day of a source needed of each budget: measured, reckoned, or only "at least".

* A complete day needed what it used.
* A day whose list was cut (LIST_PAGES, POSTINGS) needed the platform's stated total, at the rows a
  page of that day; without a total nobody knows. Its details are not known either way.
* A day out of DETAIL_REQUESTS had read its whole list. It wanted a detail of every new and changed
  posting; where those were no more than it asked for, older ones were waiting, in unknown number.
* Every day, also a failed one, needed at least what it used.

A source's ``p95`` is the need that 95 of 100 known days stay at or below.
"""

import numpy as np
import pandas as pd

from collection_pipeline.collection.report.day_kind import DayKind
from collection_pipeline.collection.report.facts import MEASURES, ReportFacts
from collection_pipeline.domain.failure import CollectionBudgetLimit

QUANTILE = 0.95
MEASURE_OF_LIMIT = {
    CollectionBudgetLimit.LIST_PAGES.value: "list_pages",
    CollectionBudgetLimit.POSTINGS.value: "postings",
    CollectionBudgetLimit.DETAIL_REQUESTS.value: "detail_requests",
}
LIST_LIMITS = [CollectionBudgetLimit.LIST_PAGES.value, CollectionBudgetLimit.POSTINGS.value]


def day_needs(days: pd.DataFrame) -> pd.DataFrame:
    """A column a measure beside ``job_source_id``; NaN where the need is not known."""
    complete = days["kind"] == DayKind.COMPLETE.value
    exhausted = days["kind"] == DayKind.EXHAUSTED.value
    cut = exhausted & days["limit"].isin(LIST_LIMITS)
    out_of_details = exhausted & (days["limit"] == CollectionBudgetLimit.DETAIL_REQUESTS.value)
    total, fetched, pages = days["stated_total"], days["postings"], days["list_pages"]
    told = cut & (total > fetched) & (fetched > 0) & (pages > 0)
    rows_a_page = (fetched / pages.where(pages > 0)).where(fetched > 0)
    whole_list = complete | out_of_details
    backlog = days["changed"].where(days["changed"] > days["detail_requests"])
    needs = pd.DataFrame({"job_source_id": days["job_source_id"]})
    needs["list_pages"] = pages.astype("float64").where(
        whole_list, np.ceil(total / rows_a_page).where(told)
    )
    needs["postings"] = fetched.astype("float64").where(whole_list, total.where(told))
    needs["detail_requests"] = (
        days["detail_requests"].astype("float64").where(complete, backlog.where(out_of_details))
    )
    return needs


def source_needs(facts: ReportFacts) -> pd.DataFrame:
    """A row a source with days and a measure, with the columns below.

    ``usable``: days whose need is known, ``reckoned`` of them from a stated total or a backlog;
    ``p95`` and ``highest`` of those (NaN without one); ``floor``: the most that any day used;
    ``unknown``: days that ran out of this very budget and do not say what they needed.
    """
    days, needs = facts.days, day_needs(facts.days)
    exhausted = days["kind"] == DayKind.EXHAUSTED.value
    parts = []
    for measure in MEASURES:
        known = needs[measure].notna()
        ran_out = exhausted & (days["limit"].astype("object").map(MEASURE_OF_LIMIT) == measure)
        marks = pd.DataFrame(
            {
                "job_source_id": days["job_source_id"],
                "usable": known,
                "reckoned": known & exhausted & (needs[measure] > days[measure]),
                "unknown": ran_out & ~known,
            }
        )
        part = marks.groupby("job_source_id").sum()
        by_source = needs.groupby("job_source_id")[measure]
        part["p95"] = by_source.quantile(QUANTILE, interpolation="higher")
        part["highest"] = by_source.max()
        part["floor"] = days.groupby("job_source_id")[measure].max()
        parts.append(part.reset_index().assign(measure=measure))
    return pd.concat(parts, ignore_index=True)

"""The budget report as a whole: facts in, figures, proposals and lists out; pure (R9, R20).

Answers the question that the defaults leave open: which daily budget a platform should have, once
a week was measured.
"""

from dataclasses import asdict, dataclass
from datetime import date

import pandas as pd

from collection_pipeline.collection.report.facts import MEASURES, ReportFacts
from collection_pipeline.collection.report.figures import (
    platform_figures,
    source_figures,
    unusable_days,
)
from collection_pipeline.collection.report.needs import source_needs
from collection_pipeline.collection.report.platform_budgets import (
    PlatformBudget,
    platform_budgets,
)
from collection_pipeline.collection.report.proposals import source_proposals
from collection_pipeline.collection.report.repeated import (
    RepeatedlyExhausted,
    repeatedly_exhausted,
)
from collection_pipeline.settings import Settings


@dataclass(frozen=True)
class BudgetReport:
    """A period, both ends included.

    ``platforms``, ``sources``: the columns of ``figures``. ``budgets``: one a platform and measure.
    ``proposals``: a row an active source and measure. ``unusable``: see ``figures.unusable_days``.
    """

    first_day: date
    last_day: date
    platforms: pd.DataFrame
    sources: pd.DataFrame
    budgets: list[PlatformBudget]
    proposals: pd.DataFrame
    exhausted: list[RepeatedlyExhausted]
    unusable: pd.DataFrame
    days_without_cycles: list[date]

    @property
    def is_empty(self) -> bool:
        """No source had a cycle on any day."""
        return not int(self.platforms["days"].sum())

    def document(self) -> dict[str, object]:
        """The report as plain values for JSON; what is unknown is null, never 0."""
        return {
            "first_day": self.first_day,
            "last_day": self.last_day,
            "platforms": records(self.platforms),
            "budgets": [asdict(one) for one in self.budgets],
            "repeatedly_exhausted": [asdict(one) for one in self.exhausted],
            "unusable_days": records(
                self.unusable.assign(run_date=self.unusable["run_date"].dt.strftime("%Y-%m-%d"))
            ),
            "days_without_cycles": self.days_without_cycles,
            "sources": records(self.sources),
        }


def budget_report(facts: ReportFacts, settings: Settings) -> BudgetReport:
    """The report over ``facts``; ``settings`` name each platform's present budgets."""
    sources = source_figures(facts)
    platforms = platform_figures(facts, sources)
    proposals = source_proposals(facts, source_needs(facts))
    names = [str(name) for name in platforms["platform"]]
    present = {
        (name, measure): getattr(settings.daily_budget(name), measure)
        for name in names
        for measure in MEASURES
    }
    worked = {stamp.date() for stamp in facts.days["run_date"].unique()}
    return BudgetReport(
        facts.first_day,
        facts.last_day,
        platforms,
        sources,
        platform_budgets(proposals, names, present),
        proposals,
        repeatedly_exhausted(facts, proposals),
        unusable_days(facts),
        [day for day in facts.dates if day not in worked],
    )


def records(table: pd.DataFrame) -> list[dict[str, object]]:
    """The rows as plain Python values."""
    plain = table.astype("object").where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]

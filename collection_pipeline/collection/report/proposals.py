"""Proposed daily budgets of each source: enough for its busy days, and no more than a day can hold.

* **measured**: the p95 of at least ``LEAST_USABLE_DAYS`` known days, and a quarter more, at least
  one slice; never below what any day of the period needed or used.
* **step**: days ran out of this budget and do not say what they needed; twice today's, to be looked
  at again.
* **keep**: too few known days; one lucky day is no measure.
* **unused**: nothing was asked for; today's stays.

Politeness comes last and wins: pages and details of one source, each one host delay after the
other, must fit a day.
"""

from enum import StrEnum

import numpy as np
import pandas as pd

from collection_pipeline.collection.report.facts import MEASURES, ReportFacts

LEAST_USABLE_DAYS = 7
"""The week of measured counts that the defaults wait for."""
HEADROOM = 0.25
STEP = 2
REPEATED_DAYS = 3
"""From so many days on it is no chance that a budget ran out."""
SECONDS_A_DAY = 86_400
REQUESTS = ["list_pages", "detail_requests"]
"""The budgets that cost time of the host."""


class ProposalKind(StrEnum):
    """Where a proposal comes from."""

    MEASURED = "measured"
    STEP = "step"
    KEEP = "keep"
    UNUSED = "unused"


def source_proposals(facts: ReportFacts, needs: pd.DataFrame) -> pd.DataFrame:
    """``needs`` of the active sources with ``present``, ``is_own``, ``kind`` and ``proposed``.

    ``busy``: what a busy day uses, the p95 or, unknown, the floor. ``is_capped``: the proposal was
    lowered to what fits a day at the host's delay.
    """
    active = facts.sources[facts.sources["active"]]
    # A source without a single day is there too: nothing may be lowered for it unseen.
    every = active.merge(pd.DataFrame({"measure": MEASURES}), how="cross")
    table = every.merge(needs, on=["job_source_id", "measure"], how="left")
    counts = ["usable", "reckoned", "unknown", "floor"]
    table[counts] = table[counts].fillna(0).astype("int64")
    for name in ("limit", "is_own"):
        table[name] = _of_measure(table, name)
    table = table.rename(columns={"limit": "present"}).drop(
        columns=[f"{measure}_{name}" for measure in MEASURES for name in ("limit", "is_own")]
    )
    table["kind"] = _kinds(table)
    table["proposed"] = _amounts(table, facts)
    table["busy"] = table["p95"].fillna(table["floor"])
    return _within_a_day(table)


def _of_measure(table: pd.DataFrame, name: str) -> pd.Series:
    """The column ``<measure>_<name>`` that each row's own measure names."""
    values = table[f"{MEASURES[0]}_{name}"].copy()
    for measure in MEASURES[1:]:
        values = values.where(table["measure"] != measure, table[f"{measure}_{name}"])
    return values


def _kinds(table: pd.DataFrame) -> "pd.Series[str]":
    is_known = table["usable"] >= LEAST_USABLE_DAYS
    is_unused = is_known & (table["floor"] == 0) & (table["highest"] == 0)
    kinds = np.select(
        [table["unknown"] >= REPEATED_DAYS, is_unused, is_known],
        [ProposalKind.STEP.value, ProposalKind.UNUSED.value, ProposalKind.MEASURED.value],
        ProposalKind.KEEP.value,
    )
    return pd.Series(kinds, index=table.index, dtype="object")


def _amounts(table: pd.DataFrame, facts: ReportFacts) -> pd.Series:
    slices = {measure: getattr(facts.slice_budget, measure) for measure in MEASURES}
    a_slice = table["measure"].map(slices).astype("float64")
    headroom = np.maximum(np.ceil(table["p95"] * HEADROOM), a_slice)
    least = table[["highest", "floor"]].max(axis="columns")
    present = table["present"].astype("float64")
    measured = np.maximum(table["p95"] + headroom, least)
    # A day or two that ran out without saying more: too few for a step, enough not to go down.
    measured = measured.where(table["unknown"] == 0, np.maximum(measured, present))
    kinds = table["kind"]
    amounts = present.where(kinds != ProposalKind.MEASURED.value, measured)
    step = np.fmax(present * STEP, measured.where(table["usable"] >= LEAST_USABLE_DAYS))
    return amounts.where(kinds != ProposalKind.STEP.value, step)


def _within_a_day(table: pd.DataFrame) -> pd.DataFrame:
    """Only raises are cut: the present budget is its owner's choice."""
    asks = table["measure"].isin(REQUESTS)
    seconds = (table["proposed"] * table["delay_ms"] / 1000).where(asks, 0)
    of_source = seconds.groupby(table["job_source_id"]).transform("sum")
    factor = (SECONDS_A_DAY / of_source.where(of_source > SECONDS_A_DAY)).where(asks)
    kept = np.minimum(table["proposed"], table["present"])
    cut = np.maximum(np.floor(table["proposed"] * factor), kept)
    table["is_capped"] = cut < table["proposed"]
    table["proposed"] = cut.fillna(table["proposed"]).clip(lower=1).round().astype("int64")
    return table

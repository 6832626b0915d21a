"""The facts of a period as three frames: sources with the limits in force, days, waits (R9, R20).

Invariant: reading changes nothing, and memory is bounded by the days of the period: each day is
turned into narrow columns before the next is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import pandas as pd

from collection_pipeline.collection.report.day_kind import KINDS, kind_of_day
from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailureReason
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.transaction import TransactionRunner
from collection_pipeline.store.views.budget_facts import (
    CycleRow,
    SliceSums,
    SourceRow,
    cycle_rows,
    slice_sums,
    source_rows,
)

DEFAULT_DAYS = 28
MOST_DAYS = 366
MEASURES = ("list_pages", "postings", "detail_requests")
"""The three budgets of a day, as attributes of ``CollectionBudget``."""
LIMITS = [limit.value for limit in CollectionBudgetLimit]
FAILURES = [reason.value for reason in CollectionFailureReason]
UNKNOWN_PLATFORM = "unknown"

DAY_TYPES = {
    "job_source_id": "int64",
    "list_pages": "int32",
    "postings": "int32",
    "detail_requests": "int32",
    "detail_failures": "int32",
    "changed": "int32",
    "stated_total": "float64",
}


@dataclass(frozen=True)
class ReportFacts:
    """A period of whole days, both ends included.

    ``sources``: one row a source, with ``<measure>_limit`` in force and ``<measure>_is_own``, and
    ``delay_ms``. ``days``: one row a source and day, with its kind. ``waits``: sums by source.
    """

    first_day: date
    last_day: date
    sources: pd.DataFrame
    days: pd.DataFrame
    waits: pd.DataFrame
    slice_budget: CollectionBudget

    @property
    def dates(self) -> list[date]:
        """Every day of the period."""
        return list(dates_between(self.first_day, self.last_day))


def read_facts(
    transactions: TransactionRunner,
    clock: DatabaseClock,
    settings: Settings,
    days: int = DEFAULT_DAYS,
) -> ReportFacts:
    """The ``days`` days before today in Seoul; today is not over and would read as a failure."""
    last = transactions.run(clock.today) - timedelta(days=1)
    first = last - timedelta(days=days - 1)
    sources = transactions.run(source_rows)
    frames = [
        days_frame(day, transactions.run(lambda connection, day=day: cycle_rows(connection, day)))  # type: ignore[misc]  # bound at once
        for day in dates_between(first, last)
    ]
    waits = [
        sums
        # A slice that was stored after midnight belongs to the day before.
        for day in dates_between(first, last + timedelta(days=1))
        for sums in transactions.run(
            lambda connection, day=day: slice_sums(  # type: ignore[misc]  # bound at once
                connection, utc_of_kst(day), utc_of_kst(day + timedelta(days=1)), first, last
            )
        )
    ]
    return facts_of(first, last, sources, frames, waits, settings)


def facts_of(
    first: date,
    last: date,
    sources: Iterable[SourceRow],
    frames: Iterable[pd.DataFrame],
    waits: Iterable[SliceSums],
    settings: Settings,
) -> ReportFacts:
    """The frames of a period; a source that was deleted keeps its days under its number."""
    found = [frame for frame in frames if len(frame)]
    days = pd.concat(found, ignore_index=True) if found else days_frame(first, [])
    known = list(sources)
    missing = set(days["job_source_id"].unique()) - {row.job_source_id for row in known}
    known += [
        SourceRow(int(number), UNKNOWN_PLATFORM, f"source {number}", False, None, None, None, None)
        for number in sorted(missing)
    ]
    return ReportFacts(
        first,
        last,
        _sources_frame(known, settings),
        days,
        _waits_frame(waits),
        settings.slice_budget,
    )


def days_frame(day: date, rows: list[CycleRow]) -> pd.DataFrame:
    """One day's cycles in narrow columns."""
    frame = pd.DataFrame.from_records(rows, columns=CycleRow._fields).astype(DAY_TYPES)
    kinds = [kind_of_day(row.cycle_status, bool(row.is_complete), row.postings > 0) for row in rows]
    frame["run_date"] = pd.Series(pd.Timestamp(day), index=frame.index, dtype="datetime64[s]")
    frame["kind"] = pd.Categorical(kinds, categories=KINDS)
    frame["limit"] = pd.Categorical(frame["limit"], categories=LIMITS)
    frame["failure"] = pd.Categorical(frame["failure"], categories=FAILURES)
    return frame.drop(columns=["cycle_status", "is_complete"])


def dates_between(first: date, last: date) -> Iterator[date]:
    """``first`` to ``last``, both included."""
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def _sources_frame(rows: list[SourceRow], settings: Settings) -> pd.DataFrame:
    frame = pd.DataFrame.from_records(rows, columns=SourceRow._fields)
    frame["active"] = frame["active"].astype(bool)
    platforms = sorted(set(frame["platform"]))
    for measure in MEASURES:
        own = pd.to_numeric(frame.pop(f"own_{measure}"), errors="coerce")
        limits = {name: getattr(settings.daily_budget(name), measure) for name in platforms}
        frame[f"{measure}_is_own"] = own.notna()
        general = frame["platform"].map(limits).astype("float64")
        frame[f"{measure}_limit"] = own.fillna(general).astype("int64")
    own_delay = pd.to_numeric(frame.pop("own_delay_ms"), errors="coerce").fillna(0)
    delays = {name: settings.for_platform(name, "HOST_MIN_DELAY_MS") for name in platforms}
    # The larger of the host's and the source's delay counts (R26).
    host_delay = frame["platform"].map(delays).astype("float64")
    frame["delay_ms"] = host_delay.where(host_delay > own_delay, own_delay)
    return frame


def _waits_frame(sums: Iterable[SliceSums]) -> pd.DataFrame:
    frame = pd.DataFrame.from_records(list(sums), columns=SliceSums._fields)
    frame = frame.astype(
        {"job_source_id": "int64", "seconds_waited": "float64", "rate_limited": "int64"}
    )
    return frame.groupby("job_source_id", as_index=False).sum()

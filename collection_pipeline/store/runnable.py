"""The one predicate ``runnable`` (spec section 2), as an expression over ``job_sources``.

It decides in every place: creation, fill, prepare, claim, after every throttle wait, and snapshot
eligibility. A source is runnable on a date when it is active, its flags are on, its platform is
supported, and no older system has already run on that date (R44).
"""

from collections.abc import Collection
from datetime import date

from sqlalchemy import ColumnElement, and_, exists, false, or_, select

from collection_pipeline.domain.cycle_status import TERMINAL_STATUSES
from collection_pipeline.domain.source import SourceType
from collection_pipeline.store.schema.cycles import cycles, runs
from collection_pipeline.store.schema.sources import feature_flags, job_sources

DISPATCH_FLAG = "posting.collection-dispatch-v2"
AGGREGATOR_FLAG = "aggregator.collection"
RunDate = date | ColumnElement[date]
"""A day, or the parameter of a statement that is built once."""


def is_switched_on(run_date: RunDate) -> ColumnElement[bool]:
    """Runnable apart from the platform: what R2 needs to fail an unsupported platform."""
    return and_(
        job_sources.c.active == 1,
        flag_is_on(DISPATCH_FLAG),
        or_(
            job_sources.c.source_type != SourceType.AGGREGATOR.value,
            flag_is_on(AGGREGATOR_FLAG),
        ),
        ~_ran_elsewhere(run_date),
    )


def is_runnable(run_date: RunDate, platforms: Collection[str]) -> ColumnElement[bool]:
    """True for the rows of ``job_sources`` that may be collected on ``run_date``."""
    # Not as a list: its statement would be written anew each time that it is carried out.
    supported = or_(false(), *(job_sources.c.platform == name for name in sorted(platforms)))
    return and_(is_switched_on(run_date), supported)


def flag_is_on(name: str) -> ColumnElement[bool]:
    """Whether a flag is switched on, read by the statement that acts on it (R44)."""
    return exists(
        select(1)
        .select_from(feature_flags)
        .where(feature_flags.c.name == name, feature_flags.c.enabled == 1)
    )


def _ran_elsewhere(run_date: RunDate) -> ColumnElement[bool]:
    """A terminal history row that did not come from a cycle of ours (R44).

    By whole keys: left alone, MariaDB reads all that ended on the day for each source, or makes a
    filter of all that ever ended.
    """
    ran = exists(
        select(1)
        .select_from(runs)
        .with_hint(runs, "FORCE INDEX (uq_runs_source_date)")
        .where(runs.c.job_source_id == job_sources.c.id, runs.c.run_date == run_date)
        .correlate(job_sources)
    )
    ended_here = exists(
        select(1)
        .select_from(cycles)
        .with_hint(cycles, "FORCE INDEX (uq_cycles_source_date)")
        .where(
            cycles.c.job_source_id == job_sources.c.id,
            cycles.c.run_date == run_date,
            cycles.c.cycle_status.in_(sorted(TERMINAL_STATUSES)),
        )
        .correlate(job_sources)
    )
    return and_(ran, ~ended_here)

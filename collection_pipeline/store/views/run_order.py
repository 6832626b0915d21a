"""Cycles and runs rows read in the order of the history: newest run date first, then source.

An index in which the date descends and the source ascends does not exist on both servers, so rows
are put together from whole days and the part of one day; the day at which they end is found by
walking the index backwards. So a read costs the same wherever it begins, however long the history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, Table, and_, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.schema.cycles import cycles, runs
from collection_pipeline.store.schema.sources import job_sources
from collection_pipeline.store.views.collection_run import RunKey

FIRST_DAY, LAST_DAY = date(1000, 1, 1), date(9999, 12, 31)
"""What a DATE column can hold."""
_KEY = {cycles: "uq_cycles_source_date", runs: "uq_runs_source_date"}
_SHARED = (
    "job_source_id",
    "run_date",
    "fetched_count",
    "new_count",
    "updated_count",
    "missed_count",
    "closed_count",
    "detail_failure_count",
    "failure_reason",
    "started_at",
    "finished_at",
)
_CYCLES_ONLY = (
    "cycle_status",
    "is_complete",
    "list_page_count",
    "detail_request_count",
    "attempt_count",
    "next_eligible_at",
    "lease_until",
    "continuation_cursor",
)
_SOURCE = (job_sources.c.label, job_sources.c.platform, job_sources.c.source_type)
_CYCLE_COLUMNS = (
    *(cycles.c[name] for name in (*_SHARED, *_CYCLES_ONLY)),
    runs.c.id.label("run_id"),
    *_SOURCE,
)
_RUN_COLUMNS = (
    *(runs.c[name] for name in ("id", "run_status", *_SHARED)),
    cycles.c.id.label("cycle_id"),
    *_SOURCE,
)


@dataclass(frozen=True)
class RunsQuestion:
    """``None`` leaves everything in; days are inclusive; ``limit`` rows a page at most."""

    first: date | None = None
    last: date | None = None
    job_source_id: int | None = None
    status: CycleStatus | None = None
    after: RunKey | None = None
    limit: int = 100


class OrderedRuns:
    """One of the two tables, read from a place on in the order of the answer."""

    def __init__(self, connection: Connection, question: RunsQuestion, table: Table) -> None:
        self._connection = connection
        self._table = table
        self._source = question.job_source_id
        self._first = question.first or FIRST_DAY
        self._last = question.last or LAST_DAY
        self._same: list[ColumnElement[bool]] = []
        if self._source is not None:
            self._same.append(table.c.job_source_id == self._source)
        if question.status is not None:
            self._same.append(cycles.c.cycle_status == question.status.value)
        self._index = _index(table, question)

    def rows(self, after: RunKey | None, limit: int) -> Sequence[Row[Any]]:
        """At most ``limit`` rows behind ``after``."""
        if self._source is not None:
            return self._of_source(self._source, after, limit)
        if after is None:
            return self._from_day(self._last, limit)
        if after.run_date > self._last:
            return self._from_day(self._last, limit)
        rest = self._of_day(after.run_date, after.job_source_id, limit)
        if len(rest) == limit or after.run_date <= self._first:
            return rest
        return [*rest, *self._from_day(after.run_date - timedelta(days=1), limit - len(rest))]

    def _of_source(self, source: int, after: RunKey | None, limit: int) -> Sequence[Row[Any]]:
        """One row a day, so the date alone is the order."""
        last = self._last
        if after is not None and after.run_date <= last:
            if source <= after.job_source_id and after.run_date <= self._first:
                return []
            last = after.run_date - timedelta(days=int(source <= after.job_source_id))
        day = self._table.c.run_date
        return self._read(
            self._select().where(day.between(self._first, last)).order_by(day.desc()).limit(limit)
        )

    def _of_day(self, day: date, after_source: int, limit: int) -> Sequence[Row[Any]]:
        if not self._first <= day <= self._last:
            return []
        source = self._table.c.job_source_id
        return self._read(
            self._select()
            .where(self._table.c.run_date == day, source > after_source)
            .order_by(source)
            .limit(limit)
        )

    def _from_day(self, last: date, limit: int) -> Sequence[Row[Any]]:
        """From the beginning of ``last`` on: whole days, then the beginning of the final one."""
        day = self._table.c.run_date
        final = self._final_day(last, limit)
        first = self._first if final is None else final + timedelta(days=1)
        whole: Sequence[Row[Any]] = []
        if first <= last:
            whole = sorted(
                self._read(self._select().where(day.between(first, last))),
                key=lambda row: RunKey(row.run_date, row.job_source_id).place,
            )
        if final is None:
            return whole
        return [*whole, *self._of_day(final, 0, limit - len(whole))]

    def _final_day(self, last: date, limit: int) -> date | None:
        """The day of the last of ``limit`` rows, or ``None`` where there are fewer."""
        table = self._table.c
        statement = (
            select(table.run_date)
            .with_hint(self._table, f"FORCE INDEX ({self._index})")
            .where(*self._same, table.run_date.between(self._first, last))
            .order_by(*self._backwards())
            .limit(1)
            .offset(limit - 1)
        )
        found: date | None = self._connection.execute(statement).scalar_one_or_none()
        return found

    def _backwards(self) -> list[ColumnElement[Any]]:
        return [self._table.c.run_date.desc(), self._table.c.job_source_id.desc()]

    def _select(self) -> Select[Any]:
        columns, other = (_CYCLE_COLUMNS, runs) if self._table is cycles else (_RUN_COLUMNS, cycles)
        joined = _with_other(self._table, other)
        return (
            select(*columns)
            .select_from(joined)
            .with_hint(self._table, f"FORCE INDEX ({self._index})")
            # Left alone, a server reads a table that it takes for small as a whole.
            .with_hint(other, f"FORCE INDEX ({_KEY[other]})")
            .with_hint(job_sources, "FORCE INDEX (PRIMARY)")
            .where(*self._same)
        )

    def _read(self, statement: Select[Any]) -> Sequence[Row[Any]]:
        return self._connection.execute(statement).all()


def _with_other(table: Table, other: Table) -> FromClause:
    same_key = and_(
        other.c.job_source_id == table.c.job_source_id, other.c.run_date == table.c.run_date
    )
    return table.outerjoin(other, same_key).outerjoin(
        job_sources, job_sources.c.id == table.c.job_source_id
    )


def _index(table: Table, question: RunsQuestion) -> str:
    if question.job_source_id is not None:
        return _KEY[table]
    if question.status is not None:
        return "ix_cycles_status_date_source"
    return "ix_cycles_date_source" if table is cycles else "ix_runs_date_source"

"""The history of collection: cycles, and the runs rows of days and sources that had none (R44).

Nothing marks a runs row that has no cycle. So runs rows are read in the same order as far as the
page of cycles reaches, and those that have a cycle are passed. With a status filter many may have
to be passed: after ``MOST_PASSED_ROWS`` the page ends early and says where to go on.
"""

from dataclasses import dataclass, replace
from datetime import date

from sqlalchemy import Connection, func, select

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.store.schema.cycles import cycles, runs
from collection_pipeline.store.views.collection_run import (
    CollectionRun,
    RunKey,
    run_of_cycle,
    run_without_cycle,
)
from collection_pipeline.store.views.run_order import OrderedRuns, RunsQuestion

MOST_ROWS = 500
MOST_PASSED_ROWS = 5_000
LONGEST_READ_ROWS = 2_000
_STATUS_OF_RUNS = frozenset({CycleStatus.SUCCESS, CycleStatus.FAILED})


@dataclass(frozen=True)
class RunsPage:
    """Rows in order; there may be more behind ``next_after``, also where a page is not full."""

    rows: list[CollectionRun]
    next_after: RunKey | None


def collection_runs(connection: Connection, question: RunsQuestion, today: date) -> RunsPage:
    """At most ``question.limit`` rows. ``today`` is the KST day: only its cycles can go on."""
    limit = question.limit
    found = [
        run_of_cycle(row, today)
        for row in OrderedRuns(connection, question, cycles).rows(question.after, limit + 1)
    ]
    horizon = found[limit].key if len(found) > limit else None
    older, searched_to = _older_runs(connection, question, horizon)
    merged = sorted([*found[:limit], *older], key=lambda run: run.key.place)
    if searched_to is not None:
        merged = [run for run in merged if run.key.place <= searched_to.place]
    page = merged[:limit]
    if len(page) < limit:
        return RunsPage(page, searched_to)
    has_more = len(merged) > limit or horizon is not None or searched_to is not None
    return RunsPage(page, page[-1].key if has_more else None)


def cycle_counts(connection: Connection, day: date) -> dict[CycleStatus, int]:
    """The day's cycles by status; every status is present. Reads index entries of that day only."""
    statement = (
        select(cycles.c.cycle_status, func.count())
        .with_hint(cycles, "FORCE INDEX (ix_cycles_status_date_source)")
        .where(
            cycles.c.cycle_status.in_([status.value for status in CycleStatus]),
            cycles.c.run_date == day,
        )
        .group_by(cycles.c.cycle_status)
    )
    counted = dict.fromkeys(CycleStatus, 0)
    counted.update((CycleStatus(row[0]), row[1]) for row in connection.execute(statement))
    return counted


def _older_runs(
    connection: Connection, question: RunsQuestion, horizon: RunKey | None
) -> tuple[list[CollectionRun], RunKey | None]:
    """Rows without a cycle up to ``horizon``, and the place where the search was given up."""
    if question.status is not None and question.status not in _STATUS_OF_RUNS:
        return [], None
    ordered = OrderedRuns(connection, replace(question, status=None), runs)
    older: list[CollectionRun] = []
    place, passed, size = question.after, 0, question.limit + 1
    while True:
        rows = ordered.rows(place, size)
        for row in rows:
            run = run_without_cycle(row)
            if horizon is not None and run.key.place > horizon.place:
                return older, None
            if row.cycle_id is None and question.status in (None, run.status):
                older.append(run)
        if len(rows) < size or len(older) > question.limit:
            return older, None
        place, passed = RunKey(rows[-1].run_date, rows[-1].job_source_id), passed + len(rows)
        if passed >= MOST_PASSED_ROWS:
            return older, place
        size = min(2 * size, LONGEST_READ_ROWS, max(1, MOST_PASSED_ROWS - passed))

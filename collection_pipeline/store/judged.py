"""``abnormal`` and ``close_guarded`` in SQL, generated from the domain's truth table (R41).

Nobody writes these conditions by hand: a table that changes changes every statement with it.
"""

from collections.abc import Callable

from sqlalchemy import ColumnElement, and_, case, literal_column, not_

from collection_pipeline.domain.judgement import Judgement, truth_table


def abnormal(
    cycle_status: ColumnElement[str],
    is_complete: ColumnElement[int],
    fetched_count: ColumnElement[int],
) -> ColumnElement[int]:
    """1 where the day of a cycle with these columns was abnormal, else 0."""
    return _judged(cycle_status, is_complete, fetched_count, lambda line: line.abnormal)


def close_guarded(
    cycle_status: ColumnElement[str],
    is_complete: ColumnElement[int],
    fetched_count: ColumnElement[int],
) -> ColumnElement[int]:
    """0 where a cycle with these columns may close postings, else 1."""
    return _judged(cycle_status, is_complete, fetched_count, lambda line: line.close_guarded)


def _judged(
    cycle_status: ColumnElement[str],
    is_complete: ColumnElement[int],
    fetched_count: ColumnElement[int],
    verdict: Callable[[Judgement], bool],
) -> ColumnElement[int]:
    """One WHEN for each line of the table; a status that it does not know is NULL."""
    return case(
        *(
            (
                and_(
                    cycle_status == line.status.value,
                    is_complete == int(line.is_complete),
                    fetched_count > 0 if line.fetched else not_(fetched_count > 0),
                ),
                literal_column(str(int(verdict(line)))),
            )
            for line in truth_table()
        )
    )

"""The real tables and the model in one shape, compared row by row (I1 to I7)."""

from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, text

from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.queue_model import QueueModel
from collection_pipeline_tests.kit.queue_rows import (
    CycleRow,
    HeaderRow,
    HealthRow,
    PostingRow,
)

Table = dict[Any, dict[str, Any]]
Tables = dict[str, Table]

KEPT_OUTSIDE = frozenset({"seen", "has_gap"})
_RUNS = (
    "run_status",
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
_SLICES = (
    "outcome",
    "reason",
    "list_page_count",
    "fetched_count",
    "new_count",
    "updated_count",
    "detail_request_count",
    "detail_failure_count",
    "created_at",
)
_ITEMS = (
    "source_label",
    "platform",
    "source_type",
    "cycle_status",
    "is_complete",
    "fetched_count",
    "list_page_count",
    "detail_request_count",
    "abnormal",
    "close_guarded",
    "reason",
)


def _columns(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.name not in KEPT_OUTSIDE)


_SELECTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "cycles": (
        "job_posting_collection_cycles",
        ("job_source_id", "run_date"),
        ("id", *_columns(CycleRow)),
    ),
    "seen": (
        "job_posting_collection_seen_postings AS s JOIN job_posting_collection_cycles AS c"
        " ON c.id = s.cycle_id",
        ("c.job_source_id", "c.run_date", "s.source_job_id"),
        ("detail_tried",),
    ),
    "postings": ("job_postings", ("job_source_id", "source_job_id"), _columns(PostingRow)),
    "runs": ("job_posting_collection_runs", ("job_source_id", "run_date"), _RUNS),
    "slices": ("collection_slices", ("lease_token",), _SLICES),
    "health": ("job_source_health", ("job_source_id",), _columns(HealthRow)),
    "headers": (
        "job_posting_collection_sla_snapshots",
        ("snapshot_date",),
        _columns(HeaderRow),
    ),
    "items": (
        "job_posting_collection_sla_snapshot_items AS i JOIN"
        " job_posting_collection_sla_snapshots AS h ON h.id = i.snapshot_id",
        ("h.snapshot_date", "i.job_source_id"),
        tuple(f"i.{name}" for name in _ITEMS),
    ),
    "host_limits": ("external_request_host_limits", ("host",), ("next_allowed_at",)),
}


def read_tables(store: Store) -> Tables:
    """Every table of the queue at one moment; a key that occurs twice is a fault (I1)."""

    def reading(connection: Connection) -> Tables:
        return {name: _read(connection, *what) for name, what in _SELECTS.items()}

    tables = store.run(reading)
    tables["health"] = _without_blanks(tables["health"])
    return tables


def _read(
    connection: Connection, source: str, keys: tuple[str, ...], columns: tuple[str, ...]
) -> Table:
    names = [column.split(".")[-1] for column in columns]
    found: Table = {}
    for row in connection.execute(text(f"SELECT {', '.join((*keys, *columns))} FROM {source}")):
        key = tuple(row[: len(keys)]) if len(keys) > 1 else row[0]
        assert key not in found, f"{source} has {key} twice"
        found[key] = dict(zip(names, row[len(keys) :], strict=True))
    return found


def tables_of(model: QueueModel) -> Tables:
    """What the model says that the tables hold."""
    seen: Table = {
        (*key, job_id): {"detail_tried": tried}
        for key, cycle in model.cycles.items()
        for job_id, tried in cycle.seen.items()
    }
    seen |= {(*key, job_id): {"detail_tried": 0} for key, job_id in model.strays}
    return {
        "cycles": {key: _values(one) for key, one in model.cycles.items()},
        "seen": seen,
        "postings": {key: _values(one) for key, one in model.postings.items()},
        "runs": dict(model.runs),
        "slices": dict(model.slices),
        "health": _without_blanks({key: _values(one) for key, one in model.health.items()}),
        "headers": {key: _values(one) for key, one in model.headers.items()},
        "items": dict(model.items),
        "host_limits": {
            host: {"next_allowed_at": until} for host, until in model.host_limits.items()
        },
    }


def differences(real: Tables, wanted: Tables) -> list[str]:
    """One sentence for each row that differs; the cycles' ids are the database's own business."""
    found = []
    for name, rows in wanted.items():
        for key in sorted({*rows, *real[name]}, key=repr):
            is_row = dict(real[name].get(key, {}))
            is_row.pop("id", None)
            should = rows.get(key, {})
            if is_row != should:
                wrong = {one for one in {*is_row, *should} if is_row.get(one) != should.get(one)}
                found += [
                    f"{name} {key}: {one} is {is_row.get(one)!r}, the model says"
                    f" {should.get(one)!r}"
                    for one in sorted(wrong)
                ]
    return found


def _values(row: object) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name not in KEPT_OUTSIDE}


def _without_blanks(health: Table) -> Table:
    """A source that was never judged has a row of defaults or none: both say the same."""
    blank = vars(HealthRow())
    return {key: row for key, row in health.items() if row != blank}

"""Postings and snapshot items as the store would hold them, for tests of the operations page."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Table

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.judgement import is_abnormal, is_close_guarded
from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline.store.schema.operations import sla_snapshot_items
from collection_pipeline.store.schema.postings import job_postings
from collection_pipeline_tests.kit.database import DAY, Store

MORNING = utc_of_kst(DAY) + timedelta(hours=10, minutes=31, seconds=7)
"""10:31:07 KST, naive UTC."""
Row = dict[str, Any]


def add_posting(store: Store, source_id: int, source_job_id: str, **columns: object) -> int:
    """An open posting, seen today unless ``columns`` say otherwise; returns its id."""
    row = completed(job_postings, posting_row(source_id, source_job_id, columns))
    return store.run(lambda c: int(c.execute(job_postings.insert(), row).lastrowid))


def add_item(
    store: Store, snapshot_id: int, source_id: int, status: str, **columns: object
) -> None:
    """A snapshot's item, judged by the truth table."""
    row = item_row(snapshot_id, source_id, status, columns)
    store.run(lambda c: c.execute(sla_snapshot_items.insert(), row))


def item_row(snapshot_id: int, source_id: int, status: str, columns: Row) -> Row:
    """A snapshot's item, judged by the truth table."""
    judged = (CycleStatus(status), bool(columns.get("is_complete")))
    fetched = int(columns.get("fetched_count", 0))
    return {
        "snapshot_id": snapshot_id,
        "job_source_id": source_id,
        "source_label": f"source {source_id}",
        "cycle_status": status,
        "abnormal": is_abnormal(judged[0], is_complete=judged[1], fetched_count=fetched),
        "close_guarded": is_close_guarded(judged[0], is_complete=judged[1], fetched_count=fetched),
        **columns,
    }


def posting_row(source_id: int, source_job_id: str, columns: Row) -> Row:
    """An open posting, seen today unless ``columns`` say otherwise."""
    return {
        "job_source_id": source_id,
        "source_job_id": source_job_id,
        "title": f"posting {source_job_id}",
        "list_signature": "1:a",
        "detail_state": "NONE",
        "first_seen_run_date": DAY - timedelta(days=20),
        "last_seen_run_date": DAY,
        **columns,
    }


def completed(table: Table, values: Row) -> Row:
    """Instants that the table wants and nobody looks at are the morning's."""
    wanted = {"created_at": MORNING, "updated_at": MORNING}
    return {name: value for name, value in wanted.items() if name in table.c} | values

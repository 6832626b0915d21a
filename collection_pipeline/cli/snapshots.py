"""``snapshot show|capture|recover``: the 09:00 snapshot by hand (R36 to R42)."""

from dataclasses import asdict
from datetime import date, datetime

import typer
from sqlalchemy import Connection

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.collecting import stop_on_signals
from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_json, print_rows
from collection_pipeline.collection.assembly import CollectionPipeline, worker_name
from collection_pipeline.domain.kst import kst_text, utc_of_kst
from collection_pipeline.domain.snapshot import (
    CaptureStatus,
    SnapshotHeader,
    SnapshotItem,
    late_count,
)
from collection_pipeline.store.snapshots import SlaSnapshots

TABLE_COLUMNS = (
    "job_source_id",
    "source_label",
    "cycle_status",
    "reason",
    "is_complete",
    "fetched_count",
    "list_page_count",
    "detail_request_count",
    "abnormal",
    "close_guarded",
)
EXIT_CODES = {
    CaptureStatus.PENDING: exit_codes.TRY_LATER,
    CaptureStatus.CAPTURED: exit_codes.DONE,
    CaptureStatus.NOT_APPLICABLE: exit_codes.DONE,
    CaptureStatus.MISSED: exit_codes.WORK_FAILED,
}

app = typer.Typer(help="Where every source stood at the morning's cutoff.", no_args_is_help=True)


@app.command("show")
def show(
    snapshot_date: datetime | None = typer.Option(
        None, "--date", formats=["%Y-%m-%d"], help="The KST day; today by default."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Show a day's snapshot: its state, the late sources, every item."""
    with opened_pipeline() as pipeline:
        header, items = pipeline.transactions.run(
            lambda connection: _read(pipeline, connection, snapshot_date)
        )
    if as_json:
        print_json(_document(header, items))
        return
    print(_sentence(header, items))
    if items:
        rows = [_item(item) for item in items]
        table = [{name: row[name] for name in TABLE_COLUMNS} for row in rows]
        print_rows(table, as_json=False, empty="")


@app.command("capture")
def capture() -> None:
    """Wait for the cutoff (at most five minutes ahead of it) and capture the day once.

    Ends with 0 when the day is captured or not applicable, 4 when it is missed, 75 when it is
    still pending.
    """
    stop = stop_on_signals()
    with opened_pipeline() as pipeline:
        report = pipeline.snapshots.capture_at_nine(worker=worker_name(), stop=stop)
    print(f"{report.header.snapshot_date}: {report.header.status.value}, {report.note}")
    raise typer.Exit(EXIT_CODES[report.header.status])


@app.command("recover")
def recover() -> None:
    """Make snapshots final that nobody can capture any more, as every tick does."""
    with opened_pipeline() as pipeline:
        settled = pipeline.snapshots.mark_missed_snapshot()
    for header in settled:
        print(f"{header.snapshot_date}: {header.status.value}, {header.miss_reason}")
    if not settled:
        print("no snapshot is overdue")


def _read(
    pipeline: CollectionPipeline, connection: Connection, moment: datetime | None
) -> tuple[SnapshotHeader, list[SnapshotItem]]:
    now, today = pipeline.clock.now(connection), pipeline.clock.today(connection)
    day = moment.date() if moment else today
    snapshots = SlaSnapshots()
    header = snapshots.header(connection, day)
    if header is None:
        scheduled_at = utc_of_kst(day, pipeline.settings.sla_cutoff)
        return _absent(day, scheduled_at, is_due=day != today or now >= scheduled_at), []
    return header, snapshots.items(connection, header.snapshot_id)


def _absent(day: date, scheduled_at: datetime, *, is_due: bool) -> SnapshotHeader:
    """A day without a header: today's may still come before the cutoff (R42)."""
    status = CaptureStatus.UNAVAILABLE if is_due else CaptureStatus.PENDING
    return SnapshotHeader(0, day, scheduled_at, status)


def _document(header: SnapshotHeader, items: list[SnapshotItem]) -> dict[str, object]:
    """The items are absent while PENDING, and null where there are none for good (R42)."""
    document: dict[str, object] = {
        "snapshot_date": header.snapshot_date,
        "scheduled_at": header.scheduled_at,
        "capture_status": header.status.value,
        "captured_at": header.captured_at,
        "miss_reason": header.miss_reason,
        "late_before_notification_count": late_count(header.status, items),
    }
    if header.status is CaptureStatus.CAPTURED:
        document["items"] = [_item(item) for item in items]
    elif header.status is not CaptureStatus.PENDING:
        document["items"] = None
    return document


def _item(item: SnapshotItem) -> dict[str, object]:
    return {**asdict(item), "cycle_status": item.cycle_status.value}


def _sentence(header: SnapshotHeader, items: list[SnapshotItem]) -> str:
    cutoff = kst_text(header.scheduled_at)
    said = f"{header.snapshot_date}: {header.status.value}, cutoff {cutoff}"
    if header.status is CaptureStatus.CAPTURED:
        late = late_count(header.status, items)
        return f"{said}, captured at {kst_text(header.captured_at)}: {late} of {len(items)} late"
    return f"{said}: {header.miss_reason}" if header.miss_reason else said

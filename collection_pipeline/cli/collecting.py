"""``create-cycles``, ``tick``, ``cleanup`` and ``retention``: the services by hand."""

import signal
import threading
from types import FrameType

import typer

from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_json, print_rows
from collection_pipeline.collection.assembly import worker_name
from collection_pipeline.collection.dispatch import TickSummary, TickTerms
from collection_pipeline.collection.retention import RetentionPass

MOST_SECONDS = 604_800.0


def create_cycles() -> None:
    """Make today's and tomorrow's snapshot header and today's missing cycles."""
    with opened_pipeline() as pipeline:
        day = pipeline.creation.create_daily_cycles()
    print(f"{day.run_date}: {'made what was missing' if day.made_cycles else 'nothing missing'}")


def tick(
    drain: bool = typer.Option(False, "--drain", help="Go on until nothing is due."),
    max_seconds: float | None = typer.Option(
        None,
        "--max-seconds",
        min=0.1,
        max=MOST_SECONDS,
        help="No claim and no request after so many seconds.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Run one tick: make what is missing, recover, prepare, claim and work slices.

    Ends with 0 also when cycles ended FAILED; with 4 when the tick could not do its work.
    """
    stop = stop_on_signals()
    with opened_pipeline() as pipeline:
        terms = TickTerms(drain=drain, max_seconds=max_seconds, worker=worker_name())
        summary = pipeline.dispatch.execute_tick(terms, stop=stop)
    if as_json:
        print_json(tick_document(summary))
    else:
        print(
            f"recovered {summary.recovered}, prepared {summary.prepared}, "
            f"rejected {summary.rejected}, claimed {summary.claimed}, slices {summary.slices} "
            f"({', '.join(f'{count} {name}' for name, count in summary.ended.items())}, "
            f"{summary.continued} continued, {summary.lost} lost) in {summary.seconds:.1f} s"
        )


def cleanup(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Delete residual seen rows in short chunks (R31)."""
    with opened_pipeline() as pipeline:
        done = pipeline.cleanup.clean_up()
    if as_json:
        print_json(
            {
                "deleted_rows": done.deleted_rows,
                "chunks": done.chunks,
                "seen_rows_older_than_48_hours": done.left_over,
            }
        )
    else:
        print(f"deleted {done.deleted_rows} rows in {done.chunks} chunks, {done.left_over} left")


def retention(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Delete rows past their age, and trim closed postings' raw bodies where that is set.

    Ends with 4 when a table could not be worked; the others are done then.
    """
    with opened_pipeline() as pipeline:
        done = pipeline.retention.apply()
    if as_json:
        print_json({"tables": retention_rows(done)})
    else:
        print_rows(retention_rows(done), as_json=False, empty="")
    done.require_success()


def retention_rows(done: RetentionPass) -> list[dict[str, object]]:
    """One row a table; zeros are present."""
    return [
        {
            "table": result.table,
            "action": result.action,
            "rows": result.rows,
            "is_done": result.is_done,
            "failure": result.failure,
        }
        for result in done.results
    ]


def tick_document(summary: TickSummary) -> dict[str, object]:
    """The JSON form of a tick; zeros are present."""
    return {
        "tick_id": summary.tick_id,
        "recovered": summary.recovered,
        "prepared": summary.prepared,
        "rejected": summary.rejected,
        "claimed": summary.claimed,
        "slices": summary.slices,
        "ended": summary.ended,
        "continued": summary.continued,
        "lost": summary.lost,
        "seconds": summary.seconds,
    }


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set: slices end after the request in flight (R18)."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    return stop

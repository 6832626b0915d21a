"""``notifications`` and ``notifications deliver``: what was told, and telling it now (R40)."""

import dataclasses

import typer

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.database import opened_pipeline
from collection_pipeline.cli.output import print_json, print_rows
from collection_pipeline.collection.notifications import message_of
from collection_pipeline.store.outbox import NotificationOutbox, OutboxEntry

TITLE_CHARS = 80

app = typer.Typer(help="Messages for operations: the outbox and its delivery.")


@app.callback(invoke_without_command=True)
def notifications(
    context: typer.Context,
    as_json: bool = typer.Option(False, "--json", help="Every column and text, as a JSON list."),
) -> None:
    """List the newest 100 messages, newest first."""
    if context.invoked_subcommand is not None:
        return
    with opened_pipeline() as pipeline:
        entries = pipeline.transactions.run(NotificationOutbox().newest)
    rows = [_document(entry) if as_json else _row(entry) for entry in entries]
    print_rows(rows, as_json=as_json, empty="no messages yet")


@app.command("deliver")
def deliver(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """Prepare what is to be told and send what is due; 75 when a message could not be delivered."""
    with opened_pipeline() as pipeline:
        prepared = pipeline.notifications.prepare()
        done = pipeline.notifications.deliver()
    if as_json:
        print_json({"prepared": prepared, **dataclasses.asdict(done)})
    else:
        print(
            f"prepared {prepared}, sent {done.sent}, logged {done.logged}, "
            f"failed {done.failed}, expired {done.expired}"
        )
    if done.failed:
        raise typer.Exit(exit_codes.TRY_LATER)


def _row(entry: OutboxEntry) -> dict[str, object]:
    message = message_of(entry.payload)
    return {
        "id": entry.row_id,
        "date": entry.notification_date,
        "kind": entry.kind,
        "state": entry.state,
        "attempts": entry.attempt_count,
        "next_attempt_at": entry.next_attempt_at,
        "delivered_at": entry.delivered_at,
        "last_error": entry.last_error,
        "title": "" if message is None else message.title[:TITLE_CHARS],
    }


def _document(entry: OutboxEntry) -> dict[str, object]:
    message = message_of(entry.payload)
    return {
        "id": entry.row_id,
        "notification_date": entry.notification_date,
        "kind": entry.kind,
        "idempotency_key": entry.idempotency_key,
        "state": entry.state,
        "attempt_count": entry.attempt_count,
        "next_attempt_at": entry.next_attempt_at,
        "delivered_at": entry.delivered_at,
        "last_error": entry.last_error,
        "created_at": entry.created_at,
        "severity": None if message is None else message.severity.value,
        "title": None if message is None else message.title,
        "lines": [] if message is None else list(message.lines),
        "data": None if message is None else dict(message.data),
    }

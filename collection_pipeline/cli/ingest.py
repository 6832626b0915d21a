"""``ingest``: the library register, once, as every other starter runs it; ``--status`` (R46, R50).

An external scheduler looks at the exit code alone: 0 SUCCESS and SKIPPED, 2 a wrong command, 3 a
configuration or database with which no run could begin, 4 FAILED, 75 FAILED by what may be over
later the same day. A used-up quota is 4: it comes back at midnight.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import typer
from pydantic import ValidationError

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.collecting import stop_on_signals
from collection_pipeline.cli.database import database_url, opened_pipeline
from collection_pipeline.cli.output import print_json
from collection_pipeline.domain.kst import utc_text
from collection_pipeline.ingest.activation import WORDS, IngestActivation, read_activation
from collection_pipeline.ingest.assembly import LibraryIngestion, assemble_ingest
from collection_pipeline.ingest.config import IngestConfig, IngestSourceName
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.store.ingest_runs import IngestCounts, IngestStatus
from collection_pipeline.store.views.ingest_history import IngestRecord


def ingest(
    source: IngestSourceName = typer.Option(
        "library", "--source", help="The open data portal, or the portal's CSV file (by hand only)."
    ),
    file: Path | None = typer.Option(
        None,
        "--file",
        exists=True,
        dir_okay=False,
        readable=True,
        help="The CSV file, CP949 or UTF-8; only with --source csv.",
    ),
    deactivate_stale: bool = typer.Option(
        False, "--deactivate-stale", help="Switch off active rows that the snapshot has not."
    ),
    allow_shrink: bool = typer.Option(
        False, "--allow-shrink", help="Accept far fewer rows than are active; never none."
    ),
    trigger: Literal["manual", "external"] = typer.Option(
        "manual", "--trigger", help="Who starts this run: a person, or a scheduler outside."
    ),
    status: bool = typer.Option(
        False, "--status", help="Start nothing; show the last runs and the next step."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Bring the register of public libraries in step with the portal, once.

    Ends with 0 for SUCCESS, and for SKIPPED where another ingest is at work; 3 when no run could
    begin (key, database); 4 for FAILED; 75 for FAILED where later the same day may do.
    """
    if status:
        _show_status(as_json=as_json)
        return
    config = _config(source, file, deactivate_stale, allow_shrink)
    stop = stop_on_signals()
    with _opened_ingestion() as ingestion:
        snapshot = ingestion.snapshot(config, stop)
        report = ingestion.service.run(config, snapshot, trigger=trigger, stop=stop)
    if as_json:
        print_json(_report_document(report, config, trigger))
    else:
        print(_sentence(report))
        for problem in report.problems:
            print(f"  {problem}")
    raise typer.Exit(_exit_code(report))


def _config(
    source: IngestSourceName, file: Path | None, deactivate_stale: bool, allow_shrink: bool
) -> IngestConfig:
    try:
        return IngestConfig(
            source=source,
            deactivate_stale=deactivate_stale,
            allow_shrink=allow_shrink,
            file=None if file is None else str(file),
        )
    except ValidationError as error:
        words = "; ".join(one["msg"].removeprefix("Value error, ") for one in error.errors())
        raise typer.BadParameter(f"{words} (--source, --file)") from None


@contextmanager
def _opened_ingestion() -> Iterator[LibraryIngestion]:
    """The ingest over the configured database, which is checked first."""
    with opened_pipeline() as pipeline:
        ingestion = assemble_ingest(pipeline.settings, database_url(pipeline.settings))
        try:
            yield ingestion
        finally:
            ingestion.close()


def _exit_code(report: IngestReport) -> int:
    if report.status is not IngestStatus.FAILED:
        return exit_codes.DONE
    return exit_codes.TRY_LATER if report.retry_later else exit_codes.WORK_FAILED


def _report_document(report: IngestReport, config: IngestConfig, trigger: str) -> dict[str, object]:
    """The JSON form of a run; zeros are present."""
    return {
        "ingest_run_id": report.run_id,
        "status": report.status.value,
        "reason": report.reason,
        "failure_kind": report.failure_kind,
        "retry_later": report.retry_later,
        "source": config.source,
        "trigger": trigger,
        "deactivate_stale": config.deactivate_stale,
        "allow_shrink": config.allow_shrink,
        "stated_total": report.total,
        **dataclasses.asdict(report.counts),
        "seconds": round(report.seconds, 3),
        "problems": list(report.problems),
    }


def _sentence(report: IngestReport) -> str:
    ended = _end_in_words(report.status, report.reason, report.counts, report.total)
    return f"run {report.run_id} {ended}, {report.seconds:.1f} s"


def _end_in_words(
    status: IngestStatus, reason: str | None, counts: IngestCounts, total: int | None
) -> str:
    """``SUCCESS: fetched 3601 of 3601, ...``; counts only where something was fetched."""
    said = [reason] if reason else []
    if counts.fetched:
        said.append(_counts_in_words(counts, total))
    return f"{status.value}: {'; '.join(said)}" if said else status.value


def _counts_in_words(counts: IngestCounts, total: int | None) -> str:
    of_total = "" if total is None else f" of {total}"
    words = [
        f"fetched {counts.fetched}{of_total}",
        f"upserted {counts.upserted}",
        f"added {counts.added}",
        f"changed {counts.changed}",
        f"reactivated {counts.reactivated}",
        f"deactivated {counts.deactivated}",
        f"unkeyable {counts.unkeyable}",
        f"unparsed {counts.unparsed}",
    ]
    words += [f"duplicate {counts.duplicate}"] if counts.duplicate else []
    words += [f"left out {counts.left_out}"] if counts.left_out else []
    return ", ".join(words)


def _show_status(*, as_json: bool) -> None:
    with opened_pipeline() as pipeline:
        activation = pipeline.transactions.run(read_activation)
    if as_json:
        print_json(_status_document(activation))
        return
    flag = activation.flag
    changed = f", switched by {flag.changed_by}" if flag.changed_by else ""
    lines = {
        f"flag {flag.name}": f"{'on' if flag.enabled else 'off'}{changed}",
        "last manual success": _run_in_words(activation.last_manual_success),
        "last scheduled success": _run_in_words(activation.last_scheduled_success),
        "last external success": _run_in_words(activation.last_external_success),
        "last run": _run_in_words(activation.last_run),
        "next step": WORDS[activation.next_step],
    }
    for name, words in lines.items():
        print(f"{name:29} {words}")


def _run_in_words(run: IngestRecord | None) -> str:
    if run is None:
        return "none"
    started = utc_text(run.started_at.replace(microsecond=0))
    ended = _end_in_words(run.status, run.reason, run.counts, run.stated_total)
    return f"run {run.run_id} ({run.source}, {run.trigger}, {started}) {ended}"


def _status_document(activation: IngestActivation) -> dict[str, object]:
    step = activation.next_step
    return {
        "flag": dataclasses.asdict(activation.flag),
        "last_manual_success": _run_document(activation.last_manual_success),
        "last_scheduled_success": _run_document(activation.last_scheduled_success),
        "last_external_success": _run_document(activation.last_external_success),
        "last_run": _run_document(activation.last_run),
        "next_step": step.value,
        "next_step_words": WORDS[step],
    }


def _run_document(run: IngestRecord | None) -> dict[str, object] | None:
    """The names of a run's own document, with its times."""
    if run is None:
        return None
    document = dataclasses.asdict(run)
    counts = document.pop("counts")
    return {"ingest_run_id": document.pop("run_id"), **document, **counts}

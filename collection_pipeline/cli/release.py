"""``release``: where this release stands beside an older collector; read-only (R34, R44)."""

from datetime import date

import typer

from collection_pipeline.cli.database import database_url, opened_pipeline
from collection_pipeline.cli.output import print_json
from collection_pipeline.domain.kst import kst_text
from collection_pipeline.domain.release import (
    DAYS_BEFORE_CONTRACT,
    ReleaseFacts,
    ReleaseStanding,
    ReleaseStep,
    release_standing,
)
from collection_pipeline.store.migration import SchemaState, schema_state
from collection_pipeline.store.read_only import ReadOnlyDatabase, ReadTerms
from collection_pipeline.store.views.release_facts import release_facts

TERMS = ReadTerms(statement_seconds=30, connect_seconds=2, socket_seconds=35, pool_size=1)
"""A month of 10,000 sources is read; a person waits for it."""
NAME_CHARS = 22
UNKNOWN_TYPE = "of sources not known here"


def release(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Say which step of docs/release.md the database is in, with the facts that each step asks for.

    Changes nothing and refuses nothing: it ends with 0 whatever it finds.
    """
    facts = None
    with opened_pipeline(migrated=False) as pipeline:
        database = ReadOnlyDatabase(database_url(pipeline.settings), TERMS)
        try:
            schema = database.read(schema_state)
            if schema.is_current:
                facts = database.read(
                    lambda connection: release_facts(connection, pipeline.clock.today(connection))
                )
        finally:
            database.close()
    standing = release_standing(facts) if facts else None
    if as_json:
        print_json(_document(schema, facts, standing))
        return
    for name, words in _lines(schema, facts, standing):
        print(f"{name:{NAME_CHARS}} {words}")


def _lines(
    schema: SchemaState, facts: ReleaseFacts | None, standing: ReleaseStanding | None
) -> list[tuple[str, str]]:
    revision = f"revision {schema.current or 'none'}, this release needs {schema.expected}"
    if facts is None or standing is None:
        return [("step", ReleaseStep.EXPAND.value), ("schema", revision)]
    return [
        ("step", standing.step.value),
        ("schema", revision),
        ("main flag", _flag(facts)),
        ("older runs today", _older_today(facts)),
        ("newest older run", _newest_older(facts)),
        ("cycles begun today", str(facts.begun_today)),
        ("slices at work", str(facts.running)),
        ("older system may run", _may_run(facts, standing)),
        ("stable days", _stable(standing)),
        *(("attention", one) for one in standing.attention),
    ]


def _flag(facts: ReleaseFacts) -> str:
    switch = facts.dispatch
    if switch.changed_at is None:
        return "off, never switched"
    position = "on" if switch.is_on else "off"
    return f"{position}, by {switch.changed_by} at {kst_text(switch.changed_at)}"


def _older_today(facts: ReleaseFacts) -> str:
    today = [one for one in facts.older if one.run_date == facts.today]
    return ", ".join(f"{one.count} {one.source_type or UNKNOWN_TYPE}" for one in today) or "0"


def _newest_older(facts: ReleaseFacts) -> str:
    if not facts.older:
        return f"none in {DAYS_BEFORE_CONTRACT} days"
    return f"{facts.older[0].run_date}, written {facts.older_written_at} by its own clock"


def _may_run(facts: ReleaseFacts, standing: ReleaseStanding) -> str:
    if standing.older_may_run_from is not None:
        return f"from {standing.older_may_run_from}"
    return "not while the flag is on" if facts.dispatch.is_on else "not while slices are at work"


def _stable(standing: ReleaseStanding) -> str:
    said = f"{standing.stable_days} of {DAYS_BEFORE_CONTRACT}"
    if standing.broken_by is None:
        return said
    return f"{said}; before that {standing.broken_by.run_date}: " + ", ".join(
        standing.broken_by.blemishes
    )


def _document(
    schema: SchemaState, facts: ReleaseFacts | None, standing: ReleaseStanding | None
) -> dict[str, object]:
    document: dict[str, object] = {
        "step": ReleaseStep.EXPAND.value,
        "schema_revision": schema.current,
        "expected_revision": schema.expected,
    }
    if facts is None or standing is None:
        return document
    broken = standing.broken_by
    return document | {
        "step": standing.step.value,
        "today": facts.today,
        "main_flag": {
            "enabled": facts.dispatch.is_on,
            "was_ever_on": facts.dispatch.was_ever_on,
            "changed_by": facts.dispatch.changed_by,
            "changed_at": facts.dispatch.changed_at,
        },
        "older_runs": [_older(one.run_date, one.source_type, one.count) for one in facts.older],
        "cycles_begun_today": facts.begun_today,
        "slices_at_work": facts.running,
        "older_system_may_run_from": standing.older_may_run_from,
        "stable_days": standing.stable_days,
        "stable_days_needed": DAYS_BEFORE_CONTRACT,
        "broken_by": broken and {"run_date": broken.run_date, "blemishes": broken.blemishes},
        "attention": list(standing.attention),
    }


def _older(run_date: date, source_type: str | None, count: int) -> dict[str, object]:
    return {"run_date": run_date, "source_type": source_type, "sources": count}

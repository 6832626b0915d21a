"""``doctor``: the observation checks for people and for monitoring (R45)."""

from contextlib import ExitStack

import typer

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.database import (
    dagster_database_url,
    database_url,
    explained_url_errors,
    opened_pipeline,
)
from collection_pipeline.cli.output import print_json, print_rows
from collection_pipeline.collection.observation.observed import Observation, ObservationState
from collection_pipeline.collection.observation.service import opened_checks, worst_state


def doctor(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Say whether the pipeline keeps its promises: one line for each observation check.

    Ends with 5 when a check alarms, with 3 when the database cannot be asked, else with 0.
    """
    with ExitStack() as opened:
        pipeline = opened.enter_context(opened_pipeline(migrated=False))
        settings = pipeline.settings
        urls = (database_url(settings), dagster_database_url(settings))
        with explained_url_errors():
            checks = opened.enter_context(opened_checks(pipeline, *urls))
        found = checks.observe()
    if as_json:
        print_json(
            {
                "state": worst_state(found).value,
                "checks": [_document(one) for one in found],
            }
        )
    else:
        _print_table(found)
    raise typer.Exit(exit_code(found))


def exit_code(found: list[Observation]) -> int:
    """A warning and what cannot be judged are no reason to wake anybody."""
    if any(one.state is ObservationState.ALARM for one in found):
        return exit_codes.ALARM
    return exit_codes.DONE if all(one.is_answered for one in found) else exit_codes.UNUSABLE


def _document(one: Observation) -> dict[str, object]:
    return {
        "name": one.name,
        "state": one.state.value,
        "sentence": one.sentence,
        "numbers": dict(one.numbers),
        "runbook": one.runbook,
    }


def _print_table(found: list[Observation]) -> None:
    rows = [{"state": one.state.value, "check": one.name, "found": one.sentence} for one in found]
    print_rows(rows, as_json=False, empty="")
    for one in found:
        if one.state is not ObservationState.OK:
            print(f"{one.state.value} {one.name}: see {one.runbook}")

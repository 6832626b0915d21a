"""Runs in this process over a real storage, and what they left in it."""

from typing import Any

import dagster as dg

from collection_pipeline.definitions import defs


def run_job(
    name: str,
    instance: dg.DagsterInstance,
    config: dict[str, Any] | None = None,
    *,
    definitions: dg.Definitions = defs,
) -> dg.ExecuteInProcessResult:
    """One run of the job called ``name``; what fails in it is raised."""
    job = definitions.resolve_job_def(name)
    return job.execute_in_process(run_config=config, instance=instance)


def failed_run(
    name: str, instance: dg.DagsterInstance, config: dict[str, Any] | None = None
) -> dg.ExecuteInProcessResult:
    """One run that has to fail."""
    job = defs.resolve_job_def(name)
    result = job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)
    assert not result.success
    return result


def error_of(result: dg.ExecuteInProcessResult, op: str) -> str:
    """What a failed op says in the UI: its own description, else the message of what it raised."""
    failure = result.failure_data_for_node(op)
    assert failure is not None
    if failure.user_failure_data is not None:
        return failure.user_failure_data.description or ""
    error = failure.error
    while error is not None and error.cause is not None:
        error = error.cause
    assert error is not None
    return error.message


def plain(metadata: Any) -> dict[str, Any]:
    """Metadata as names and values."""
    return {name: entry.value for name, entry in metadata.items()}


def materialized(instance: dg.DagsterInstance, asset: str) -> list[dict[str, Any]]:
    """The metadata of an asset's materializations, the newest first."""
    records = instance.fetch_materializations(dg.AssetKey(asset), 100).records
    found = [record.asset_materialization for record in records]
    return [plain(one.metadata) for one in found if one is not None]


def observed(instance: dg.DagsterInstance, asset: str) -> list[dict[str, Any]]:
    """The metadata of an asset's observations, the newest first."""
    records = instance.fetch_observations(dg.AssetKey(asset), 100).records
    found = [record.event_log_entry.asset_observation for record in records]
    return [plain(one.metadata) for one in found if one is not None]


def output_of(result: dg.ExecuteInProcessResult, op: str) -> dict[str, Any]:
    """The metadata that an op's output shows."""
    (event,) = [event for event in result.events_for_node(op) if event.is_successful_output]
    return plain(event.step_output_data.metadata)


def checked(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """The checks that a run has evaluated, the last evaluation of each counting."""
    return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}


def first_line_of(result: dg.ExecuteInProcessResult) -> str:
    """The first line of the error that a failed run's page shows, which has to be the step's too.

    ``RUN_FAILURE`` is the event at which the page opens.
    """
    (step,) = [event for event in result.all_events if event.is_step_failure]
    (run,) = [event for event in result.all_events if event.is_job_event and event.is_failure]
    shown = step.step_failure_data.error, run.job_failure_data.first_step_failure_event
    assert shown[0] is not None and shown[1] is not None
    told = shown[1].step_failure_data.error
    lines = {shown[0].message.splitlines()[0], told.message.splitlines()[0] if told else ""}
    (line,) = lines
    assert shown[0].cause is None and shown[0].context is None
    return line


def title_of(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> str:
    """What the list of runs shows of a run."""
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    return run.tags["result"]

"""Events as Dagster's own runs write them, for tests of its storage."""

import time

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationPlanned,
)
from dagster._core.events import DagsterEvent, DagsterEventType

CHECK = dg.AssetCheckKey(dg.AssetKey("sla_snapshot"), "snapshot_captured")


def evaluation_event(run_id: str) -> dg.EventLogEntry:
    """What a run writes when one of its ops has evaluated the check."""
    evaluation = dg.AssetCheckEvaluation(
        asset_key=CHECK.asset_key, check_name=CHECK.name, passed=True, metadata={}
    )
    return _event(run_id, DagsterEventType.ASSET_CHECK_EVALUATION, evaluation)


def planned_event(run_id: str) -> dg.EventLogEntry:
    """What a run that is going to evaluate the check writes when it begins."""
    planned = AssetCheckEvaluationPlanned(asset_key=CHECK.asset_key, check_name=CHECK.name)
    return _event(run_id, DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED, planned)


def _event(
    run_id: str,
    kind: DagsterEventType,
    said: dg.AssetCheckEvaluation | AssetCheckEvaluationPlanned,
) -> dg.EventLogEntry:
    return dg.EventLogEntry(  # type: ignore[no-untyped-call]  # Dagster gives it no types
        error_info=None,
        user_message="",
        level=20,
        run_id=run_id,
        timestamp=time.time(),
        dagster_event=DagsterEvent(kind.value, CHECK.asset_key.path[0], event_specific_data=said),
    )

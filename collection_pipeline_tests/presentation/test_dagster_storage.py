"""Dagster's storage under the project's own class: opened and written by several at once."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from collection_pipeline.orchestration.dagster_storage import CollectionDagsterStorage
from collection_pipeline_tests.kit.dagster_events import CHECK, evaluation_event
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS

OPENERS = 4
EVALUATIONS = 40


def test_processes_that_open_a_new_storage_at_once_all_can(database_url: str) -> None:
    """Dagster makes its tables when it is first opened, and cannot make them twice."""
    together = Barrier(OPENERS)

    def opening(_number: int) -> int:
        together.wait()
        storage = CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        return storage.run_storage.get_runs_count()

    with ThreadPoolExecutor(OPENERS) as openers:
        assert list(openers.map(opening, range(OPENERS))) == [0] * OPENERS


def test_runs_that_evaluate_a_check_at_once_all_store_it(database_url: str) -> None:
    """By dagster-mysql's own storage one of them ends in a deadlock, and its run with it."""
    storages = [
        CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        for _ in range(OPENERS)
    ]
    together = Barrier(OPENERS, timeout=PATIENCE_SECONDS)

    def evaluating(storage: CollectionDagsterStorage) -> None:
        for _ in range(EVALUATIONS):
            together.wait()
            storage.event_log_storage.store_event(evaluation_event(str(uuid.uuid4())))

    with ThreadPoolExecutor(OPENERS) as writers:
        list(writers.map(evaluating, storages))
    records = storages[0].event_log_storage.get_asset_check_execution_history(CHECK, limit=1_000)
    assert len(records) == OPENERS * EVALUATIONS

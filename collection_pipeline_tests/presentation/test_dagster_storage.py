"""Dagster's storage under the project's own class: first opened by several at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from collection_pipeline.orchestration.dagster_storage import CollectionDagsterStorage

OPENERS = 4


def test_processes_that_open_a_new_storage_at_once_all_can(database_url: str) -> None:
    """Dagster makes its tables when it is first opened, and cannot make them twice."""
    together = Barrier(OPENERS)

    def opening(_number: int) -> int:
        together.wait()
        storage = CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        return storage.run_storage.get_runs_count()

    with ThreadPoolExecutor(OPENERS) as openers:
        assert list(openers.map(opening, range(OPENERS))) == [0] * OPENERS

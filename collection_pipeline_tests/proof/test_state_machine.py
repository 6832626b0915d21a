"""Any order of events keeps the queue's rules (R1 to R17, R26 to R44, I1, I2, I4, I5, I7)."""

from collections import Counter
from datetime import datetime

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from sqlalchemy.dialects.mysql import DATETIME

from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.schema import metadata
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.proof import is_long, record, tries
from collection_pipeline_tests.kit.queue_machine import QueueMachine
from collection_pipeline_tests.kit.queue_world import BEGINNING, QueueWorld
from collection_pipeline_tests.kit.servers import create_database, private_server

FAST_EXAMPLES, LONG_EXAMPLES = 16, 200
LONG_SECONDS = 7_200
FAR_ZONE = "--default-time-zone=-08:00"


@pytest.mark.timeout(LONG_SECONDS)
def test_the_tables_are_what_the_model_of_the_rules_says(store: Store) -> None:
    """R1 to R17, R26, R30 to R44: claims, slices, failures, flags, captures, midnights, any order.

    The fast set always draws the same histories, the long set others in each run.
    """
    tried = drive(store, tries(FAST_EXAMPLES, long=LONG_EXAMPLES), tries(25, long=50))
    assert min(tried.values()) > 0, tried
    record("state machine", **tried)


def test_a_server_that_lives_in_another_time_zone_changes_nothing() -> None:
    """R15: -08:00 is another date than UTC and Seoul for most of the day; also for defaults."""
    with private_server(options=(FAR_ZONE,)) as server:
        url = create_database(server)
        engine = open_engine(url)
        migrate(engine)
        engine.dispose()
        store = Store(url)
        try:
            tried = drive(store, 3, 5)
            assert store.value("SELECT @@global.time_zone") == "-08:00"
            assert instants_before(store, BEGINNING) == []
        finally:
            store.close()
    record("a time zone of the server's own", histories=tried["histories"], steps=tried["steps"])


def drive(store: Store, histories: int, steps: int) -> Counter[str]:
    """Histories of so many steps over the store's database; what they came to."""
    world, tried = QueueWorld(store), Counter[str]()
    run_state_machine_as_test(
        lambda: QueueMachine(world, tried),  # type: ignore[arg-type]  # any maker will do
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            derandomize=not is_long(),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return tried


def instants_before(store: Store, begin: datetime) -> list[str]:
    """Every instant of the last history's tables that lies before it began."""
    return [
        f"{table.name}.{column.name}: {row[column.name]}"
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, DATETIME)
        for row in store.rows(f"SELECT {column.name} FROM {table.name}")
        if row[column.name] is not None and row[column.name] < begin
    ]

"""Any order of events keeps the queue's rules (R1 to R17, R26 to R44, I1, I2, I4, I5, I7)."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.proof import is_long, record, tries
from collection_pipeline_tests.kit.queue_machine import QueueMachine
from collection_pipeline_tests.kit.queue_world import QueueWorld

FAST_EXAMPLES, LONG_EXAMPLES = 15, 3_000
LONG_SECONDS = 7_200


@pytest.mark.timeout(LONG_SECONDS)
def test_the_tables_are_what_the_model_of_the_rules_says(store: Store) -> None:
    """R1 to R17, R26, R30 to R44: claims, slices, failures, flags, captures, midnights, any order.

    The fast set always draws the same histories, the long set others in each run.
    """
    world, tried = QueueWorld(store), Counter[str]()

    run_state_machine_as_test(
        lambda: QueueMachine(world, tried),  # type: ignore[arg-type]  # any maker will do
        settings=settings(
            max_examples=tries(FAST_EXAMPLES, long=LONG_EXAMPLES),
            stateful_step_count=tries(25, long=50),
            derandomize=not is_long(),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert min(tried.values()) > 0, tried
    record("state machine", **tried)

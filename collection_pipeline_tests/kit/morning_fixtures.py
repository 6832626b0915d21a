"""Two processes shortly before the cutoff, for tests of the snapshot."""

from collections.abc import Callable

import pytest

from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.morning import Morning, after


@pytest.fixture
def early_store(open_store: Callable[..., Store]) -> Store:
    """One process at 08:58 with both flags on."""
    made = open_store(now=after(-120))
    made.switch_on()
    return made


@pytest.fixture
def morning(early_store: Store) -> Morning:
    """The snapshot's service of that process; the day's header and cycles are made."""
    made = Morning(early_store)
    made.creation.create_daily_cycles()
    return made


@pytest.fixture
def rival(open_store: Callable[..., Store], early_store: Store) -> Morning:
    """The same service in a second process."""
    return Morning(open_store(now=early_store.now))

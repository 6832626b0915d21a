"""What the entry points' tests share: a command line and a Dagster over databases of their own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import dagster as dg
import pytest

from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_world import dagster_environment, opened_instance
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
    set_service_time,
)
from collection_pipeline_tests.kit.page_world import UI_URL
from collection_pipeline_tests.kit.servers import create_database, drop_database
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.kit.stack_fixtures import OpenStack, open_stack

__all__ = ["OpenStack", "open_stack"]

OpenInstance = Callable[[Stack], dg.DagsterInstance]


@pytest.fixture
def cli(store_url: str) -> CommandLine:
    """The command line over a migrated, empty database."""
    return CommandLine({"COLLECTION_DATABASE_URL": store_url})


@pytest.fixture(scope="session")
def dagster_url(database_server: PrivateServer) -> Iterator[str]:
    """The run's one database for Dagster; the first instance makes its tables."""
    url = create_database(database_server)
    yield url
    drop_database(database_server, url)


@pytest.fixture
def open_instance(dagster_url: str, tmp_path: Path) -> Iterator[OpenInstance]:
    """Opens Dagster beside a stack; the stack's settings are this process's meanwhile."""
    with ExitStack() as opened:

        def opening(stack: Stack) -> dg.DagsterInstance:
            environment = dagster_environment(stack.environment, dagster_url, tmp_path / "home")
            return opened.enter_context(opened_instance(environment))

        yield opening


@pytest.fixture(scope="module")
def operations(migrated_url: str) -> Iterator[Operations]:
    """The service over the tests' database; it starts once, since it remembers nothing."""
    with opened_operations(migrated_url, DAGSTER_UI_URL=UI_URL) as opened:
        yield opened


@pytest.fixture
def noon(store: Store) -> None:
    """The service's time where a test of a page says nothing else."""
    set_service_time(store)

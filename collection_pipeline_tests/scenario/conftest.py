"""Whole days in a database that is empty before and after each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline_tests.kit.older_release import FIRST, unpacked
from collection_pipeline_tests.kit.stack import Stack, opened_stack

OpenStack = Callable[..., Stack]


@pytest.fixture
def open_stack(store_url: str) -> Iterator[OpenStack]:
    """Opens a test's stack: catalogues first, then the settings it differs in."""
    with ExitStack() as opened:

        def opening(*catalogues: dict[str, Any], **options: Any) -> Stack:
            return opened.enter_context(opened_stack(store_url, catalogues, **options))

        yield opening


@pytest.fixture(scope="session")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of release 0.1.0; unpacked once, so that Python compiles them once."""
    return unpacked(FIRST, tmp_path_factory.mktemp("releases"))

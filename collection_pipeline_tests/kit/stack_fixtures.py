"""The fixture that opens a test's stack, for every folder that runs whole days."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from collection_pipeline_tests.kit.stack import Stack, opened_stack

OpenStack = Callable[..., Stack]


@pytest.fixture
def open_stack(store_url: str) -> Iterator[OpenStack]:
    """Opens a test's stack: catalogues first, then the settings it differs in."""
    with ExitStack() as opened:

        def opening(*catalogues: dict[str, Any], **options: Any) -> Stack:
            return opened.enter_context(opened_stack(store_url, catalogues, **options))

        yield opening
